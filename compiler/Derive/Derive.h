// Derive: the entries of an artifact are made of the model's functions, which say once what the model computes. README.md
// beside this file says what goes in and what comes out.
#ifndef HEDDLE_COMPILER_DERIVE_DERIVE_H
#define HEDDLE_COMPILER_DERIVE_DERIVE_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `train_step`, `accumulate_step`, `apply_step` and `eval`, with the state that they need. With `ranks` there are also
/// `parallel_train_step` and `parallel_apply_step`, which several ranks run together. Flag: heddle-derive-training.
std::unique_ptr<Pass> createDeriveTrainingPass(bool ranks = false);
void registerDeriveTrainingPass();

/// `logits`; of an encoder alone `encode`. Flag: heddle-derive-evaluation.
std::unique_ptr<Pass> createDeriveEvaluationPass();
void registerDeriveEvaluationPass();

/// `encode`, `decode_step` and `beam_step`, with their caches. Flag: heddle-derive-decoding.
std::unique_ptr<Pass> createDeriveDecodingPass();
void registerDeriveDecodingPass();

/// `explain`: the weights of every attention. Flag: heddle-derive-explanation.
std::unique_ptr<Pass> createDeriveExplanationPass();
void registerDeriveExplanationPass();

/// `init`; and the model's functions go. Flag: heddle-derive-init.
std::unique_ptr<Pass> createDeriveInitPass();
void registerDeriveInitPass();

} // namespace mlir::heddle

#endif
