// The pass that keeps the weights' 16-bit copies from call to call.
#ifndef HEDDLE_COMPILER_FUSION_KEEPROUNDED_H
#define HEDDLE_COMPILER_FUSION_KEEPROUNDED_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// The entry that makes all of the copies.
inline constexpr StringLiteral kRoundEntry = "round_weights";

/// `heddle-keep-rounded`, on a module after `heddle-set-precision`: what weights are rounded to is a variable of its
/// own beside each of them. Entries read it; those that give the weight a new value give it one too; and an entry of
/// its own, kRoundEntry, makes all of them, for weights that come from elsewhere.
std::unique_ptr<Pass> createKeepRoundedPass();
void registerKeepRoundedPass();

} // namespace mlir::heddle

#endif
