// Common code of the fuzz targets. Each target is a file with a function `fuzz`, which gets arbitrary bytes as if from
// outside, and must always return. libFuzzer calls it in the preset `fuzz`. In other builds Replay.cpp calls it with
// given inputs.
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

// A file of this process, in memory, with these bytes, for code that reads files by their path.
class MemoryFile {
public:
  explicit MemoryFile(std::span<const std::byte> bytes);
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile();
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

// Returns a folder of this process in which the file `name` has these bytes. It may contain other files.
std::filesystem::path folderWith(const char *name, std::span<const std::byte> bytes);

// Ends the process if something that must hold does not.
void require(bool holds, const char *what);

} // namespace heddle::fuzz
