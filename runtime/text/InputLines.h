// Lines of standard input, as many as are there: a file is read in large portions, while a person or a program that
// waits for the answer to a line gets it. Memory does not grow with the input, nor with a line that never ends.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

class InputLines {
public:
  // A longer line is cut at this many bytes, with a warning.
  static constexpr size_t kLongestLine = 1 << 20;
  // A longer line is an error, where lines are not cut.
  static constexpr size_t kLongestWholeLine = 64 << 20;

  enum class LongLines { Cut, Whole };
  explicit InputLines(int descriptor, LongLines longLines = LongLines::Cut)
      : descriptor(descriptor), longLines(longLines) {}

  enum class Wait { No, ForOne };
  // Takes what is there, up to `limit` lines; with Wait::ForOne it is at least one, unless the input has ended.
  Result<std::vector<std::string>> next(size_t limit, Wait wait = Wait::ForOne);
  // All of it has been handed out.
  bool ended() const { return atEnd && buffer.empty(); }

private:
  Status fill();
  bool moreIsReady(int milliseconds) const;

  int descriptor;
  LongLines longLines;
  std::string buffer;
  size_t begin = 0;     // of what has not been handed out
  size_t searched = 0;  // no line ends between `begin` and this place
  uint64_t taken = 0;   // lines that were handed out
  bool cutting = false; // the rest of the line that the buffer holds is to be left out
  bool atEnd = false;
};

} // namespace heddle
