// Lines of standard input, as many as are there: a file is read in large portions, while a person or a program that
// waits for the answer to a line gets it. Memory does not grow with the input, nor with a line that never ends.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <vector>

namespace heddle {

class InputLines {
public:
  explicit InputLines(int descriptor) : descriptor(descriptor) {}

  // What is left of a longer line.
  static constexpr size_t kLongestLine = 1 << 20;

  enum class Wait { No, ForOne };
  // Takes what is there, up to `limit` lines; with Wait::ForOne it is at least one, unless the input has ended.
  Result<std::vector<std::string>> next(size_t limit, Wait wait = Wait::ForOne);
  // All of it has been handed out.
  bool ended() const { return atEnd && buffer.empty(); }

private:
  Status fill();
  bool moreIsReady(int milliseconds) const;

  int descriptor;
  std::string buffer;
  size_t begin = 0;     // of what has not been handed out
  bool cutting = false; // the rest of the line that the buffer holds is to be left out
  bool atEnd = false;
};

} // namespace heddle
