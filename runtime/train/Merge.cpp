#include "runtime/train/Merge.h"

#include "runtime/train/Adapter.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/PublishedCopy.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

Result<LowRanks> readAny(const fs::path &folder, const Description &model, std::span<const VariableInfo> variables) {
  if (isAdapterFolder(folder))
    return readAdapter(folder, model, variables);
  // A checkpoint has the files that PEFT reads beside its own.
  HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
  return readAdapter(checkpoint, model, variables);
}

// Adds scale * down * up to the tensor, which is stored as the origin says.
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

} // namespace

Status mergeAdapter(const fs::path &base, const fs::path &checkpoint, const fs::path &output, const Description &model,
                    std::span<const VariableInfo> variables) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  HEDDLE_ASSIGN(LowRanks adapters, readAny(checkpoint, model, variables));
  TensorChanges changes;
  for (const auto &[path, adapter] : adapters) {
    const WeightOrigin &origin = model.tensors.find(path + ".weight")->second;
    for (const std::string &name : origin.names)
      changes[name] = [&adapter, &model, name, transposed = origin.transpose](HostTensor &tensor) -> Status {
        if (tensor.type() != ElementType::F32 ||
            tensor.bytes().size() / sizeof(float) != size_t(adapter.down.shape()[0] * adapter.up.shape()[1]))
          return makeError(ErrorKind::InvalidArgument, "'", name, "' is ", describe(tensor.type(), tensor.shape()),
                           ", which the adapter does not fit.");
        add(adapter, model.adapter.scale(), transposed, tensor.values<float>());
        return Success();
      };
  }
  return copyPublished(base, output, model, changes);
}

} // namespace heddle
