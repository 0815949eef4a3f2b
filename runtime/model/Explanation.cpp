#include "runtime/model/Explanation.h"

#include "runtime/model/CallInputs.h"

#include <algorithm>
#include <charconv>

namespace heddle {
namespace {

// For each token, the column of a head that holds its weight in the call for the keys from `first` on; `width` if no
// column does.
std::vector<int32_t> slotsOf(const PackedSequences &tokens, int64_t first, int64_t width) {
  std::vector<int32_t> slots;
  for (int32_t position : tokens.positions) {
    int64_t slot = position - first;
    slots.push_back(int32_t(slot >= 0 && slot < width ? slot : width));
  }
  return slots;
}

// Copies the columns that a call filled. A query's row has `width` columns for each head.
void addColumns(AttentionMap &map, std::span<const float> output, int64_t first, int64_t width) {
  int64_t count = std::min(width, map.keys - first);
  for (int64_t head = 0; head < map.heads; ++head)
    for (int64_t query = 0; query < map.queries; ++query) {
      auto from = output.begin() + (query * map.heads + head) * width;
      std::copy(from, from + count, map.weights.begin() + (head * map.queries + query) * map.keys + first);
    }
}

} // namespace

int64_t maximumExplainedLength(const ModelDescription &model, int64_t marks) {
  return std::min(model.maximumLength, model.maximumTokens) - marks;
}

Status checkExplains(const Engine &engine, const ModelDescription &model) {
  HEDDLE_CHECK(checkArchitecture(model, kEncoderAndDecoder, "explain"));
  if (!engine.hasEntry("explain"))
    return makeError(ErrorKind::Unsupported, "the artifact has no entry 'explain', which gives the weights of "
                                             "attention; compile the model with --set explain_entry=true. Its "
                                             "checkpoints stay good.");
  return Success();
}

namespace {

constexpr std::string_view kWeights = "weights.", kSlots = "_slots";

// An output of the entry: weights.KEYS.PATH, such as weights.source.decoder.0.cross. A row is a query; it has a column
// for each head and slot of the call.
struct ExplainedOutput {
  std::string name;
  int64_t width; // columns per head
  AttentionMap map;
};

// Sets the kind to the path without its number, and the layer to the number.
void setPath(AttentionMap &map, std::string_view path) {
  while (!path.empty()) {
    std::string_view part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
      std::from_chars(part.data(), part.data() + part.size(), map.layer);
    else
      map.kind += (map.kind.empty() ? "" : ".") + std::string(part);
  }
}

std::vector<ExplainedOutput> findOutputs(const EntryInfo &entry, const Batch &batch) {
  auto tokensOf = [&](std::string_view side) {
    return side == "source" ? batch.source.layout.tokens() : batch.target.tokens();
  };
  std::vector<ExplainedOutput> found;
  for (const PortInfo &port : entry.outputs) {
    std::string_view name = port.name;
    if (!name.starts_with(kWeights) || port.dims.size() != 2)
      continue;
    name.remove_prefix(kWeights.size());
    ExplainedOutput output{port.name, 0, {}};
    AttentionMap &map = output.map;
    map.keysOf = name.substr(0, name.find('.'));
    map.queriesOf = port.dims[0].size.starts_with("source") ? "source" : "target";
    setPath(map, name.substr(std::min(map.keysOf.size() + 1, name.size())));
    for (const PortInfo &input : entry.inputs)
      if (input.name == map.keysOf + std::string(kSlots))
        output.width = input.valueLimit - 1;
    if (output.width <= 0 || port.dims[1].extent % output.width != 0)
      continue;
    map.heads = port.dims[1].extent / output.width;
    map.queries = tokensOf(map.queriesOf);
    map.keys = tokensOf(map.keysOf);
    map.weights.resize(size_t(map.heads * map.queries * map.keys));
    found.push_back(std::move(output));
  }
  return found;
}

} // namespace

Result<std::vector<AttentionMap>> explain(Engine &engine, const ModelDescription &model, const Batch &batch) {
  HEDDLE_CHECK(checkExplains(engine, model));
  const EntryInfo *entry = engine.findEntry("explain");
  std::vector<ExplainedOutput> outputs;
  if (entry)
    outputs = findOutputs(*entry, batch);
  if (outputs.empty())
    return makeError(ErrorKind::Unsupported,
                     "the artifact's entry 'explain' gives the weights of no attention; compile the "
                     "model anew, or with attention in it.");
  int64_t longest = std::max(batch.source.layout.tokens(), batch.target.tokens());
  int64_t step = longest; // keys per call: all outputs have at least this many slots
  for (const ExplainedOutput &output : outputs)
    step = std::min(step, output.width);
  for (int64_t first = 0; first < longest; first += step) {
    CallInputs inputs;
    HEDDLE_CHECK(inputs.addBatch(entry, batch));
    std::vector<std::vector<int32_t>> slots;
    for (std::string_view side : {"source", "target"}) {
      std::string name = std::string(side) + std::string(kSlots);
      auto isUsed = [&](const PortInfo &input) { return input.name == name; };
      if (!std::ranges::any_of(entry->inputs, isUsed))
        continue;
      int64_t width = std::ranges::find_if(entry->inputs, isUsed)->valueLimit - 1;
      slots.push_back(slotsOf(side == "source" ? batch.source.layout : batch.target, first, width));
      inputs.add(side == "source" ? "source_slots" : "target_slots", slots.back());
    }
    HEDDLE_CHECK(engine.run("explain", inputs));
    for (ExplainedOutput &output : outputs) {
      if (first >= output.map.keys)
        continue;
      HEDDLE_ASSIGN(HostTensor values, engine.output(output.name));
      if (values.type() != ElementType::F32 ||
          values.bytes().size() != size_t(output.map.queries * output.map.heads * output.width) * sizeof(float))
        return makeError(ErrorKind::Malformed, "the artifact's output '", output.name, "' is ",
                         describe(values.type(), values.shape()), " for ", output.map.queries, " tokens and ",
                         output.map.heads, " heads; compile the model anew.");
      addColumns(output.map, values.values<float>(), first, output.width);
    }
  }
  std::vector<AttentionMap> maps;
  for (ExplainedOutput &output : outputs)
    maps.push_back(std::move(output.map));
  return maps;
}

} // namespace heddle
