// Loads the weights of a published model, a Hugging Face folder or a GGUF file, into an artifact compiled from it.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/artifact/Meaning.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/core/TorchFile.h"
#include "runtime/published/GgufModel.h"
#include "runtime/published/Mxfp4Tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// All tensors of a published model, however many files they are in.
class TensorFiles {
public:
  // Opens a folder, a GGUF file, or a single safetensors file. `model` is the artifact's description, which says how a
  // GGUF file stores the tensors.
  static Result<TensorFiles> open(const std::filesystem::path &path, const Description &model);

  // Returns true if the files have the weight's tensor.
  bool has(const WeightOrigin &origin) const;
  // The tensor that contains the weight, in the layout of a folder: the first of the origin's names that exists.
  // Tensors of a stack are joined.
  Result<HostTensor> read(const std::string &weight, const WeightOrigin &origin) const;
  // The packed format of the tensor in a GGUF file, or of a folder's in MXFP4; null if it is not packed.
  const PackedFormat *packedFormat(const WeightOrigin &origin) const;
  // Reads a packed tensor as its parts. Changes `origin` to the weight's origin in the parts.
  Result<PackedTensor> readPacked(WeightOrigin &origin) const;

  // Returns the origin of the weight in these files.
  WeightOrigin originOf(const WeightOrigin &origin) const { return gguf ? origin.inGguf() : origin; }

  // Names of the tensors that no weight of the model uses. Excludes buffers that libraries recompute, such as rotary
  // frequencies and masks.
  std::vector<std::string> unused(const Description &model) const;

  // For a folder of safetensors: names and shapes of all tensors, by file.
  const std::map<std::string, SafetensorsReader> &readers() const { return files; }

private:
  Status add(const std::filesystem::path &file);
  Result<HostTensor> readFirst(const std::string &weight, const std::vector<std::string> &names) const;
  std::optional<Mxfp4Tensor> findMxfp4(const WeightOrigin &origin) const;

  std::filesystem::path folder; // or a single file
  std::map<std::string, SafetensorsReader> files;
  std::map<std::string, TorchReader> torchFiles;
  std::optional<GgufModel> gguf;
};

// Returns true if the name is that of a second copy of the embedding. A model that does not read it shares one matrix.
bool isTiedCopy(std::string_view name);

// Extracts a weight from its tensor. Returns nothing if the tensor does not have the expected shape.
Result<std::optional<HostTensor>> takeWeight(const HostTensor &tensor, const WeightOrigin &origin);

// Writes a weight to its place in the tensor. Returns false if the shape or type of either is not as expected.
bool putWeight(const HostTensor &weight, const WeightOrigin &origin, HostTensor &tensor);

// Writes the part of a weight that is in tensor number `index` of a stack.
Result<bool> putInStack(const HostTensor &weight, const WeightOrigin &origin, int64_t index, HostTensor &tensor);

// Returns true if the path is such a folder or a GGUF file, and not a Heddle checkpoint.
bool isPublishedModel(const std::filesystem::path &path);

// Receives a model's weights.
struct WeightSink {
  std::function<Status(std::string_view name, const TensorView &value)> write;
  // Returns true if the sink wants a weight of this shape in the GGUF file's packed format. If absent, no weight is
  // packed.
  std::function<bool(std::string_view name, const PackedFormat &format, const Shape &whole)> keeps = {};
  std::function<Status(std::string_view name, PackedTensor value)> writePacked = {};
  // Called for a weight of a head that the files lack, which keeps its value. If absent, such a weight is an error.
  std::function<void(std::string_view name)> lacks = {};
};

// Passes each weight of the artifact to the sink, in the shape of the artifact's variable: transposed weights are
// transposed back, and narrower numbers are widened. Reads model.safetensors, the files named in
// model.safetensors.index.json, the same of pytorch_model.bin if the folder has no safetensors, a GGUF file, or a single
// file, optionally with config.json in the same folder. `description` is the artifact's; it says where each weight comes
// from.
Status loadPublishedWeights(const std::filesystem::path &path, std::string_view description, const WeightSink &sink,
                            OtherMeaning others = OtherMeaning::Refuse);

} // namespace heddle
