#include "runtime/train/Export.h"

#include "runtime/core/PublishedMeaning.h"
#include "runtime/core/Safetensors.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/FolderSync.h"
#include "runtime/train/PublishedCopy.h"

namespace heddle {

namespace {

namespace fs = std::filesystem;

// The same after checks that the checkpoint is ours, and that `output` may be written.
Result<fs::path> findExported(const fs::path &base, const fs::path &checkpoint, const fs::path &output,
                              const Description &model) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  if (isAdapter(checkpoint))
    return makeError(ErrorKind::InvalidArgument, "'", checkpoint.string(),
                     "' is an adapter of another program already; export takes a checkpoint of a training run.");
  return findAdapterWeights(checkpoint, model);
}

// llama.cpp's name of the model's architecture.
Result<std::string> architectureOf(const fs::path &base, const Description &model) {
  if (isGgufFile(base)) {
    HEDDLE_ASSIGN(GgufReader file, GgufReader::open(base));
    if (const GgufValue *name = file.value("general.architecture"); name && name->text())
      return *name->text();
  } else if (auto published = model.json.find("published"); published != model.json.end() && published->is_object()) {
    if (auto name = published->find("architecture"); name != published->end() && name->is_string())
      return *name == "mixtral" ? "llama" : commonArchitecture(name->get<std::string>());
  }
  return makeError(ErrorKind::Unsupported, "'", base.string(),
                   "' does not say what llama.cpp calls its architecture; name a GGUF file of the model by --base.");
}

} // namespace

Result<fs::path> findAdapterWeights(const fs::path &checkpoint, const Description &model) {
  HEDDLE_ASSIGN(fs::path folder, findCheckpoint(checkpoint));
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(folder));
  std::vector<std::string> different = differences(manifest.description, model.json, /*functionOnly=*/true);
  if (different.empty() && !manifest.description.contains("adapter"))
    different = {"it has no adapter"};
  if (!different.empty())
    return makeError(ErrorKind::InvalidArgument, "the checkpoint '", folder.string(),
                     "' was trained with another model than the artifact, which has adapters: ", different.front(),
                     ". Use the artifact that it was trained with.");
  HEDDLE_CHECK(checkFile(folder, kWeightsFile, manifest));
  return folder / kWeightsFile;
}

Status exportPeftAdapter(const fs::path &base, const fs::path &checkpoint, const fs::path &output,
                         const Description &model) {
  HEDDLE_ASSIGN(fs::path weights, findExported(base, checkpoint, output, model));
  return writeFolderAside(output, [&](const fs::path &folder) -> Status {
    HEDDLE_ASSIGN(bool isWritten, writePeftAdapter(weights, folder, model, base.string()));
    if (!isWritten)
      return makeError(
          ErrorKind::Unsupported, "'", base.string(),
          "' has several of the adapter's linear transformations in one tensor, which PEFT has no adapters "
          "for; use the checkpoint.");
    return syncFolder(folder);
  });
}

Status exportGgufAdapter(const fs::path &base, const fs::path &checkpoint, const fs::path &output,
                         const Description &model) {
  HEDDLE_ASSIGN(fs::path weights, findExported(base, checkpoint, output, model));
  HEDDLE_ASSIGN(std::string architecture, architectureOf(base, model));
  return writeGgufAdapter(weights, output, model, architecture);
}

Status exportWeights(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                     const std::filesystem::path &output, const Description &model, const GgufType &kind) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  HEDDLE_ASSIGN(std::filesystem::path folder, findCheckpoint(checkpoint));
  HEDDLE_ASSIGN(SafetensorsReader weights, SafetensorsReader::open(folder / kWeightsFile));
  bool isGguf = isGgufFile(base);
  // A tensor may hold several weights, and a weight may have one of several tensor names.
  std::map<std::string, std::vector<const std::pair<const std::string, WeightOrigin> *>> ofTensors;
  for (const auto &weight : model.tensors) {
    if (!weights.find(weight.first))
      return makeError(ErrorKind::InvalidArgument, "'", weights.path().string(), "' has no weight '", weight.first,
                       "'; export takes a checkpoint of all weights, of a training run of this artifact.");
    for (const std::string &name : weight.second.names)
      ofTensors[name].push_back(&weight);
  }
  TensorChanges changes;
  auto add = [&](const std::string &name, const auto &held, int64_t inStack) {
    changes[name] = [&weights, &held, name, inStack, isGguf](HostTensor &tensor) -> Status {
      for (const auto *weight : held) {
        HEDDLE_ASSIGN(HostTensor value, weights.read(weight->first));
        const WeightOrigin &origin = weight->second;
        HEDDLE_ASSIGN(bool isPut, inStack >= 0 ? putInStack(value, origin, inStack, tensor)
                                               : putWeight(value, isGguf ? origin.inGguf() : origin, tensor));
        if (!isPut)
          return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(tensor.type(), tensor.shape()),
                           ", and the checkpoint's weight '", weight->first, "' is ",
                           describe(value.type(), value.shape()), ". The base is another model than the artifact's.");
      }
      return Success();
    };
  };
  for (const auto &[name, held] : ofTensors) {
    const WeightOrigin &first = held.front()->second;
    if (isGguf || first.stacked == 0)
      add(name, held, /*inStack=*/-1);
    for (int64_t i = 0; !isGguf && i < first.stacked; ++i)
      for (const std::string &one : first.namesInStack(i))
        add(one, held, i);
  }
  return copyPublished(base, output, model, changes, kind);
}

} // namespace heddle
