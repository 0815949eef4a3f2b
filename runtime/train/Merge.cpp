#include "runtime/train/Merge.h"

#include "runtime/core/Gguf.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/AdapterFile.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/Export.h"
#include "runtime/train/PublishedCopy.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace heddle {
namespace {

namespace fs = std::filesystem;

// The adapter of a checkpoint that has no files of PEFT.
Result<Adapter> readCheckpoint(const fs::path &folder, const Description &model) {
  HEDDLE_ASSIGN(fs::path path, findAdapterWeights(folder, model));
  HEDDLE_ASSIGN(SafetensorsReader weights, SafetensorsReader::open(path));
  std::map<std::string, Shape, std::less<>> shapes;
  for (const SafetensorsEntry &entry : weights.entries())
    shapes.emplace(entry.name, entry.shape);
  Adapter adapter;
  for (const auto &[linear, shape] : findLoraShapes(shapes)) {
    std::string down = linear + std::string(kLoraDown), up = linear + std::string(kLoraUp);
    LowRank &pair = adapter.pairs[linear];
    HEDDLE_ASSIGN(pair.down, weights.read(down));
    HEDDLE_ASSIGN(pair.up, weights.read(up));
    shapes.erase(down);
    shapes.erase(up);
  }
  for (const auto &[name, shape] : shapes) {
    HEDDLE_ASSIGN(adapter.whole[name], weights.read(name));
  }
  return adapter;
}

Result<Adapter> readAny(const fs::path &folder, const Description &model, std::span<const VariableInfo> variables) {
  if (isAdapter(folder))
    return readAdapter(folder, model, variables);
  HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
  std::error_code error;
  if (fs::exists(checkpoint / kAdapterConfigFile, error)) // PEFT's files beside the weights
    return readAdapter(checkpoint, model, variables);
  return readCheckpoint(folder, model);
}

// Adds scale * down * up to the weight, which is inputs x outputs.
void add(const LowRank &adapter, double scale, std::span<float> weight) {
  int64_t inputs = adapter.down.shape()[0], rank = adapter.down.shape()[1], outputs = adapter.up.shape()[1];
  std::span<const float> down = adapter.down.values<float>(), up = adapter.up.values<float>();
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (int64_t r = 0; r < rank; ++r)
        sum += double(down[size_t(i * rank + r)]) * double(up[size_t(r * outputs + o)]);
      float &value = weight[size_t(i * outputs + o)];
      value = float(double(value) + scale * sum);
    }
}

// Scales each column of the weight to the norm in `magnitude` (DoRA).
void normalise(const HostTensor &magnitude, int64_t inputs, std::span<float> weight) {
  std::span<const float> norms = magnitude.values<float>();
  auto outputs = int64_t(norms.size());
  for (int64_t o = 0; o < outputs; ++o) {
    double sum = 0;
    for (int64_t i = 0; i < inputs; ++i)
      sum += double(weight[size_t(i * outputs + o)]) * double(weight[size_t(i * outputs + o)]);
    if (sum == 0)
      continue; // a column of zeros has no direction
    for (int64_t i = 0; i < inputs; ++i)
      weight[size_t(i * outputs + o)] =
          float(double(weight[size_t(i * outputs + o)]) * double(norms[size_t(o)]) / std::sqrt(sum));
  }
}

} // namespace

Status mergeAdapter(const fs::path &base, const fs::path &checkpoint, const fs::path &output, const Description &model,
                    std::span<const VariableInfo> variables) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  HEDDLE_ASSIGN(Adapter adapters, readAny(checkpoint, model, variables));
  bool isGguf = isGgufFile(base);
  TensorChanges changes;
  using Change = std::function<void(HostTensor & weight)>;
  // Changes a weight whose new value has this shape. Other weights may be parts of the same tensor.
  auto change = [&](const WeightOrigin &origin, const Shape &shape, const Change &change) {
    for (const std::string &name : origin.names)
      changes[name] = [change, name, shape, place = isGguf ? origin.inGguf() : origin,
                       before = std::move(changes[name])](HostTensor &tensor) -> Status {
        if (before)
          HEDDLE_CHECK(before(tensor));
        HEDDLE_ASSIGN(std::optional<HostTensor> weight, takeWeight(tensor, place));
        if (!weight || weight->shape() != shape)
          return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(tensor.type(), tensor.shape()),
                           ", which the adapter does not fit.");
        change(*weight);
        putWeight(*weight, place, tensor);
        return Success();
      };
  };
  for (const auto &[path, adapter] : adapters.pairs) {
    auto origin = model.tensors.find(path + ".weight");
    if (origin == model.tensors.end() || (origin->second.stacked > 0 && !isGguf))
      return makeError(ErrorKind::Unsupported, "the adapter is for '", path,
                       "', which is no matrix within one tensor of '", base.string(),
                       "'; use the adapter beside its base (--base and --checkpoint) instead of merging it.");
    change(origin->second, {adapter.down.shape()[0], adapter.up.shape()[1]}, [&](HostTensor &weight) {
      add(adapter, model.adapter.scale(), weight.values<float>());
      if (adapter.magnitude)
        normalise(*adapter.magnitude, adapter.down.shape()[0], weight.values<float>());
    });
  }
  for (const auto &[name, value] : adapters.whole)
    if (auto origin = model.tensors.find(name); origin != model.tensors.end()) // else callers refuse the model
      change(origin->second, value.shape(),
             [&](HostTensor &weight) { std::ranges::copy(value.values<float>(), weight.values<float>().begin()); });
  return copyPublished(base, output, model, changes);
}

} // namespace heddle
