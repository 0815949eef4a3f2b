// What all of Heddle's programs have in common.
#pragma once

#include <string>

namespace heddle::cli {

constexpr int kWorkFailed = 1, kWrongCommandLine = 2; // exit codes

// Comes first in every main(). A write beyond the limit on file sizes (ulimit -f) fails from here on, where it would
// kill the program, so that it is reported and cleaned up after like every failed write. And where a standard stream is
// closed (2>&-), no file that is opened later takes its number and with it what is printed.
void beginProgram();

// "heddle-run 0.1.0"
std::string versionText(const std::string &program);

// The exit code of a program that has done its work with `code`: a failure where standard output did not take all that
// was printed, which is said. A reader that has gone is no failure.
int finishOutput(const std::string &program, int code);

} // namespace heddle::cli
