// What the fuzz targets share. Each is a file with a function `fuzz`, which gets bytes as they might come from outside:
// whatever they are, it returns. libFuzzer calls it in the preset `fuzz`; in other builds Replay.cpp does, with the
// inputs that it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes);

inline std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// A file of this process, in memory, with these bytes: for what reads files by their path.
class MemoryFile {
public:
  explicit MemoryFile(std::span<const std::byte> bytes);
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile();
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

// A folder of this process in which the file `name` has these bytes; other files may stand beside it.
std::filesystem::path folderWith(const char *name, std::span<const std::byte> bytes);

// Ends the process where something that must hold does not.
void require(bool holds, const char *what);

} // namespace heddle::fuzz
