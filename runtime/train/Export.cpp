#include "runtime/train/Export.h"

#include "runtime/core/Safetensors.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/PublishedCopy.h"

namespace heddle {

Status exportWeights(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                     const std::filesystem::path &output, const Description &model, const GgufType &kind) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  HEDDLE_ASSIGN(std::filesystem::path folder, findCheckpoint(checkpoint));
  HEDDLE_ASSIGN(SafetensorsReader weights, SafetensorsReader::open(folder / kWeightsFile));
  // A tensor may hold several weights, and a weight may lie under one of several names.
  std::map<std::string, std::vector<const std::pair<const std::string, WeightOrigin> *>> ofTensors;
  for (const auto &weight : model.tensors) {
    if (!weights.find(weight.first))
      return makeError(ErrorKind::InvalidArgument, "'", weights.path().string(), "' has no weight '", weight.first,
                       "'; export takes a checkpoint of all weights, of a training run of this artifact.");
    for (const std::string &name : weight.second.names)
      ofTensors[name].push_back(&weight);
  }
  TensorChanges changes;
  for (const auto &[name, held] : ofTensors)
    changes[name] = [&weights, &held, &name](HostTensor &tensor) -> Status {
      for (const auto *weight : held) {
        HEDDLE_ASSIGN(HostTensor value, weights.read(weight->first));
        if (!putWeight(value, weight->second, tensor))
          return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(tensor.type(), tensor.shape()),
                           ", and the checkpoint's weight '", weight->first, "' is ",
                           describe(value.type(), value.shape()), ". The base is another model than the artifact's.");
      }
      return Success();
    };
  return copyPublished(base, output, model, changes, kind);
}

} // namespace heddle
