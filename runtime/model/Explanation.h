// The attention weights of a model over one sentence pair, as in Figures 3 to 5 of "Attention Is All You Need".
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
  std::string kind;              // its name in the model without the layer
  int64_t layer = 0;             // from 0; 0 for attentions without a layer
  std::string queriesOf, keysOf; // "source" or "target"
  int64_t heads = 0, queries = 0, keys = 0;
  std::vector<float> weights; // [head][query][key]

  std::span<const float> row(int64_t head, int64_t query) const {
    return std::span(weights).subspan(size_t((head * queries + query) * keys), size_t(keys));
  }
};

// The longest sentence of either side that explain() takes, in tokens without its mark.
int64_t maximumExplainedLength(const ModelDescription &model, int64_t marks = 1);

// The attentions in the model's order. `batch` holds one pair. Fails if the artifact has no entry `explain`, or the
// model is not an encoder with a decoder.
Result<std::vector<AttentionMap>> explain(Engine &engine, const ModelDescription &model, const Batch &batch);

// Fails if the artifact cannot explain; the message says how to compile one that can.
Status checkExplains(const Engine &engine, const ModelDescription &model);

} // namespace heddle
