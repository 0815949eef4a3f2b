// Helpers for operands that tensor cores read directly from shared memory, in one lane.
#pragma once

#include "compiler/Lanes/Lanes.h"

namespace mlir::heddle {

/// Makes the lane's writes to shared memory visible to tensor cores that read them after the next barrier.
void fenceOperands(OpBuilder &builder, Location loc);

/// The number of the warpgroup that `lane` belongs to, in a workgroup of `workgroup` lanes. A shuffle takes it from the
/// first lane of the subgroup, so that ptxas knows that it is the same in all lanes. Otherwise ptxas computes each
/// descriptor again in every step of a loop.
Value findWarpgroup(ImplicitLocOpBuilder &b, Value lane, int64_t workgroup);

} // namespace mlir::heddle
