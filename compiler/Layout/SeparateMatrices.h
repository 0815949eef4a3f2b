// Which tiles of a kernel are cooperative matrices.
#ifndef HEDDLE_COMPILER_LAYOUT_SEPARATEMATRICES_H
#define HEDDLE_COMPILER_LAYOUT_SEPARATEMATRICES_H

#include "dialects/Tile/Tile.h"

namespace mlir::heddle {

/// Places a tile.convert_layout wherever a tile of cooperative matrices meets an op that does not work on them, and
/// where a product takes what such an op has made. The kernel's tiles have no layouts yet.
void separateMatrices(tile::FuncOp kernel);

} // namespace mlir::heddle

#endif
