#include "runtime/train/TrainingObserver.h"

#include <nlohmann/json.hpp>

namespace heddle {

std::string describeAsJson(const StepReport &report) {
  nlohmann::ordered_json record = {{"step", report.step},
                                   {"loss", report.loss},
                                   {"learning_rate", report.learningRate},
                                   {"tokens_per_second", report.tokensPerSecond()},
                                   {"source_tokens", report.sourceTokens},
                                   {"target_tokens", report.targetTokens},
                                   {"epoch", report.epoch},
                                   {"seconds", report.seconds},
                                   {"data_seconds", report.dataSeconds}};
  if (report.labels != 0)
    record["labels"] = report.labels;
  if (report.lossScale > 0) {
    record["loss_scale"] = report.lossScale;
    record["skipped_steps"] = report.skipped;
  }
  return record.dump();
}

std::string describeAsJson(uint64_t step, const EvaluationResult &result) {
  nlohmann::ordered_json record = {{"step", step}, {"validation_loss", result.loss}};
  if (result.squaredError) {
    record["validation_mean_squared_error"] = *result.squaredError;
    if (result.pearson)
      record["validation_pearson"] = *result.pearson;
    record["validation_grades"] = result.tokens;
  } else if (result.accuracy) {
    record["validation_accuracy"] = *result.accuracy;
    record["validation_labels"] = result.tokens;
    if (result.sentences != 0)
      record["validation_sentence_accuracy"] = result.sentenceAccuracy;
  } else {
    record["validation_perplexity"] = result.perplexity();
    record["validation_tokens"] = result.tokens;
  }
  if (result.bleu)
    record["validation_bleu"] = *result.bleu;
  return record.dump();
}

} // namespace heddle
