#include "runtime/train/FolderSync.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace heddle {

namespace fs = std::filesystem;

Error systemError(std::string_view what, const fs::path &path, std::error_code error) {
  return makeError(ErrorKind::Io, what, " '", path.string(), "': ", error.message(), ".");
}

Status syncFolder(const fs::path &folder) {
  // The parent path of a bare file name is empty and means the current directory.
  int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || ::fsync(descriptor) != 0) {
    std::error_code error(errno, std::generic_category());
    if (descriptor >= 0)
      ::close(descriptor);
    return systemError("cannot make durable", folder, error);
  }
  ::close(descriptor);
  return Success();
}

Status writeFolderAside(const fs::path &output, const std::function<Status(const fs::path &)> &write) {
  std::error_code error;
  fs::path temporary = output;
  temporary += ".tmp";
  fs::remove_all(temporary, error); // left by a killed program
  fs::create_directories(temporary, error);
  if (error)
    return systemError("cannot create the folder", temporary, error);
  Status status = write(temporary);
  if (status.ok()) {
    fs::rename(temporary, output, error);
    if (!error)
      return Success();
    status = systemError("cannot put the folder into place at", output, error);
  }
  fs::remove_all(temporary, error);
  return status;
}

namespace {

// fs::weakly_canonical() stops at the first name that does not exist, so it does not resolve dangling links.
fs::path follow(const fs::path &path, int &links) {
  std::error_code error;
  fs::path result;
  for (const fs::path &name : path) {
    if (name == "..") {
      result = result.parent_path();
      continue;
    }
    if (name.empty() || name == ".")
      continue;
    fs::path here = result / name, target = fs::read_symlink(here, error);
    result = error || links-- <= 0 ? here : follow(result / target, links);
  }
  return result;
}

} // namespace

fs::path plainPath(const fs::path &folder) {
  constexpr int mostLinks = 40; // Linux's limit; more links mean a cycle
  std::error_code error;
  int links = mostLinks;
  return follow(fs::absolute(folder, error), links);
}

} // namespace heddle
