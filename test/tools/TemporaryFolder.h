// A folder of a test's own, removed with all it holds.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <string>
#include <string_view>

namespace heddle::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    root = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(root, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::filesystem::path &path() const { return root; }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::ofstream(root / name, std::ios::binary) << text;
    return root / name;
  }

  std::string read(std::string_view name) const {
    std::ifstream file(root / name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

private:
  std::filesystem::path root;
};

} // namespace heddle::test
