// Lines of standard input, as many as are there: a file is read in large portions, while a person or a program that
// waits for the answer to a line gets it.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <vector>

namespace heddle::run {

class InputLines {
public:
  explicit InputLines(int descriptor) : descriptor(descriptor) {}

  // Waits for a line, then takes what is there, up to `limit` lines. Empty at the end of the input.
  Result<std::vector<std::string>> next(size_t limit);

private:
  Status fill();
  bool moreIsReady() const;

  int descriptor;
  std::string buffer;
  size_t begin = 0; // of what has not been handed out
  bool atEnd = false;
};

} // namespace heddle::run
