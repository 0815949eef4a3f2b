// Receives the progress of a training run, to display, log or plot it.
#pragma once

#include "runtime/core/Log.h"
#include "runtime/core/Status.h"
#include "runtime/train/Evaluator.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

struct StepReport {
  uint64_t step = 0;
  uint64_t epoch = 0;
  double loss = 0; // mean over target tokens or labels, as trained: with label smoothing and dropout
  double learningRate = 0;
  int64_t sourceTokens = 0, targetTokens = 0, labels = 0, sentences = 0; // sentences: sentence pairs
  int64_t predictions = 0;                                               // tokens or labels that the loss counts
  double seconds = 0;
  double dataSeconds = 0; // part of `seconds` spent waiting for text
  double lossScale = 0;   // used for the next step; 0: the loss is not scaled
  uint64_t skipped = 0;   // total steps skipped because gradients overflowed; they changed nothing

  double tokensPerSecond() const { return seconds > 0 ? double(sourceTokens + targetTokens) / seconds : 0; }
};

// A line of the log of a training run: an object of JSON, for a step with "step", "loss", "learning_rate",
// "tokens_per_second", ..., for a validation with "step", "validation_loss" and "validation_perplexity" or other
// measures.
std::string describeAsJson(const StepReport &report);
std::string describeAsJson(uint64_t step, const EvaluationResult &result);

// The training thread calls all functions. An error ends the training run, which returns it. With several ranks, every
// rank's observer is told of steps and of the start of validations; only rank 0's is told of results and checkpoints.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;

  // Called before a step, a validation, and the writing of a checkpoint.
  virtual Status beginStep() { return Success(); }
  virtual void beginValidation() {}
  virtual void beginCheckpoint() {}

  // Called after each step, in order. The device may already be computing the next one.
  virtual Status step(const StepReport &) { return Success(); }
  // Called after the validation that follows this step; `isBest`: no earlier loss was lower.
  virtual Status validation(uint64_t step, const EvaluationResult &result, bool isBest) {
    (void)step, (void)result, (void)isBest;
    return Success();
  }

  // A remark for the user, for example about text that was left out.
  virtual void remark(LogLevel level, std::string_view text) { log(level, text); }
};

} // namespace heddle
