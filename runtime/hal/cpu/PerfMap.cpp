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
  int error = file < 0 ? errno : 0;
  if (file >= 0) {
    owner = getpid();
    off_t before = lseek(file, 0, SEEK_END);
    for (std::string_view left = lines; !left.empty() && !error;) {
      ssize_t written = write(file, left.data(), left.size());
      if (written >= 0)
        left.remove_prefix(static_cast<size_t>(written));
      else if (errno != EINTR)
        error = errno;
    }
    if (error && ftruncate(file, before) != 0) // half a line would spoil the next one, too
      error = errno;
    close(file);
  }
  if (error)
    log(LogLevel::Warning,
        str("cannot write '", path, "': ", std::strerror(error), "; perf will not name all kernels"));
}

} // namespace heddle::hal::cpu
