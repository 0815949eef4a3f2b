// The loss of a model on text that it is not trained on.
#pragma once

#include "tools/heddle-run/model/Engine.h"
#include "tools/heddle-run/text/Batches.h"

namespace heddle::run {

struct EvaluationResult {
  double loss = 0; // negative log-likelihood of a target token in nats, the end marks counted
  int64_t tokens = 0;

  double perplexity() const;
};

Result<EvaluationResult> evaluate(Engine &engine, std::span<const Batch> batches);

} // namespace heddle::run
