// Makes one op of the projections of an attention's input. Flag: heddle-fuse-projections.
#ifndef HEDDLE_COMPILER_FUSION_FUSEPROJECTIONS_H
#define HEDDLE_COMPILER_FUSION_FUSEPROJECTIONS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Makes one `heddle.project` of the linear transformations with which an attention begins, where they have the same
/// input, and stores their weights together. Runs before `differentiate`, so that the backward is one op as well.
std::unique_ptr<Pass> createFuseProjectionsPass();
void registerFuseProjectionsPass();

} // namespace mlir::heddle

#endif
