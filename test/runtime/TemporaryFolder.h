// A folder that goes away with the test, and whole-file helpers.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace heddle::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(folder); }

  const std::filesystem::path &path() const { return folder; }
  std::filesystem::path operator/(const char *name) const { return folder / name; }
  size_t fileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }

private:
  std::filesystem::path folder;
};

inline std::string slurp(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void spit(const std::filesystem::path &path, const std::string &content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

} // namespace heddle::test
