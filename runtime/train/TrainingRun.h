// A training run, from its text to its checkpoints. `heddle-run train`, heddle_train() and Python's Model.train() run it.
#pragma once

#include "runtime/train/FolderLock.h"
#include "runtime/train/TextFiles.h"
#include "runtime/train/Trainer.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

// Error messages name an option by the flag of heddle-run: `microBatches` is --accumulate, `windowLines` is
// --shuffle-window, `others` is --force.
struct TrainingOptions : TrainerOptions {
  TrainingOptions() {
    validateEvery = saveEvery = 1'000;
    keepLast = 2;
  }

  TextFiles text, validation; // of the same kind; `validation` may be empty
  // A SentencePiece model, a published language model, or a checkpoint. Empty: the vocabulary of the checkpoint, the
  // base, the weights or the artifact, the first that there is; otherwise it is learnt from the text.
  std::string vocabulary;
  std::string vocabularyType = "bpe"; // of a vocabulary that is learnt: bpe, unigram or word
  std::string weights;                // a checkpoint or published model to begin with; empty: weights are drawn
  std::string chatTemplate;           // of records with messages; empty: the model's
  int64_t batchSequences = 0, batchTokens = 0; // 0: the maximum that the model was compiled for
  bool resume = false;
  bool validateBleu = false; // also translate the validation text at each validation
  // Called after every step. If it returns true, the run writes a checkpoint and ends.
  std::function<bool()> stopRequested = [] { return false; };
};

class TrainingRun {
public:
  // Checks the options, and locks the folder of the checkpoints. Reads no text yet.
  static Result<std::unique_ptr<TrainingRun>> open(TrainingOptions options);

  // Reads the text, finds or learns the vocabulary, and loads the frozen weights that an adapter belongs to. The engine
  // must outlive the run.
  Status readText(SessionEngine &engine);
  // After readText(): initializes or loads weights and optimizer state, and sets an earlier training run in the folder
  // aside. If it fails, the folder is unchanged.
  Status begin();
  // After begin(): trains, and writes checkpoints as Trainer::run() does.
  Result<TrainingEnd> run(TrainingObserver &observer) { return taking->run(observer); }

  // The options and inputs of the trainer. After readText().
  const TrainerOptions &trainerOptions() const { return options; }
  TrainingInputs inputs() const { return {model, *vocabulary, *corpus, validation, validationText}; }
  // After begin().
  const Trainer &trainer() const { return *taking; }
  // Whether a resumed run has already taken all its steps: run() then returns at once.
  bool isDone() const { return taking->step() >= options.steps; }

private:
  explicit TrainingRun(TrainingOptions options) : options(std::move(options)) {}

  bool isFirst() const { return !options.ranks || options.ranks->isFirst(); }
  std::filesystem::path spoolFolder() const;
  Status setLimits();
  Result<std::unique_ptr<TextCodec>> makeVocabulary() const;
  Result<std::unique_ptr<TextCodec>> learnVocabulary() const;
  Status addLabels(std::vector<std::string> labels);
  Status readValidation(const ConversationReader &chat);
  Status checkText() const;
  Status checkRanks() const;
  void describeState() const;
  Status setEarlierAside();
  Status comparePooling() const;

  TrainingOptions options;
  std::optional<FolderLock> lock; // only on the first rank
  SessionEngine *engine = nullptr;
  ModelDescription model;
  std::optional<LineBlocks> text;
  std::unique_ptr<TextCodec> vocabulary;
  std::unique_ptr<ExampleBlocks> corpus;
  std::vector<Batch> validation;
  ParallelText validationText;
  std::optional<ReferenceScores> reference; // of pairs of answers
  std::optional<Trainer> taking;
};

} // namespace heddle
