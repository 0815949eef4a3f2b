// What a model attends to: the weights of every attention over one sentence pair, as in Figures 3 to 5 of "Attention Is
// All You Need".
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

// One attention of the model (3.2).
struct AttentionMap {
  std::string kind;              // what it is called in the model, without the layer: "decoder.cross"
  int64_t layer = 0;             // from 0 on; of attentions without layers 0
  std::string queriesOf, keysOf; // "source" or "target"
  int64_t heads = 0, queries = 0, keys = 0;
  std::vector<float> weights; // [head][query][key]

  std::span<const float> row(int64_t head, int64_t query) const {
    return std::span(weights).subspan(size_t((head * queries + query) * keys), size_t(keys));
  }
};

// The longest sentence of either side, in tokens without its mark, that explain() takes.
int64_t maximumExplainedLength(const ModelDescription &model, int64_t marks = 1);

// The attentions in the order of the model. `batch` holds one pair. Fails where the artifact has no entry
// `explain`, or the model not both stacks.
Result<std::vector<AttentionMap>> explain(Engine &engine, const ModelDescription &model, const Batch &batch);

// Whether the artifact can do it; an error says how it could.
Status checkExplains(const Engine &engine, const ModelDescription &model);

} // namespace heddle
