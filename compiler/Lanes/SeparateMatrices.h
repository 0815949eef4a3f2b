// Decides which tiles of a kernel are cooperative matrices.
#pragma once

#include "dialects/Tile/Tile.h"

namespace mlir::heddle {

/// Returns true if a load or store can move matrices: whole tiles, from or to shared memory.
template <typename Op> bool movesMatrices(Op op) {
  return tile::isShared(op.getMemory().getType()) && !op.getRowLimit() && !op.getColumnLimit();
}

/// Inserts a tile.convert_layout wherever an op that does not work on cooperative matrices uses a tile of them, and
/// where a product uses a tile that such an op makes. The kernel's tiles have no layouts yet.
void separateMatrices(tile::FuncOp kernel);

} // namespace mlir::heddle
