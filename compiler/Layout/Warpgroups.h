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

/// The number of the warpgroup that `lane` belongs to, in a workgroup of `workgroup` lanes. It comes from the first
/// lane of the subgroup by a shuffle, so that ptxas knows it to be the same in all lanes. Without the shuffle, ptxas
/// makes each descriptor again in every step of a loop.
Value findWarpgroup(ImplicitLocOpBuilder &b, Value lane, int64_t workgroup);

} // namespace mlir::heddle

#endif
