// The pass that lets sums over rows read what products read.
#ifndef HEDDLE_COMPILER_FUSION_READROUNDED_H
#define HEDDLE_COMPILER_FUSION_READROUNDED_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-read-rounded`, on func.func after `heddle-set-precision`: where a value has been rounded to 16 bits for a
/// product, its sums over rows, its comparisons with zero and attention's products of it with a gradient are of the
/// rounded value, and the one of 32 bits is often not written at all.
std::unique_ptr<Pass> createReadRoundedPass();
void registerReadRoundedPass();

} // namespace mlir::heddle

#endif
