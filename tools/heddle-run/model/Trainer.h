// The training loop: steps, validation, checkpoints, and a clean end at a signal.
#pragma once

#include "tools/heddle-run/model/Checkpoint.h"
#include "tools/heddle-run/model/Description.h"
#include "tools/heddle-run/model/Engine.h"
#include "tools/heddle-run/report/Progress.h"
#include "tools/heddle-run/report/TrainingLog.h"
#include "tools/heddle-run/text/Batches.h"
#include "tools/heddle-run/text/Tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace heddle::run {

struct TrainerOptions {
  std::filesystem::path checkpoint;
  uint64_t steps = 100'000; // in all, those of a resumed training counted
  uint64_t seed = 1;
  uint64_t microBatches = 1;  // more than one: gradients are summed over so many calls before a step is taken
  uint64_t validateEvery = 0; // steps; 0: at the end only
  uint64_t saveEvery = 0;     // steps; 0: at the end only
  BatchLimits limits;
};

enum class TrainingEnd { Finished, Stopped };

class Trainer {
public:
  // `stopRequested` is asked after every step.
  Trainer(Engine &engine, const ModelDescription &model, const Tokenizer &tokenizer, const SentencePairs &pairs,
          std::vector<Batch> validation, TrainerOptions options, std::function<bool()> stopRequested);

  // Draws the weights, or takes up a training where a checkpoint left it.
  Status begin();
  Status resume();
  uint64_t step() const { return taken; }

  Result<TrainingEnd> run(TrainingLog &log, Progress &progress);

private:
  Status prepare();
  Result<StepReport> takeStep();
  Status validate(TrainingLog &log, Progress &progress);
  Status save();

  Engine &engine;
  const ModelDescription &model;
  const Tokenizer &tokenizer;
  const SentencePairs &pairs;
  std::vector<Batch> validation;
  TrainerOptions options;
  std::function<bool()> stopRequested;
  BatchSource batches;
  std::string fingerprint;
  uint64_t taken = 0;
  bool resumed = false;
};

} // namespace heddle::run
