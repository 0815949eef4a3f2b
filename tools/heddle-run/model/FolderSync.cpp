#include "tools/heddle-run/model/FolderSync.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace heddle::run {

namespace fs = std::filesystem;

Error systemError(std::string_view what, const fs::path &path, std::error_code error) {
  return makeError(ErrorKind::Io, what, " '", path.string(), "': ", error.message(), ".");
}

Status syncFolder(const fs::path &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || ::fsync(descriptor) != 0) {
    std::error_code error(errno, std::generic_category());
    if (descriptor >= 0)
      ::close(descriptor);
    return systemError("cannot make durable", folder, error);
  }
  ::close(descriptor);
  return Success();
}

fs::path plainPath(const fs::path &folder) {
  std::error_code error;
  // For a path that does not exist weakly_canonical() may stay relative.
  fs::path absolute = fs::absolute(folder, error);
  fs::path path = fs::weakly_canonical(absolute, error);
  if (error)
    path = absolute;
  return path.has_filename() ? path : path.parent_path();
}

} // namespace heddle::run
