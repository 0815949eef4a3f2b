#include "tools/heddle-run/report/TrainingReport.h"

#include <cstdio>

namespace heddle::run {

void TrainingReport::warn(const Status &status) {
  if (!status.ok())
    remark(LogLevel::Warning, str(status.message(), " The training goes on without it."));
}

Status TrainingReport::beginStep() {
  if (profile)
    warn(profile->enterStep());
  return Success();
}

void TrainingReport::beginValidation() {
  if (profile)
    profile->enterValidation();
}

void TrainingReport::beginCheckpoint() {
  if (profile)
    profile->enterCheckpoint();
}

Status TrainingReport::step(const StepReport &report) {
  warn(trainingLog.step(report));
  progress.step(report);
  return Success();
}

Status TrainingReport::validation(uint64_t step, const EvaluationResult &result, bool isBest) {
  char text[160], measure[80], bleu[24] = "";
  if (result.bleu)
    std::snprintf(bleu, sizeof bleu, ", BLEU %.2f", *result.bleu);
  if (result.sentences != 0)
    std::snprintf(measure, sizeof measure, "accuracy %.2f%% of words, %.2f%% of next sentences", 100 * *result.accuracy,
                  100 * result.sentenceAccuracy);
  else if (result.squaredError)
    std::snprintf(measure, sizeof measure, "%s, mean squared error %.4f", describePearson(result).c_str(),
                  *result.squaredError);
  else if (result.accuracy)
    std::snprintf(measure, sizeof measure, "accuracy %.2f%%", 100 * *result.accuracy);
  else
    std::snprintf(measure, sizeof measure, "perplexity %.2f", result.perplexity());
  std::snprintf(text, sizeof text, "step %llu: validation loss %.4f, %s%s%s", static_cast<unsigned long long>(step),
                result.loss, measure, bleu, isBest ? ", the best" : "");
  remark(LogLevel::Info, text);
  warn(trainingLog.validation(step, result));
  return Success();
}

void TrainingReport::remark(LogLevel level, std::string_view text) {
  progress.clear();
  heddle::log(level, text);
}

} // namespace heddle::run
