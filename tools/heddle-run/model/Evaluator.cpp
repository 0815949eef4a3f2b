#include "tools/heddle-run/model/Evaluator.h"

#include "tools/heddle-run/model/CallInputs.h"

#include <cmath>

namespace heddle::run {

double EvaluationResult::perplexity() const { return std::exp(loss); }

Result<EvaluationResult> evaluate(Engine &engine, std::span<const Batch> batches) {
  EvaluationResult result;
  double sum = 0;
  for (const Batch &batch : batches) {
    CallInputs inputs;
    inputs.addBatch(batch);
    HEDDLE_CHECK(engine.run("eval", inputs));
    HEDDLE_ASSIGN(HostTensor losses, engine.output("token_loss"));
    for (float loss : losses.values<float>())
      sum += loss;
    result.tokens += batch.target.tokens();
  }
  if (result.tokens != 0)
    result.loss = sum / double(result.tokens);
  return result;
}

} // namespace heddle::run
