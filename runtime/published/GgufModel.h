// The weights of a GGUF file, as the model that Hugging Face publishes has them.
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
  // `model`: the description of an artifact, which says what the file's tensors are. Fails where its family has no GGUF
  // files. Keeps copies of what it needs.
  static Result<GgufModel> open(const std::filesystem::path &path, const Description &model);

  const GgufReader &reader() const { return file; }

  // The tensor of the weight, as a folder has it.
  Result<HostTensor> read(const std::string &weight, const WeightOrigin &origin) const;
  // How the file has the weight's tensor packed; null where it does not, or has another number for each of the
  // weight's.
  const PackedFormat *packedFormat(const WeightOrigin &origin) const;
  // The parts of a tensor that is packed, as a folder would have them.
  Result<PackedTensor> readPacked(const WeightOrigin &origin) const;
  // How a tensor of the file is stored; null where no weight comes from it.
  const GgufPlace *placeOf(const GgufEntry &entry) const;
  // The names that the tensor has in folders.
  std::span<const std::string> namesOf(const GgufEntry &entry) const;

  // A tensor from the file's way of storing it to a folder's, and back. Fails where its rows are not those of the heads
  // that the description says there are.
  Status toPublished(const GgufEntry &entry, HostTensor &tensor) const {
    return convert(entry, tensor, /*stores=*/false);
  }
  Status toStored(const GgufEntry &entry, HostTensor &tensor) const { return convert(entry, tensor, /*stores=*/true); }

private:
  explicit GgufModel(GgufReader file) : file(std::move(file)) {}
  Status convert(const GgufEntry &entry, HostTensor &tensor, bool stores) const;

  GgufReader file;
  std::map<std::string, WeightOrigin, std::less<>> origins; // by the file's name; one of those that a tensor holds
};

// Puts the rows of a matrix, or the numbers of a vector, from pairs side by side to halves of each head, or back.
// `columns` is 1 for a vector; `heads` divides the rows into even parts.
void splitPairs(std::span<float> values, int64_t columns, int64_t heads);
void joinPairs(std::span<float> values, int64_t columns, int64_t heads);

} // namespace heddle
