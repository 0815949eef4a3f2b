#include "runtime/train/Merge.h"

#include "runtime/published/PublishedWeights.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/PublishedCopy.h"

#include <cmath>

namespace heddle {
namespace {

namespace fs = std::filesystem;

Result<Adapter> readAny(const fs::path &folder, const Description &model, std::span<const VariableInfo> variables) {
  if (isAdapter(folder))
    return readAdapter(folder, model, variables);
  // A checkpoint also contains PEFT's files, so it is read as an adapter.
  HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
  return readAdapter(checkpoint, model, variables);
}

// Adds scale * down * up to the tensor, which is outputs x inputs if `transposed`.
void add(const LowRank &adapter, double scale, bool transposed, std::span<float> tensor) {
  int64_t inputs = adapter.down.shape()[0], rank = adapter.down.shape()[1], outputs = adapter.up.shape()[1];
  std::span<const float> down = adapter.down.values<float>(), up = adapter.up.values<float>();
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (int64_t r = 0; r < rank; ++r)
        sum += double(down[size_t(i * rank + r)]) * double(up[size_t(r * outputs + o)]);
      float &value = tensor[size_t(transposed ? o * inputs + i : i * outputs + o)];
      value = float(double(value) + scale * sum);
    }
}

// Scales each column of the weight to the norm in `magnitude` (DoRA). The tensor is outputs x inputs if `transposed`.
void normalise(const HostTensor &magnitude, int64_t inputs, bool transposed, std::span<float> tensor) {
  std::span<const float> norms = magnitude.values<float>();
  auto outputs = int64_t(norms.size());
  for (int64_t o = 0; o < outputs; ++o) {
    auto at = [&](int64_t i) -> float & { return tensor[size_t(transposed ? o * inputs + i : i * outputs + o)]; };
    double sum = 0;
    for (int64_t i = 0; i < inputs; ++i)
      sum += double(at(i)) * double(at(i));
    if (sum == 0)
      continue; // a column of zeros has no direction
    for (int64_t i = 0; i < inputs; ++i)
      at(i) = float(double(at(i)) * double(norms[size_t(o)]) / std::sqrt(sum));
  }
}

} // namespace

Status mergeAdapter(const fs::path &base, const fs::path &checkpoint, const fs::path &output, const Description &model,
                    std::span<const VariableInfo> variables) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  HEDDLE_ASSIGN(Adapter adapters, readAny(checkpoint, model, variables));
  TensorChanges changes;
  for (const auto &[path, adapter] : adapters.pairs) {
    const WeightOrigin &origin = model.tensors.find(path + ".weight")->second;
    for (const std::string &name : origin.names)
      changes[name] = [&adapter, &model, name, transposed = origin.transpose](HostTensor &tensor) -> Status {
        if (tensor.type() != ElementType::F32 ||
            tensor.bytes().size() / sizeof(float) != size_t(adapter.down.shape()[0] * adapter.up.shape()[1]))
          return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(tensor.type(), tensor.shape()),
                           ", which the adapter does not fit.");
        add(adapter, model.adapter.scale(), transposed, tensor.values<float>());
        if (adapter.magnitude)
          normalise(*adapter.magnitude, adapter.down.shape()[0], transposed, tensor.values<float>());
        return Success();
      };
  }
  for (const auto &weight : adapters.whole) {
    auto origin = model.tensors.find(weight.first);
    if (origin == model.tensors.end())
      continue; // the model was not published; callers refuse that
    for (const std::string &name : origin->second.names)
      changes[name] = [&weight, &origin = origin->second, name,
                       // `before` changes another part of the same tensor.
                       before = std::move(changes[name])](HostTensor &tensor) -> Status {
        if (before)
          HEDDLE_CHECK(before(tensor));
        if (!putWeight(weight.second, origin, tensor))
          return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(tensor.type(), tensor.shape()),
                           ", which the adapter's tensor does not fit.");
        return Success();
      };
  }
  return copyPublished(base, output, model, changes);
}

} // namespace heddle
