// What a training run tells as it goes: a program shows it, logs it, or draws curves of it.
#pragma once

#include "runtime/core/Log.h"
#include "runtime/core/Status.h"
#include "runtime/train/Evaluator.h"

#include <cstdint>
#include <string_view>

namespace heddle {

struct StepReport {
  uint64_t step = 0;
  uint64_t epoch = 0;
  double loss = 0; // per target token or label, as trained: with label smoothing and dropout
  double learningRate = 0;
  int64_t sourceTokens = 0, targetTokens = 0, labels = 0, sentences = 0; // sentences: pairs of them
  int64_t predictions = 0;                                               // tokens or labels that the loss is of
  double seconds = 0;
  double dataSeconds = 0; // of them, waiting for text
  double lossScale = 0;   // for the next step; 0: the loss is not scaled
  uint64_t skipped = 0;   // steps in all whose gradients overflowed, and which changed nothing

  double tokensPerSecond() const { return seconds > 0 ? double(sourceTokens + targetTokens) / seconds : 0; }
};

// All functions are called by the thread that trains. An error ends the training run, which returns it. Of several
// ranks all are told of steps and of the beginning of validations; the first alone of their results and of checkpoints.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;

  // Before a step, a validation and the writing of a checkpoint.
  virtual Status beginStep() { return Success(); }
  virtual void beginValidation() {}
  virtual void beginCheckpoint() {}

  // After a step, in their order: the device may work on the next one already.
  virtual Status step(const StepReport &) { return Success(); }
  // After a validation behind this step; `isBest`: no loss before was lower.
  virtual Status validation(uint64_t step, const EvaluationResult &result, bool isBest) {
    (void)step, (void)result, (void)isBest;
    return Success();
  }

  // A remark for people: of text that was left out, for example.
  virtual void remark(LogLevel level, std::string_view text) { log(level, text); }
};

} // namespace heddle
