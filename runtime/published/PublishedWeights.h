// The weights of a published model, a Hugging Face folder or a GGUF file, for an artifact that was compiled from it.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/artifact/Meaning.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/published/GgufModel.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// All tensors of a published model, in whatever number of files.
class TensorFiles {
public:
  // Of a folder, a GGUF file, or a single safetensors file. `model`: the artifact's description, which says how a GGUF
  // file has the tensors.
  static Result<TensorFiles> open(const std::filesystem::path &path, const Description &model);

  // The tensor of the weight, as a folder has it: the first of the origin's names that the model has.
  Result<HostTensor> read(const std::string &weight, const WeightOrigin &origin) const;
  // How a GGUF file has it packed; null where it does not.
  const PackedFormat *packedFormat(const WeightOrigin &origin) const;
  Result<PackedTensor> readPacked(const WeightOrigin &origin) const { return gguf->readPacked(origin); }

  // The tensors that no weight of the model comes from. Buffers that libraries compute anew, such as rotary frequencies
  // and masks, do not count.
  std::vector<std::string> unused(const Description &model) const;

  // Of a folder: names and shapes of all tensors, by file.
  const std::map<std::string, SafetensorsReader> &readers() const { return files; }

private:
  Status add(const std::filesystem::path &file);
  Status addIndexed(const std::filesystem::path &index);

  std::filesystem::path folder; // or the file
  std::map<std::string, SafetensorsReader> files;
  std::optional<GgufModel> gguf;
};

// Whether a tensor has the name of a second copy of the embedding. A model that does not read it shares one matrix.
bool isTiedCopy(std::string_view name);

// The weight that a tensor holds; nothing where the tensor has another shape than it should.
Result<std::optional<HostTensor>> takeWeight(const HostTensor &tensor, const WeightOrigin &origin);

// Puts a weight where its tensor has it; false where the tensor or the weight has another shape or type.
bool putWeight(const HostTensor &weight, const WeightOrigin &origin, HostTensor &tensor);

// Whether the path is such a folder or file, and no checkpoint of Heddle's.
bool isPublishedModel(const std::filesystem::path &path);

// Who takes a model's weights.
struct WeightSink {
  std::function<Status(std::string_view name, const TensorView &value)> write;
  // Whether a weight of this shape that a GGUF file has packed in this way is wanted so; absent: none is.
  std::function<bool(std::string_view name, const PackedFormat &format, const Shape &whole)> keeps = {};
  std::function<Status(std::string_view name, PackedTensor value)> writePacked = {};
};

// Hands every weight of the artifact to the sink, one after another, in the form of the artifact's variable: a weight
// that is stored transposed is transposed back, and numbers of fewer bits are widened. Reads model.safetensors, the
// files that model.safetensors.index.json names, a GGUF file, or a safetensors file by itself, whose config.json may
// stand beside it. `description`: the artifact's; it says where each
// weight comes from.
Status loadPublishedWeights(const std::filesystem::path &path, std::string_view description, const WeightSink &sink,
                            OtherMeaning others = OtherMeaning::Refuse);

} // namespace heddle
