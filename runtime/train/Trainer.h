// The training loop: steps, validation, checkpoints, and a clean stop on request.
#pragma once

#include "runtime/data/BatchSource.h"
#include "runtime/text/Lines.h"
#include "runtime/tokenizers/TextCodec.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/Evaluator.h"
#include "runtime/train/Preferences.h"
#include "runtime/train/RankShare.h"
#include "runtime/train/TrainingObserver.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

struct TrainerOptions {
  std::filesystem::path checkpoint;
  uint64_t steps = 100'000;          // in total, including the steps before a resume
  std::optional<uint64_t> seed = {}; // nullopt: 1; resume() takes the checkpoint's
  uint64_t microBatches = 1;         // gradients are summed over this many batches per step
  uint64_t validateEvery = 0;        // steps; 0: only at the end
  uint64_t patience = 0;  // ends the run after this many validations in a row without a better loss; 0: never
  uint64_t saveEvery = 0; // steps; 0: only at the end, and after the best validations
  uint64_t keepLast = 1;  // checkpoints, in addition to the best
  uint64_t windowLines = BatchOptions().windowLines;
  std::string documents = {}; // how plain text is divided into examples; empty for sentence pairs
  BatchLimits limits;
  KernelProgress kernelProgress = {};
  // Whether resume() accepts a checkpoint or base of another model.
  OtherMeaning others = OtherMeaning::Refuse;
  std::string base = {}; // source of the frozen weights, for messages
  // The ranks that share the work of each step; null: only this process. Only rank 0 validates, logs and writes
  // checkpoints; the others send it their rows of a sharded optimizer.
  Ranks *ranks = nullptr;
};

// The inputs of a training run. All of them must outlive the trainer.
struct TrainingInputs {
  const ModelDescription &model;
  const TextCodec &vocabulary;
  const ExampleBlocks &corpus;
  const std::vector<Batch> &validation; // may be empty
  // Text to translate at each validation, for BLEU; may be empty.
  const ParallelText &validationText;
};

enum class TrainingEnd {
  Finished, // all steps were taken
  Stopped,  // a stop was requested
  Patience, // `patience` is exhausted
};

class Trainer {
public:
  // `stopRequested` is called after every step.
  Trainer(Engine &engine, TrainingInputs inputs, TrainerOptions options, std::function<bool()> stopRequested);

  // begin() initializes the weights; resume() continues from the newest checkpoint of the training run.
  Status begin();
  Status resume();
  // Copies rank 0's state to all ranks, except sharded optimizer state. Call it after begin() or resume(), and after
  // loading weights.
  Status share();
  // For a model that is trained on pairs of answers: call it before run(). The scores must outlive the trainer.
  void setReference(const ReferenceScores &scores) { reference = &scores; }
  uint64_t step() const { return taken; }
  uint64_t seed() const { return options.seed.value_or(1); } // after resume(), the checkpoint's seed
  const ValidationRecord &validations() const { return validated; }
  uint64_t skippedSteps() const { return skipped; } // steps skipped so far because gradients overflowed

  // Call after begin() or resume(). Ends by writing a checkpoint of the last step. If it fails, the previous checkpoint
  // stays. It fails if a loss is not finite or explodes, and, before the first step, if the folder is not writable or
  // holds another training run (setAside).
  Result<TrainingEnd> run(TrainingObserver &observer);

private:
  Status prepare(bool fresh); // fresh: init will initialize the weights
  uint32_t rankCount() const { return options.ranks ? options.ranks->ranks() : 1; }
  bool isFirst() const { return !options.ranks || options.ranks->isFirst(); }
  // Returns true if each rank takes whole batches of a step, rather than a part of every batch.
  bool sharesOutWholeBatches() const { return options.microBatches % rankCount() == 0; }
  uint64_t batchesOfRank() const {
    return sharesOutWholeBatches() ? options.microBatches / rankCount() : options.microBatches;
  }
  std::vector<std::string_view> entriesOfStep() const; // the first entry runs once for each batch of this rank
  void busy(std::string_view what) const;              // tells the other ranks what this rank is doing
  void serveFrom(DataCursor cursor);
  nlohmann::json batching() const;
  // A step that the device is computing. The host prepares the next step before it waits for this one.
  struct StartedStep {
    StepReport report; // without the values that the device computes
    std::string_view lastEntry;
    std::vector<PendingTensor> losses;              // one for each batch of this rank
    PendingTensor learningRate, lossScale, skipped; // the last two only if the model scales its loss
    std::chrono::steady_clock::time_point start;
  };
  Result<StartedStep> startStep();
  Result<StepReport> finishStep(StartedStep &step); // waits for the step
  Status checkBase(const Manifest &manifest, const std::filesystem::path &checkpoint);
  Status checkLoss(double loss, std::string_view entry, uint64_t step) const;
  Result<bool> validate(TrainingObserver &observer); // returns true if it was the best
  Status save(TrainingObserver &observer);

  Engine &engine;
  TrainingInputs inputs;
  TrainerOptions options;
  std::function<bool()> stopRequested;
  std::optional<PreferenceLoss> preference; // of a model that is trained on pairs of answers
  const ReferenceScores *reference = nullptr;
  CheckpointFolder checkpoints;
  std::unique_ptr<BatchSource> batches; // set by begin() or resume()
  ValidationRecord validated;
  uint64_t taken = 0, skipped = 0;
  std::chrono::steady_clock::time_point finished; // when the host last finished waiting for a step
  std::string baseHash;                           // of the frozen weights; empty if there are none
  bool resumed = false, hasFolder = false;        // hasFolder: run() has checked that checkpoints can be written
  bool stopAgreed = false;                        // with several ranks: some rank was asked to stop
};

} // namespace heddle
