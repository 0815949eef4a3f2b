// A folder that is deleted with the test, and helpers for whole files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace heddle::test {

inline std::string slurp(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void spit(const std::filesystem::path &path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Uses a folder in memory if the system has one and the environment names no other: rewriting a file many times takes a
// hundred times as long on a disk.
inline std::filesystem::path temporaryPlace() {
  std::error_code error;
  std::filesystem::path memory = "/dev/shm";
  return !std::getenv("TMPDIR") && std::filesystem::is_directory(memory, error)
             ? memory
             : std::filesystem::temp_directory_path();
}

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (temporaryPlace() / "heddle-test-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }

  const std::filesystem::path &path() const { return folder; }
  std::filesystem::path operator/(const char *name) const { return folder / name; }
  size_t fileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    spit(folder / name, text);
    return folder / name;
  }
  std::string read(std::string_view name) const { return slurp(folder / name); }

private:
  std::filesystem::path folder;
};

} // namespace heddle::test
