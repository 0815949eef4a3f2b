// Shows that a training run that is interrupted and resumed takes the same steps as one that runs through.
#pragma once

#include "runtime/train/Trainer.h"

namespace heddle {

struct ResumeProof {
  uint64_t interruptedAfter = 0, steps = 0;
  Manifest whole, resumed;

  // The files of the last checkpoints whose hashes differ, and what of the state besides; empty where resuming is
  // exact.
  std::vector<std::string> differences() const;
};

// Trains `options.steps` steps, at least two, without a stop; then half of them, and the rest resumed on another
// engine. `open` gives an engine with the compiled model, three times, one at a time. Checkpoints go into `folder`.
Result<ResumeProof> proveResume(const std::function<Result<std::unique_ptr<Engine>>()> &open, TrainingInputs inputs,
                                TrainerOptions options, const std::filesystem::path &folder,
                                TrainingObserver &observer);

} // namespace heddle
