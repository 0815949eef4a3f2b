// Files: bounded reads, random access, and writes that either happen wholly or not at all.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

// The whole file, refused where it is larger than `limit` bytes or no regular file.
Result<std::vector<std::byte>> readFile(const std::filesystem::path &path, uint64_t limit);

// Fails if there is no such folder, or if it may not be read.
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

// Writes to a temporary file beside `path`; commit() makes it durable and renames it into place. Without a commit the
// temporary file goes away and whatever was at `path` stays as it was. A device or a pipe at `path` is written to
// directly: a file in its place would be the end of /dev/null.
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
  std::filesystem::path temporary; // empty where the target is written directly
  int descriptor = -1;
};

// The whole file at once, by an AtomicFile.
Status writeFile(const std::filesystem::path &path, std::string_view text);

} // namespace heddle
