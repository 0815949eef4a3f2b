// Checks that an interrupted and resumed training run takes the same steps as an uninterrupted one.
#pragma once

#include "runtime/train/Trainer.h"

namespace heddle {

struct ResumeProof {
  uint64_t interruptedAfter = 0, steps = 0;
  Manifest whole, resumed;

  // The files whose hashes differ between the last checkpoints, and "manifest.json" if other state differs. Empty if
  // resuming is exact.
  std::vector<std::string> differences() const;
};

// Trains `options.steps` steps (at least two) without interruption; then trains half of them, and resumes for the rest
// with a new engine. `open` is called three times and returns an engine with the compiled model; only one engine exists
// at a time. Checkpoints are written to `folder`.
Result<ResumeProof> proveResume(const std::function<Result<std::unique_ptr<Engine>>()> &open, TrainingInputs inputs,
                                TrainerOptions options, const std::filesystem::path &folder,
                                TrainingObserver &observer);

} // namespace heddle
