// A training run's logs for programs. The JSON log has one object per line: for every step one with "step", "loss",
// "learning_rate", "tokens_per_second", ...; for every validation one with "step", "validation_loss" and
// "validation_perplexity". TensorBoard's event files have the same numbers as curves.
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
  // Fails, without changing anything, if logs could not be written there. Either path may be empty.
  static Status check(const std::filesystem::path &json, const std::filesystem::path &events);

  // Opens a log; until then records go nowhere. A new training run begins an empty log. A run resumed after
  // `resumedStep` keeps the records up to that step: later steps are taken again.
  Status openJson(const std::filesystem::path &path, uint64_t resumedStep);
  Status openEvents(const std::filesystem::path &folder, uint64_t resumedStep);

  // Add a record. A log that cannot be written is closed: only the first lost record is an error.
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
