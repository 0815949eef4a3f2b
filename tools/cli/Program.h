// Start-up and shutdown code that all of Heddle's programs share.
#pragma once

#include <string>

namespace heddle::cli {

constexpr int kWorkFailed = 1, kWrongCommandLine = 2; // exit codes

// Every main() calls this first. From then on a write beyond the file size limit (ulimit -f) fails instead of killing
// the program, so it is reported and cleaned up after like any failed write. Closed standard streams (2>&-) are opened
// on /dev/null, so that no file opened later gets their numbers and receives printed text.
void beginProgram();

// "heddle-run 0.1.0"
std::string versionText(const std::string &program);

// Flushes standard output and returns the program's exit code: `code`, or kWorkFailed, after a message, if standard
// output could not be written. It is no failure if the reader has closed the pipe.
int finishOutput(const std::string &program, int code);

} // namespace heddle::cli
