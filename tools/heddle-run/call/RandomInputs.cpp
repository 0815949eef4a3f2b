#include "tools/heddle-run/call/RandomInputs.h"

#include <algorithm>
#include <random>

namespace heddle::run {
namespace {

const PortInfo *findPort(const EntryInfo &entry, const std::string &name) {
  for (const PortInfo &port : entry.inputs)
    if (port.name == name)
      return &port;
  return nullptr;
}

// How many tokens each of the sequences called `name` has.
int64_t evenLength(const EntryInfo &entry, const std::string &name) {
  const PortInfo *starts = findPort(entry, name + "_starts"), *lengths = findPort(entry, name + "_lengths");
  if (!starts || !lengths || starts->dims.empty())
    return 1;
  int64_t tokens = starts->valueLimit - 1; // a start may lie one past the last token
  for (const PortInfo &port : entry.inputs)
    for (const DimInfo &dim : port.dims)
      if (dim.size == name + "_tokens")
        tokens = dim.extent;
  if (name == "query") // a decoding step's queries are one token each
    return 1;
  int64_t length = tokens / std::max<int64_t>(1, starts->dims[0].extent);
  if (lengths->valueLimit > 0)
    length = std::min(length, lengths->valueLimit - 1);
  if (const PortInfo *positions = findPort(entry, name == "cache" ? "position" : name + "_positions");
      positions && positions->valueLimit > 0)
    length = std::min(length, positions->valueLimit);
  return std::max<int64_t>(1, length);
}

bool splitSuffix(std::string_view name, std::string_view suffix, std::string &prefix) {
  if (!name.ends_with(suffix))
    return false;
  prefix = name.substr(0, name.size() - suffix.size());
  return true;
}

} // namespace

Result<std::vector<NamedTensor>> randomInputs(const EntryInfo &entry) {
  std::mt19937 random(1);
  std::vector<NamedTensor> inputs;
  for (const PortInfo &port : entry.inputs) {
    Shape shape;
    for (const DimInfo &dim : port.dims)
      shape.push_back(dim.extent);
    HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(port.type, shape));
    if (port.type == ElementType::F32) {
      // Small and positive: it may be a scale.
      for (float &value : tensor.values<float>())
        value = float(1 + random() % 1000) * 1e-6f;
      inputs.push_back({port.name, std::move(tensor)});
      continue;
    }
    std::span<int32_t> values = tensor.values<int32_t>();
    std::string prefix;
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t value = port.valueLimit > 0 ? int64_t(random() % uint64_t(port.valueLimit)) : 0;
      if (splitSuffix(port.name, "_starts", prefix))
        value = int64_t(i) * evenLength(entry, prefix);
      else if (splitSuffix(port.name, "_lengths", prefix))
        value = evenLength(entry, prefix);
      else if (splitSuffix(port.name, "_positions", prefix))
        value = int64_t(i) % evenLength(entry, prefix);
      else if (port.name == "position")
        value = evenLength(entry, "cache") - 1;
      else if (port.name == "cache_rows")
        value = int64_t(i + 1) * evenLength(entry, "cache") - 1;
      values[i] = int32_t(value);
    }
    inputs.push_back({port.name, std::move(tensor)});
  }
  return inputs;
}

} // namespace heddle::run
