#include "tools/cli/Program.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace heddle::cli {

void beginProgram() {
  std::signal(SIGXFSZ, SIG_IGN);
  // Opens closed standard streams on /dev/null, so that no other file gets their numbers. The direction is the wrong
  // one on purpose: reading standard input and writing standard output still fail. Messages are lost.
  const std::pair<int, int> streams[] = {
      {STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}};
  for (auto [stream, access] : streams)
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", access); // takes the lowest number that is free
}

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
