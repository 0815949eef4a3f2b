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

/// Copies group `group` of eight elements (or the one element) of row `first` + `done` of a tile to a place in shared
/// memory.
void copyGroup(LaneBuilder &b, tile::CopyOp op, Value first, int64_t done, Value group, Value toRow, Value toColumn);

} // namespace mlir::heddle

#endif
