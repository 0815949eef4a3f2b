// How large the tiles of a matrix product are.
#ifndef HEDDLE_COMPILER_TILING_MATRIXTILE_H
#define HEDDLE_COMPILER_TILING_MATRIXTILE_H

#include "compiler/Target/TargetProfile.h"

namespace mlir::heddle {

/// The part of a tile of the result that one lane computes. The lanes share out one dimension of the tile; the other lies
/// whole in each of them.
struct MatrixTile {
  int64_t whole; // elements of the dimension that every lane has
  int64_t dealt; // elements of the other that a lane has
};

/// The tile for which the cost model promises the least time. The product's result has `wholeExtent` x `dealtExtent`
/// elements and contracts `depth`; a lane takes elements of the dealt dimension `unit` at a time. Per step of `vector` along the contracted dimension a lane
///   - loads its own part of the dealt side, and its share of the other, which the lanes hand round;
///   - multiplies and adds its part of the tile;
/// and there are as many steps as tiles need, in as many waves as the device needs for the tiles.
MatrixTile chooseMatrixTile(const TargetProfile &profile, int64_t vector, int64_t unit, int64_t wholeExtent,
                            int64_t dealtExtent, int64_t depth);

/// The model's time for one tile, in multiply-adds of one f32 in each lane.
double costOfTile(const TargetProfile &profile, int64_t vector, MatrixTile tile, int64_t depth);

} // namespace mlir::heddle

#endif
