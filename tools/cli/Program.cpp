#include "tools/cli/Program.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace heddle::cli {

void beginProgram() { std::signal(SIGXFSZ, SIG_IGN); }

std::string versionText(const std::string &program) { return program + " " HEDDLE_VERSION; }

int finishOutput(const std::string &program, int code) {
  errno = 0;
  bool written = !std::ferror(stdout);
  written = std::fflush(stdout) == 0 && written;
  if (written || errno == EPIPE)
    return code;
  std::fprintf(stderr, "%s: cannot write to standard output: %s.\n", program.c_str(),
               errno != 0 ? std::strerror(errno) : "the disk is full, or `ulimit -f` too low");
  return kWorkFailed;
}

} // namespace heddle::cli
