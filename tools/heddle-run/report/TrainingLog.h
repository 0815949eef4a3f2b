// The training's log for programs: a JSON object a line. Every step has one with "step", "loss", "learning_rate",
// "tokens_per_second", ...; every validation one with "step", "validation_loss" and "validation_perplexity".
#pragma once

#include "runtime/core/Status.h"
#include "tools/heddle-run/model/Evaluator.h"
#include "tools/heddle-run/report/Progress.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace heddle::run {

class TrainingLog {
public:
  // A log that goes nowhere.
  TrainingLog() = default;

  // A training that starts afresh begins an empty log. One that resumes after `resumedStep` keeps the records up to
  // that step: later ones are of steps that are taken again.
  static Result<TrainingLog> open(const std::filesystem::path &path, uint64_t resumedStep);

  Status step(const StepReport &report);
  Status validation(uint64_t step, const EvaluationResult &result);

private:
  Status write(const std::string &line);

  std::filesystem::path path;
  std::ofstream file;
};

} // namespace heddle::run
