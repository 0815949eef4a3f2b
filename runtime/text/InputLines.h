// Reads lines from standard input, as many as are available. A file is read in large chunks, but a person or program
// that sends a line and waits for the answer gets it. Memory grows neither with the input nor with an endless line.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

class InputLines {
public:
  // Longer lines are truncated to this many bytes, with a warning.
  static constexpr size_t kLongestLine = 1 << 20;
  // If lines are not truncated, a longer line is an error.
  static constexpr size_t kLongestWholeLine = 64 << 20;

  enum class LongLines { Cut, Whole };
  explicit InputLines(int descriptor, LongLines longLines = LongLines::Cut)
      : descriptor(descriptor), longLines(longLines) {}

  enum class Wait { No, ForOne };
  // Takes the available lines, up to `limit`. With Wait::ForOne it returns at least one line unless the input has
  // ended.
  Result<std::vector<std::string>> next(size_t limit, Wait wait = Wait::ForOne);
  // Returns true if the input has ended and all of it has been returned.
  bool ended() const { return atEnd && buffer.empty(); }

private:
  Status fill();
  bool moreIsReady(int milliseconds) const;

  int descriptor;
  LongLines longLines;
  std::string buffer;
  size_t begin = 0;     // of the bytes in `buffer` that were not returned yet
  size_t searched = 0;  // there is no line feed between `begin` and this offset
  uint64_t taken = 0;   // number of lines returned so far
  bool cutting = false; // the rest of the line in `buffer` is to be dropped
  bool atEnd = false;
};

} // namespace heddle
