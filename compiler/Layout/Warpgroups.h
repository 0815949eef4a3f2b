// Operands that tensor cores read from shared memory by themselves, in one lane.
#ifndef HEDDLE_COMPILER_LAYOUT_WARPGROUPS_H
#define HEDDLE_COMPILER_LAYOUT_WARPGROUPS_H

#include "compiler/Layout/Lanes.h"

namespace mlir::heddle {

/// Whether shared memory is in the order in which warpgroups read it.
inline bool isWarpgroupOperand(Value memory) {
  auto shared = memory.getDefiningOp<tile::SharedOp>();
  return shared && shared.getPanels();
}

/// Makes what the lane has written to shared memory visible to tensor cores that read it behind the next barrier.
void fenceOperands(OpBuilder &builder, Location loc);

/// Where group `group` of eight elements of row `row` of a copied tile lies in memory with panels: in elements from the
/// tile's first row on, as if its rows were one.
Value placeInPanels(LaneBuilder &b, tile::CopyOp op, Value row, Value group);

/// The warpgroup of `lane`, of a workgroup of so many lanes, from the first lane of its subgroup: of a number that
/// lanes compute alone ptxas does not know that it is the same in all of them. It then makes descriptors anew from the
/// first lane's in every step of a loop, and keeps them in no uniform register behind a branch.
Value findWarpgroup(ImplicitLocOpBuilder &b, Value lane, int64_t workgroup);

} // namespace mlir::heddle

#endif
