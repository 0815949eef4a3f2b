// The weights of a GGUF file, converted to the layout of the model that Hugging Face publishes.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/Gguf.h"
#include "runtime/core/PackedTensor.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

class GgufModel {
public:
  // `model` is an artifact's description, which says what the file's tensors are. Fails if the model's family has no
  // GGUF files. Copies what it needs from `model`.
  static Result<GgufModel> open(const std::filesystem::path &path, const Description &model);

  const GgufReader &reader() const { return file; }

  // The tensor that contains the weight, in the layout of a Hugging Face folder.
  Result<HostTensor> read(const std::string &weight, const WeightOrigin &origin) const;
  // The packed format of the weight's tensor in the file. Null if the tensor is not packed, or if the weight's values
  // are not the stored ones.
  const PackedFormat *packedFormat(const WeightOrigin &origin) const;
  // The parts of a packed tensor, in the layout of a folder.
  Result<PackedTensor> readPacked(const WeightOrigin &origin) const;
  // How a tensor of the file is stored; null if no weight comes from it.
  const GgufPlace *placeOf(const GgufEntry &entry) const;
  // The tensor's names in folders.
  std::span<const std::string> namesOf(const GgufEntry &entry) const;

  // Convert a tensor in place between the file's layout and a folder's. Fail if its rows do not divide into the number
  // of heads that the description gives.
  Status toPublished(const GgufEntry &entry, HostTensor &tensor) const {
    return convert(entry, tensor, /*stores=*/false);
  }
  Status toStored(const GgufEntry &entry, HostTensor &tensor) const { return convert(entry, tensor, /*stores=*/true); }

private:
  explicit GgufModel(GgufReader file) : file(std::move(file)) {}
  Status convert(const GgufEntry &entry, HostTensor &tensor, bool stores) const;

  GgufReader file;
  std::map<std::string, WeightOrigin, std::less<>> origins; // by the name in the file; one weight of each tensor
};

// Reorder the rows of a matrix, or the elements of a vector, within each head. splitPairs() moves the first rows of all
// pairs before the second ones; joinPairs() is its inverse. `columns` is 1 for a vector. Each head must have an even
// number of rows.
void splitPairs(std::span<float> values, int64_t columns, int64_t heads);
void joinPairs(std::span<float> values, int64_t columns, int64_t heads);

} // namespace heddle
