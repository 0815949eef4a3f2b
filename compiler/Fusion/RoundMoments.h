// Adam's moments in bf16.
#ifndef HEDDLE_COMPILER_FUSION_ROUNDMOMENTS_H
#define HEDDLE_COMPILER_FUSION_ROUNDMOMENTS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-round-moments`, on a differentiated module whose variables are stored as they will be: both moments of each matrix are of
/// bf16, and its update rounds them at random (`heddle.adam`). Those of vectors stay f32, and those of matrices with an odd number of
/// columns or a number of elements that is no multiple of 128. Where no moment can be of bf16 the pass fails.
std::unique_ptr<Pass> createRoundMomentsPass();
void registerRoundMomentsPass();

} // namespace mlir::heddle

#endif
