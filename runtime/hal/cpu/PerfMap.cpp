#include "runtime/hal/cpu/PerfMap.h"

#include "runtime/core/Log.h"
#include "runtime/core/Status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>

namespace heddle::hal::cpu {

void addToPerfMap(std::span<const MappedKernel> kernels) {
  const char *wanted = std::getenv("HEDDLE_PERF_MAP");
  if (!wanted || std::string_view(wanted) != "1")
    return;
  static std::mutex mutex;
  static pid_t owner = 0; // the process that has begun its file; after a fork, the child begins its own
  std::string lines;
  for (const MappedKernel &kernel : kernels) {
    char place[48];
    std::snprintf(place, sizeof(place), "%llx %llx ", static_cast<unsigned long long>(kernel.address),
                  static_cast<unsigned long long>(kernel.bytes));
    lines += str(place, kernel.name, "\n");
  }

  std::lock_guard lock(mutex);
  const std::string path = str("/tmp/perf-", getpid(), ".map");
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  if (owner != getpid()) { // an existing file may be a link that somebody else made: everybody can write to /tmp
    unlink(path.c_str());
    flags |= O_CREAT | O_EXCL;
  }
  int file = open(path.c_str(), flags, 0644);
  bool isWritten = file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  if (!isWritten)
    log(LogLevel::Warning,
        str("cannot write '", path, "': ", std::strerror(errno), "; perf will show no kernel's name"));
  else
    owner = getpid();
  if (file >= 0)
    close(file);
}

} // namespace heddle::hal::cpu
