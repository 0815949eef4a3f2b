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
    pair.shape = shape;
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

// Adds scale * down * up to the weight, which is inputs x outputs, by the adapter's matrices of this number.
void add(const LowRank &adapter, int64_t matrix, double scale, std::span<float> weight) {
  const LoraShape &shape = adapter.shape;
  std::span<const float> down = matrixOf(adapter.down, matrix, shape.inputs),
                         up = matrixOf(adapter.up, matrix, shape.rank);
  for (int64_t i = 0; i < shape.inputs; ++i)
    for (int64_t o = 0; o < shape.outputs; ++o) {
      double sum = 0;
      for (int64_t r = 0; r < shape.rank; ++r)
        sum += double(down[size_t(i * shape.rank + r)]) * double(up[size_t(r * shape.outputs + o)]);
      float &value = weight[size_t(i * shape.outputs + o)];
      value = float(double(value) + scale * sum);
    }
}

// Scales each column of the weight to its norm (DoRA).
void normalise(std::span<const float> norms, int64_t inputs, std::span<float> weight) {
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
  for (const auto &[linear, adapter] : adapters.pairs) {
    auto found = model.tensors.find(weightOf(linear, model));
    if (found == model.tensors.end())
      return makeError(ErrorKind::Unsupported, "the adapter is for '", linear, "', which is no matrix of '",
                       base.string(),
                       "'; use the adapter beside its base (--base and --checkpoint) instead of merging it.");
    const LoraShape shape = adapter.shape;
    auto merge = [&adapter = adapter, scale = model.adapter.scale()](int64_t matrix, std::span<float> weight) {
      add(adapter, matrix, scale, weight);
      if (adapter.magnitude)
        normalise(matrixOf(*adapter.magnitude, matrix, 1), adapter.shape.inputs, weight);
    };
    const WeightOrigin &origin = found->second;
    if (origin.stacked > 0 && !isGguf) {
      for (int64_t i = 0; i < shape.matrices; ++i)
        change(origin.inStack(i), {shape.inputs, shape.outputs},
               [=](HostTensor &weight) { merge(i, weight.values<float>()); });
      continue;
    }
    change(origin, {shape.matrices * shape.inputs, shape.outputs}, [=](HostTensor &weight) {
      for (int64_t i = 0; i < shape.matrices; ++i)
        merge(i, matrixOf(weight, i, shape.inputs));
    });
  }
  for (const auto &[name, value] : adapters.whole)
    if (auto origin = model.tensors.find(name); origin != model.tensors.end()) // else callers refuse the model
      change(origin->second, value.shape(),
             [&](HostTensor &weight) { std::ranges::copy(value.values<float>(), weight.values<float>().begin()); });
  return copyPublished(base, output, model, changes);
}

} // namespace heddle
