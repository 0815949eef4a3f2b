// A training run's logs for programs. The JSON log has an object a line: every step one with "step", "loss",
// "learning_rate", "tokens_per_second", ...; every validation one with "step", "validation_loss" and
// "validation_perplexity". TensorBoard's event files have the same as curves.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/train/Evaluator.h"
#include "tools/heddle-run/report/EventFile.h"
#include "tools/heddle-run/report/Progress.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace heddle::run {

class TrainingLog {
public:
  // Fails where logs could not be written there, and changes nothing. Either may be empty.
  static Status check(const std::filesystem::path &json, const std::filesystem::path &events);

  // Goes nowhere until one is opened. A training run that starts afresh begins an empty log. One that resumes after
  // `resumedStep` keeps the records up to that step: later ones are of steps that are taken again.
  Status openJson(const std::filesystem::path &path, uint64_t resumedStep);
  Status openEvents(const std::filesystem::path &folder, uint64_t resumedStep);

  // Add a record. A log that cannot be written is closed: only the first record that is lost is an error.
  Status step(const StepReport &report);
  Status validation(uint64_t step, const EvaluationResult &result);

private:
  using Scalars = std::span<const std::pair<std::string_view, double>>;
  Status write(uint64_t step, Scalars values, const std::string &line);
  Status writeEvents(uint64_t step, Scalars values);
  Status writeJson(const std::string &line);

  std::filesystem::path path;
  std::ofstream file;
  std::optional<EventFile> events;
};

} // namespace heddle::run
