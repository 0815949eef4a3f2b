// Everything `heddle-run train` reports: the progress line, a line per validation, logs, a profile.
#pragma once

#include "runtime/train/TrainingObserver.h"
#include "tools/heddle-run/report/Profile.h"
#include "tools/heddle-run/report/Progress.h"
#include "tools/heddle-run/report/TrainingLog.h"

namespace heddle::run {

class TrainingReport final : public TrainingObserver {
public:
  // The parts must outlive the report; `profile` may be null.
  TrainingReport(Progress &progress, TrainingLog &trainingLog, Profile *profile)
      : progress(progress), trainingLog(trainingLog), profile(profile) {}

  Status beginStep() override;
  void beginValidation() override;
  void beginCheckpoint() override;
  Status step(const StepReport &report) override;
  Status validation(uint64_t step, const EvaluationResult &result, bool isBest) override;
  void remark(LogLevel level, std::string_view text) override;

private:
  // Warns about a file that cannot be written: that is no reason to lose the training.
  void warn(const Status &status);

  Progress &progress;
  TrainingLog &trainingLog;
  Profile *profile;
};

} // namespace heddle::run
