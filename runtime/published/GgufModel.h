// The weights of a GGUF file, as the model that Hugging Face publishes has them.
#pragma once

#include "runtime/core/Gguf.h"
#include "runtime/core/GgufNames.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class GgufModel {
public:
  // Fails where the file is of an architecture that Heddle does not read.
  static Result<GgufModel> open(const std::filesystem::path &path);

  const GgufReader &reader() const { return file; }

  // The tensor under the first of the published names that the file has, for the weight `weight`.
  Result<HostTensor> read(const std::string &weight, const std::vector<std::string> &names) const;
  // What a tensor of the file is in the published model; nothing where Heddle does not know it.
  std::optional<GgufTensor> published(const GgufEntry &entry) const {
    return publishedTensor(architecture, entry.name);
  }

  // A tensor from the file's way of storing it to the published one, and back. Fails where its rows are not those of
  // the heads that the file says there are.
  Status toPublished(const GgufEntry &entry, HostTensor &tensor) const {
    return convert(entry, tensor, /*stores=*/false);
  }
  Status toStored(const GgufEntry &entry, HostTensor &tensor) const { return convert(entry, tensor, /*stores=*/true); }

private:
  explicit GgufModel(GgufReader file) : file(std::move(file)) {}
  Status convert(const GgufEntry &entry, HostTensor &tensor, bool stores) const;

  GgufReader file;
  std::string architecture;
  uint64_t heads = 0, keyHeads = 0; // 0: not said
};

} // namespace heddle
