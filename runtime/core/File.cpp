#include "runtime/core/File.h"

#include "runtime/core/Signature.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {
namespace {

Error ioError(const char *action, const std::filesystem::path &path, int code) {
  ErrorKind kind = code == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
  const char *advice = code == EFBIG    ? " `ulimit -f` limits the size of files here."
                       : code == ENOSPC ? " Make room there, or name a place on another disk."
                                        : "";
  return makeError(kind, "cannot ", action, " '", path.string(), "': ", std::strerror(code), ".", advice);
}

} // namespace

Result<InputFile> InputFile::open(const std::filesystem::path &path) {
  InputFile file;
  file.name = path;
  // Non-blocking, so that a named pipe without a writer fails below instead of blocking here.
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor < 0)
    return ioError("open", path, errno);
  struct stat info{};
  if (::fstat(file.descriptor, &info) != 0)
    return ioError("read", path, errno);
  if (!S_ISREG(info.st_mode))
    return makeError(ErrorKind::InvalidArgument, "cannot read '", path.string(), "': it is ",
                     S_ISDIR(info.st_mode) ? "a folder." : "not a regular file.");
  file.bytes = static_cast<uint64_t>(info.st_size);
  return file;
}

InputFile::InputFile(InputFile &&other) noexcept { *this = std::move(other); }

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(descriptor, other.descriptor);
  std::swap(bytes, other.bytes);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status InputFile::read(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    ssize_t got = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ioError("read", name, errno);
    if (got == 0)
      return makeError(ErrorKind::Malformed, "'", name.string(), "' ends early: ", into.size(),
                       " bytes are missing at offset ", offset, ".");
    into = into.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return Success();
}

Result<std::vector<std::byte>> readFile(const std::filesystem::path &path, uint64_t limit) {
  HEDDLE_ASSIGN(InputFile file, InputFile::open(path));
  HEDDLE_CHECK(checkSignature(file));
  if (file.size() > limit)
    return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' has ", file.size(), " bytes, more than the ",
                     limit, " bytes that Heddle reads at most.");
  std::vector<std::byte> data(file.size());
  HEDDLE_CHECK(file.read(0, data));
  return data;
}

Status requireFolder(const std::filesystem::path &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT)
    return makeError(ErrorKind::NotFound, "there is no folder '", folder.string(), "'.");
  if (descriptor < 0)
    return ioError("read the folder", folder, errno);
  int searched = ::faccessat(descriptor, ".", R_OK | X_OK, 0), code = errno;
  ::close(descriptor);
  return searched == 0 ? Success() : Status(ioError("read the folder", folder, code));
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path &path) {
  static std::atomic<unsigned> serial = 0;
  AtomicFile file;
  file.target = path;
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor < 0)
      return ioError("write", path, errno);
    return file;
  }
  file.temporary = path;
  file.temporary += str(".tmp-", ::getpid(), "-", serial++);
  file.descriptor = ::open(file.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file.descriptor < 0)
    return ioError("write", path, errno);
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : target(std::move(other.target)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    // Linux writes at most 2 GiB at once.
    ssize_t done = ::write(descriptor, data.data(), std::min<size_t>(data.size(), size_t(1) << 30));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return ioError("write", target, errno);
    data = data.subspan(static_cast<size_t>(done));
  }
  return Success();
}

Status AtomicFile::commit() {
  if (temporary.empty())
    return ::close(std::exchange(descriptor, -1)) == 0 ? Status(Success()) : Status(ioError("write", target, errno));
  // The data must reach the disk before the rename, or a power cut could leave an empty file at `path`.
  bool written = ::fsync(descriptor) == 0;
  written = ::close(std::exchange(descriptor, -1)) == 0 && written;
  if (written && ::rename(temporary.c_str(), target.c_str()) == 0)
    return Success();
  Error error = ioError("write", target, errno);
  ::unlink(temporary.c_str());
  return error;
}

Status writeFile(const std::filesystem::path &path, std::string_view text) {
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

} // namespace heddle
