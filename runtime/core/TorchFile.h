// Files of torch.save, such as pytorch_model.bin: a zip archive with the numbers of each storage, and a pickle that says
// which tensors they are.
//
// The pickle is a program for Python. It is not executed: a small interpreter knows the operations that build tables of
// tensors, and refuses files with any other operation, or with a reference to any other function or class. Archives of
// more than 4 GiB (zip64) are read, and compressed or encrypted ones are not.
#pragma once

#include "runtime/core/File.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct TorchEntry {
  std::string name;
  std::string type; // of the storage: "Float", "Half", "BFloat16", "Long", ...
  Shape shape;
  uint64_t offset = 0; // of the tensor's first number, in the file
  bool isInRowOrder = true;
};

class TorchReader {
public:
  // Reads the archive's directory and the pickle, and checks that each tensor lies within its storage. Fails if the
  // pickle is no table of tensors, has more than a million values, or has names twice or of more than 1024 bytes.
  static Result<TorchReader> open(const std::filesystem::path &path);

  const std::filesystem::path &path() const { return file.path(); }
  // The tensors by name. Tied tensors have the same offset.
  const std::map<std::string, TorchEntry, std::less<>> &entries() const { return tensors; }
  const TorchEntry *find(std::string_view name) const {
    auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  }
  // Returns f32 numbers, widened from 16 bits if needed. Fails if the tensor has another type, or is not stored row by row.
  Result<HostTensor> read(const TorchEntry &entry) const;

private:
  explicit TorchReader(InputFile file) : file(std::move(file)) {}

  InputFile file;
  std::map<std::string, TorchEntry, std::less<>> tensors;
};

// Returns true if the file begins like a zip archive.
bool isTorchFile(const std::filesystem::path &path);

} // namespace heddle
