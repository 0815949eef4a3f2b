#include "runtime/train/FolderLock.h"

#include "runtime/train/FolderSync.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace heddle {
namespace {

namespace fs = std::filesystem;

std::error_code lastError() { return {errno, std::generic_category()}; }

// The process whose id is in the lock file.
std::string holder(int descriptor) {
  char text[24] = "";
  ssize_t length = ::pread(descriptor, text, sizeof text - 1, 0);
  std::string pid(text, size_t(std::max<ssize_t>(length, 0)));
  pid.resize(std::min(pid.find('\n'), pid.size()));
  return pid.empty() ? "another process" : "process " + pid;
}

// False if the previous holder removed the file between our open() and flock().
bool isAt(int descriptor, const fs::path &path) {
  struct stat ours = {}, there = {};
  return ::fstat(descriptor, &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

} // namespace

Result<FolderLock> FolderLock::take(const fs::path &where) {
  fs::path folder = plainPath(where), path = folder / FolderLock::kFile;
  while (true) {
    std::error_code error;
    bool made = fs::create_directories(folder, error);
    if (error)
      return systemError("cannot create the checkpoint folder", folder, error);
    int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == ENOENT)
      continue; // the previous holder removed the folder
    if (descriptor < 0)
      return systemError("cannot create the lock", path, lastError());
    FolderLock lock(folder, made, descriptor);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      std::error_code problem = lastError();
      std::string who = holder(descriptor);
      ::close(std::exchange(lock.descriptor, -1)); // another process owns the file, so release() must not remove it
      if (problem == std::errc::operation_would_block)
        return makeError(ErrorKind::InvalidArgument, "'", where.string(), "' is the folder of a training that ", who,
                         " is at; wait until it has ended, stop it, or name another folder with --checkpoint.");
      return systemError("cannot lock", path, problem);
    }
    if (!isAt(descriptor, path)) {
      ::close(std::exchange(lock.descriptor, -1));
      continue;
    }
    std::string pid = str(::getpid(), "\n");
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, pid.data(), pid.size(), 0) != ssize_t(pid.size()))
      return systemError("cannot write the lock", path, lastError());
    return lock;
  }
}

FolderLock::FolderLock(FolderLock &&other) noexcept
    : folder(std::move(other.folder)), made(other.made), descriptor(std::exchange(other.descriptor, -1)) {}

FolderLock &FolderLock::operator=(FolderLock &&other) noexcept {
  std::swap(folder, other.folder);
  std::swap(made, other.made);
  std::swap(descriptor, other.descriptor);
  return *this;
}

void FolderLock::release() {
  if (descriptor < 0)
    return;
  std::error_code error;
  fs::remove(folder / FolderLock::kFile, error);
  if (made)
    fs::remove(folder, error); // fails if the folder is not empty, as intended
  ::close(std::exchange(descriptor, -1));
}

} // namespace heddle
