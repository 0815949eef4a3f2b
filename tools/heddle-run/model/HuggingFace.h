// The weights of a Hugging Face folder, for an artifact that was compiled from it.
#pragma once

#include "runtime/core/Safetensors.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

// All tensors of a folder, in whatever number of files.
class TensorFiles {
public:
  static Result<TensorFiles> open(const std::filesystem::path &folder);

  // The tensor under the first of the names that the folder has.
  Result<HostTensor> read(const std::string &weight, const std::vector<std::string> &names) const;

  // Names and shapes of all tensors, by file.
  const std::map<std::string, SafetensorsReader> &readers() const { return files; }

private:
  Status add(const std::filesystem::path &file);
  Status addIndexed(const std::filesystem::path &index);

  std::filesystem::path folder;
  std::map<std::string, SafetensorsReader> files;
};

// Whether the folder is one, and no checkpoint of Heddle's.
bool isHuggingFaceFolder(const std::filesystem::path &folder);

// Hands every weight of the artifact to `write`, one after another, as the artifact's variables have it: read from
// model.safetensors or from the files that model.safetensors.index.json names, transposed where it is stored so,
// numbers of 16 bits widened. `description` is the artifact's, which says where each weight comes from.
Status loadHuggingFaceWeights(const std::filesystem::path &folder, std::string_view description,
                              const std::function<Status(std::string_view name, const TensorView &value)> &write);

} // namespace heddle::run
