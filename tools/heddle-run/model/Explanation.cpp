#include "tools/heddle-run/model/Explanation.h"

#include "tools/heddle-run/model/CallInputs.h"

#include <algorithm>

namespace heddle::run {
namespace {

// Which column of a head has the weight of each token, in the call for the keys from `first` on; `width`: none has.
std::vector<int32_t> slotsOf(const PackedSequences &tokens, int64_t first, int64_t width) {
  std::vector<int32_t> slots;
  for (int32_t position : tokens.positions) {
    int64_t slot = position - first;
    slots.push_back(int32_t(slot >= 0 && slot < width ? slot : width));
  }
  return slots;
}

// Takes over the columns that a call filled: a query's row has `width` of them for each head.
void addColumns(AttentionMap &map, std::span<const float> output, int64_t first, int64_t width) {
  int64_t count = std::min(width, map.keys - first);
  for (int64_t head = 0; head < map.heads; ++head)
    for (int64_t query = 0; query < map.queries; ++query) {
      auto from = output.begin() + (query * map.heads + head) * width;
      std::copy(from, from + count, map.weights.begin() + (head * map.queries + query) * map.keys + first);
    }
}

} // namespace

int64_t maximumExplainedLength(const ModelDescription &model) {
  return std::min(model.maximumLength, model.maximumTokens) - 1;
}

Status checkExplains(const Engine &engine, const ModelDescription &model) {
  HEDDLE_CHECK(checkArchitecture(model, kEncoderAndDecoder, "explain"));
  if (!engine.hasEntry("explain"))
    return makeError(ErrorKind::Unsupported, "the artifact has no entry 'explain', which gives the weights of "
                                             "attention; compile the model with --set explain_entry=true. Its "
                                             "checkpoints stay good.");
  return Success();
}

Result<std::vector<AttentionMap>> explain(Engine &engine, const ModelDescription &model, const Batch &batch) {
  HEDDLE_CHECK(checkExplains(engine, model));
  const int64_t heads = model.heads;
  if (heads == 0 || model.width < heads)
    return makeError(ErrorKind::Malformed, "the artifact's model description has ", heads,
                     " heads in d_model = ", model.width, "; compile the model anew.");
  const int64_t width = model.width / heads;
  int64_t source = batch.source.layout.tokens(), target = batch.target.tokens();
  std::vector<AttentionMap> maps;
  auto add = [&](const char *stack, const char *kind, int64_t layer, int64_t queries, int64_t keys) {
    maps.push_back({stack, kind, layer, heads, queries, keys, {}});
  };
  for (int64_t layer = 0; layer < model.encoderLayers; ++layer)
    add("encoder", "self", layer, source, source);
  for (int64_t layer = 0; layer < model.decoderLayers; ++layer) {
    add("decoder", "self", layer, target, target);
    add("decoder", "cross", layer, target, source);
  }

  for (int64_t first = 0; first < std::max(source, target); first += width) {
    std::vector<int32_t> sourceSlots = slotsOf(batch.source.layout, first, width);
    std::vector<int32_t> targetSlots = slotsOf(batch.target, first, width);
    CallInputs inputs;
    inputs.addSource(batch.source).addTarget(batch);
    inputs.add("source_slots", sourceSlots).add("target_slots", targetSlots);
    HEDDLE_CHECK(engine.run("explain", inputs));
    for (AttentionMap &map : maps) {
      if (first >= map.keys)
        continue;
      std::string name = str("weights.", map.stack, ".", map.layer, ".", map.kind);
      HEDDLE_ASSIGN(HostTensor output, engine.output(name));
      if (output.type() != ElementType::F32 ||
          output.bytes().size() != size_t(map.queries * heads * width) * sizeof(float))
        return makeError(ErrorKind::Malformed, "the artifact's output '", name, "' is ",
                         describe(output.type(), output.shape()), " for ", map.queries, " tokens, ", heads,
                         " heads and d_model = ", model.width, "; compile the model anew.");
      map.weights.resize(size_t(heads * map.queries * map.keys));
      addColumns(map, output.values<float>(), first, width);
    }
  }
  return maps;
}

} // namespace heddle::run
