#include "runtime/core/Narrow.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/Span.h"
#include "runtime/session/PackedWeights.h"
#include "runtime/session/PublishedCheckpoint.h"
#include "runtime/session/SessionState.h"

#include <algorithm>
#include <optional>

namespace heddle {
namespace {

constexpr uint64_t chunkBytes = uint64_t(16) << 20;

bool chosen(const VariableKinds &kinds, const VariableInfo &variable) {
  return !variable.isStorage && std::find(kinds.begin(), kinds.end(), variable.kind) != kinds.end();
}

// Gathers sharded variables while one rank saves: once for consecutive views of the same storage.
class GatheredVariables {
public:
  explicit GatheredVariables(DeviceState &device) : device(device) {}

  // All bytes of the variable, or of its storage if it is a view.
  Result<std::span<const std::byte>> get(uint32_t index) {
    if (uint32_t storage = device.storageOf(index); last != storage) {
      HEDDLE_ASSIGN(bytes, device.gather(storage));
      last = storage;
    }
    return std::span<const std::byte>(bytes);
  }

private:
  DeviceState &device;
  std::optional<uint32_t> last;
  std::vector<std::byte> bytes;
};

} // namespace

Status Session::save(const std::filesystem::path &path, const VariableKinds &kinds,
                     const std::map<std::string, std::string> &metadata) {
  Span span("save variables");
  std::vector<uint32_t> indices;
  std::vector<SafetensorsEntry> entries;
  for (uint32_t i = 0; i < state->variables.size(); ++i) {
    const VariableInfo &variable = state->variables[i];
    if (!chosen(kinds, variable))
      continue;
    if (!state->isWritten(i) || !state->onDevice->allocatedVariable(i))
      return makeError(ErrorKind::InvalidArgument, "cannot save '", path.string(), "': variable '", variable.name,
                       "' has no value yet. Run `init` or load a checkpoint first.");
    indices.push_back(i);
    SafetensorsEntry &entry = entries.emplace_back(SafetensorsEntry{variable.name, variable.type, variable.shape});
    if (variable.isNarrow())
      entry.stored =
          variable.narrow == NarrowType::BF16 ? SafetensorsEntry::Stored::BF16 : SafetensorsEntry::Stored::F16;
  }

  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, std::move(entries), metadata));
  std::vector<std::byte> chunk;
  GatheredVariables gathered(*state->onDevice);
  for (uint32_t index : indices) {
    const VariableInfo &variable = state->variables[index];
    uint64_t bytes = variable.bytes;
    if (variable.panel > 0) {
      chunk.resize(bytes);
      HEDDLE_CHECK(state->onDevice->read(index, chunk));
      HEDDLE_CHECK(writer.write(reorder(chunk, variable.shape, variable.panel, Order::ToRows)));
      continue;
    }
    if (state->onDevice->shards.has(index)) {
      HEDDLE_ASSIGN(std::span<const std::byte> whole, gathered.get(index));
      HEDDLE_CHECK(writer.write(whole.subspan(state->onDevice->variableOffset(index), bytes)));
      continue;
    }
    for (uint64_t offset = 0; offset < bytes; offset += chunk.size()) {
      chunk.resize(std::min(bytes - offset, chunkBytes));
      HEDDLE_CHECK(state->device->read(*state->onDevice->allocatedVariable(index),
                                       state->onDevice->variableOffset(index) + offset, chunk));
      HEDDLE_CHECK(writer.write(chunk));
    }
  }
  return writer.commit();
}

Status Session::takePartInSave(const VariableKinds &kinds) {
  GatheredVariables gathered(*state->onDevice);
  for (uint32_t i = 0; i < state->variables.size(); ++i)
    if (chosen(kinds, state->variables[i]) && state->onDevice->shards.has(i))
      HEDDLE_CHECK(gathered.get(i));
  return Success();
}

Status Session::load(const std::filesystem::path &path, const VariableKinds &kinds) {
  Span span("load variables");
  if (isPublishedCheckpoint(*this, path))
    return loadPublishedCheckpoint(*this, path, kinds);
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(path));
  auto another = [&](const auto &...why) {
    return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' is a checkpoint of another model than '",
                     state->artifact->origin(), "': ", why..., ". Use the artifact that it was trained with.");
  };

  // A weight that is packed in the artifact may be f32 in the file, which then has no scales for it.
  auto isUnpacked = [&](const VariableInfo &weight) {
    const SafetensorsEntry *entry = reader.find(weight.name);
    return entry && entry->type == ElementType::F32 && isPackedWeight(state->variables, weight);
  };
  std::vector<std::string> unpacked;

  bool hasOnlyWeights = std::ranges::all_of(reader.entries(), [&](const SafetensorsEntry &entry) {
    const VariableInfo *variable = findVariable(entry.name);
    return variable && variable->isWeight();
  });

  // The packed weights are in panels either in this artifact or in the artifact that wrote the checkpoint, not in both.
  auto differsInPanels = [&](const SafetensorsEntry &entry, const VariableInfo &variable) {
    const Shape &stored = entry.shape, &shape = variable.shape;
    bool isPart = isPackedWeight(state->variables, variable) || isPartOfPacked(variable.role);
    if (!isPart || entry.type != variable.type || stored.size() != 2 || shape.size() != 2 || stored[1] < 1 ||
        shape[1] < 1)
      return false;
    return stored[1] > shape[1] ? inPanels(stored, shape[1]) == shape : inPanels(shape, stored[1]) == stored;
  };

  // All tensors are compared before any is written: a refused checkpoint leaves the model unchanged.
  std::vector<std::pair<uint32_t, const SafetensorsEntry *>> loads;
  for (uint32_t i = 0; i < state->variables.size(); ++i) {
    const VariableInfo &variable = state->variables[i];
    if (!chosen(kinds, variable))
      continue;
    if (isUnpacked(variable))
      unpacked.push_back(variable.name);
    bool isScales = variable.role == VariableRole::Scales; // packWeight() computes scales
    if (isUnpacked(variable) || (isScales && isUnpacked(*findVariable(variable.owner))))
      continue;
    const SafetensorsEntry *entry = reader.find(variable.name);
    if (!entry && hasOnlyWeights && !variable.isWeight())
      return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' holds weights alone, and ",
                       toString(variable.kind), " '", variable.name, "' was asked for as well; load the weights only.");
    if (!entry)
      return another("it lacks ", toString(variable.kind), " '", variable.name, "'");
    if (entry->type != variable.type || (entry->shape != variable.shape && !differsInPanels(*entry, variable)))
      return another("'", variable.name, "' is ", describe(entry->type, entry->shape), " in the checkpoint and ",
                     describe(variable.type, variable.shape), " in the artifact");
    loads.emplace_back(i, entry);
    if (state->module().variables()->Get(i)->value_limit() > 0) {
      std::vector<int32_t> values(entry->bytes / sizeof(int32_t));
      HEDDLE_CHECK(reader.read(*entry, 0, std::as_writable_bytes(std::span(values))));
      if (Status status = state->checkVariable(i, values); !status)
        return another(status.message());
    }
  }
  // An artifact compiled without training can read the weights of a checkpoint that has training state.
  for (const SafetensorsEntry &entry : reader.entries())
    if (!findVariable(entry.name) && roleOfName(entry.name) == VariableRole::None)
      return another("it has '", entry.name, "', which the artifact does not have");

  auto packed = [&](const std::string &name) -> Result<PackedParts> {
    HEDDLE_ASSIGN(HostTensor values, reader.read(name));
    Result<PackedParts> result = packWeight(state->variables, *findVariable(name), values);
    return result.ok() ? std::move(result)
                       : std::move(result).error().within(str("'", path.string(), "': '", name, "'"));
  };
  for (const std::string &name : unpacked) // packed twice, first only to check: memory may not hold all packed weights
    HEDDLE_CHECK(packed(name));
  for (const std::string &name : unpacked) {
    HEDDLE_ASSIGN(PackedParts parts, packed(name));
    for (const auto &[part, tensor] : parts)
      HEDDLE_CHECK(writeVariable(part, tensor));
  }
  std::vector<std::byte> chunk;
  for (auto [index, entry] : loads) {
    state->weightsWritten |= state->variables[index].isWeight();
    state->noteValue(index);
    if (const VariableInfo &variable = state->variables[index]; entry->shape != variable.shape || variable.panel > 0) {
      HEDDLE_ASSIGN(HostTensor part, reader.read(variable.name));
      HEDDLE_ASSIGN(HostTensor stored, rearranged(std::move(part), variable.shape));
      HEDDLE_CHECK(writeVariable(variable.name, stored));
      continue;
    }
    for (uint64_t offset = 0; offset < entry->bytes; offset += chunk.size()) {
      chunk.resize(std::min(entry->bytes - offset, chunkBytes));
      HEDDLE_CHECK(reader.read(*entry, offset, chunk));
      if (const VariableInfo &variable = state->variables[index]; variable.isNarrow()) {
        auto values = std::span(reinterpret_cast<const float *>(chunk.data()), chunk.size() / sizeof(float));
        HEDDLE_ASSIGN(std::vector<std::byte> narrow, narrowed(variable, values));
        HEDDLE_CHECK(state->onDevice->write(index, offset / 2, narrow));
        continue;
      }
      HEDDLE_CHECK(state->onDevice->write(index, offset, chunk));
    }
  }
  return Success();
}

} // namespace heddle
