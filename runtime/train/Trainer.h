// The training loop: steps, validation, checkpoints, and a clean end at a signal.
#pragma once

#include "runtime/text/BatchSource.h"
#include "runtime/text/Lines.h"
#include "runtime/text/TextCodec.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/Evaluator.h"
#include "runtime/train/RankShare.h"
#include "runtime/train/TrainingObserver.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace heddle {

struct TrainerOptions {
  std::filesystem::path checkpoint;
  uint64_t steps = 100'000; // in all, those of a resumed training run counted
  uint64_t seed = 1;
  uint64_t microBatches = 1;  // more than one: gradients are summed over so many calls before a step is taken
  uint64_t validateEvery = 0; // steps; 0: at the end only
  uint64_t patience = 0;      // validations in a row without a better loss that end the run; 0: none do
  uint64_t saveEvery = 0;     // steps; 0: at the end, and where a validation is the best
  uint64_t keepLast = 1;      // checkpoints, beside the best
  uint64_t windowLines = BatchOptions().windowLines;
  std::string documents = {}; // how plain text is divided; empty for pairs
  BatchLimits limits;
  KernelProgress kernelProgress = {};
  // Of a resumed training run whose checkpoint, or whose base, is another model's.
  OtherMeaning others = OtherMeaning::Refuse;
  std::string base = {}; // where frozen weights come from, for messages
  // The ranks that each step is shared out to; null: this process alone. Only rank 0 validates, logs and writes
  // checkpoints, to which the others give their rows of a sharded optimizer.
  Ranks *ranks = nullptr;
};

// What a training run works with. All of it outlives the trainer.
struct TrainingInputs {
  const ModelDescription &model;
  const TextCodec &vocabulary;
  const ExampleBlocks &corpus;
  const std::vector<Batch> &validation; // may be empty
  // What to translate at each validation, for a BLEU; may be empty.
  const ParallelText &validationText;
};

enum class TrainingEnd {
  Finished, // all steps are taken
  Stopped,  // as was requested
  Patience, // validation gets no better
};

class Trainer {
public:
  // `stopRequested` is asked after every step.
  Trainer(Engine &engine, TrainingInputs inputs, TrainerOptions options, std::function<bool()> stopRequested);

  // Draws the weights, or continues a training run from its newest checkpoint.
  Status begin();
  Status resume();
  // Gives all ranks the state that rank 0 has, except a sharded optimizer's. Comes after begin() or resume(), and after
  // weights were loaded.
  Status share();
  uint64_t step() const { return taken; }
  uint64_t seed() const { return options.seed; } // the checkpoint's where it goes on from one
  const ValidationRecord &validations() const { return validated; }
  uint64_t skippedSteps() const { return skipped; } // until the last step of this run: their gradients overflowed

  // Comes after begin() or resume(). Ends with a checkpoint of the last step, unless it fails: then the checkpoint
  // before stays. A loss that is not finite or explodes is a failure. So is, before the first step, a folder that
  // cannot be written to, or that holds another training run (setAside).
  Result<TrainingEnd> run(TrainingObserver &observer);

private:
  Status prepare(bool fresh); // fresh: the weights are to be drawn
  uint32_t rankCount() const { return options.ranks ? options.ranks->ranks() : 1; }
  bool isFirst() const { return !options.ranks || options.ranks->isFirst(); }
  // Whether each rank takes whole batches of a step, rather than a part of each.
  bool sharesOutWholeBatches() const { return options.microBatches % rankCount() == 0; }
  uint64_t batchesOfRank() const {
    return sharesOutWholeBatches() ? options.microBatches / rankCount() : options.microBatches;
  }
  std::vector<std::string_view> entriesOfStep() const; // the first is called for each batch of this rank
  void busy(std::string_view what) const;              // for the other ranks
  void serveFrom(DataCursor cursor);
  nlohmann::json batching() const;
  // A step that the device works on: the host prepares the next one before it asks how this one went.
  struct StartedStep {
    StepReport report; // without what the device computes
    std::string_view lastEntry;
    std::vector<PendingTensor> losses;              // of the parts of the batch
    PendingTensor learningRate, lossScale, skipped; // the latter two where the model scales its loss
    std::chrono::steady_clock::time_point start;
  };
  Result<StartedStep> startStep();
  Result<StepReport> finishStep(StartedStep &step); // waits for it
  Status checkBase(const Manifest &manifest, const std::filesystem::path &checkpoint);
  Status checkLoss(double loss, std::string_view entry, uint64_t step) const;
  Result<bool> validate(TrainingObserver &observer); // whether it was the best
  Status save(TrainingObserver &observer);

  Engine &engine;
  TrainingInputs inputs;
  TrainerOptions options;
  std::function<bool()> stopRequested;
  CheckpointFolder checkpoints;
  std::unique_ptr<BatchSource> batches; // from begin() or resume() on
  ValidationRecord validated;
  uint64_t taken = 0, skipped = 0;
  std::chrono::steady_clock::time_point finished; // when a step was last waited for
  std::string baseHash;                           // of the frozen weights; empty if there are none
  bool resumed = false, hasFolder = false;        // hasFolder: run() has found that checkpoints can be written
  bool stopAgreed = false;                        // with other ranks: some rank was asked to stop
};

} // namespace heddle
