// Files: bounded reads, random access, and atomic writes.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

// Reads a whole file. Fails if it is larger than `limit` bytes or not a regular file.
Result<std::vector<std::byte>> readFile(const std::filesystem::path &path, uint64_t limit);

// Fails if the folder does not exist or cannot be read.
Status requireFolder(const std::filesystem::path &folder);

// A file opened for reading at arbitrary offsets.
class InputFile {
public:
  static Result<InputFile> open(const std::filesystem::path &path);
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  const std::filesystem::path &path() const { return name; }
  uint64_t size() const { return bytes; }
  Status read(uint64_t offset, std::span<std::byte> into) const;

private:
  InputFile() = default;

  std::filesystem::path name;
  int descriptor = -1;
  uint64_t bytes = 0;
};

// Writes to a temporary file beside `path`. commit() makes it durable and renames it to `path`. Without a commit the
// temporary file is removed and `path` is unchanged. A device or a pipe at `path` is written directly: a rename would
// replace /dev/null by a file.
class AtomicFile {
public:
  static Result<AtomicFile> create(const std::filesystem::path &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> data);
  Status commit();

private:
  AtomicFile() = default;

  std::filesystem::path target;
  std::filesystem::path temporary; // empty if the target is written directly
  int descriptor = -1;
};

// Writes a whole file at once, atomically.
Status writeFile(const std::filesystem::path &path, std::string_view text);

} // namespace heddle
