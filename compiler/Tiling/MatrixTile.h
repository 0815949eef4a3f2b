// How large the tiles of a matrix product are: by a model of their cost, or as measured.
#ifndef HEDDLE_COMPILER_TILING_MATRIXTILE_H
#define HEDDLE_COMPILER_TILING_MATRIXTILE_H

#include "compiler/Target/TargetProfile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::heddle {

/// A product of m x k by k x n at the maxima of its sizes. `vector` is how many neighbouring elements its matrices
/// allow to move at once.
struct Product {
  int64_t m, n, k;
  int64_t vector;
  bool transposeLhs, transposeRhs;
  bool widens = false; // operands of 16 bits, for which lanes need registers too

  /// "nt 2048x512x512 by 4": what a measured tile is filed under, after the target's name.
  std::string describe() const;
};

/// The part of a tile of the result that one lane computes. The lanes share out the columns of the tile, or its rows
/// where the right side is transposed; the other dimension lies whole in each of them.
struct MatrixTile {
  int64_t whole;       // elements of the dimension that every lane has
  int64_t distributed; // elements of the other that a lane has

  bool operator==(const MatrixTile &other) const = default;
};

/// The model's time for a product, in multiply-adds of one f32 in each lane. Per step of `vector` along the contracted
/// dimension a lane
///   - loads its own part of the distributed side, and its share of the other, which the lanes hand round;
///   - multiplies and adds its part of the tile;
/// there are as many steps as tiles need, and as many waves of workgroups as the device needs for the tiles.
double costOfTile(const TargetProfile &profile, const Product &product, MatrixTile tile);

/// The tiles that the cost model rates best, at most `count` of them, the best first.
std::vector<MatrixTile> candidateTiles(const TargetProfile &profile, const Product &product, size_t count);

/// A lane's part of a block, whose rows and columns lanes share out.
struct BlockTile {
  int64_t rows, columns;
};

/// The model's time for a product in blocks, in multiply-adds of one f32 in each lane. Per step of one along the
/// contracted dimension a lane multiplies and adds its part of the tile, reads its rows and columns of the operands
/// from shared memory, and brings its share of the tile's operands there; there are as many waves as with other tiles.
double costOfBlock(const TargetProfile &profile, const Product &product, BlockTile tile);

/// The part that the cost model rates best; nothing if the result is too small to share out in blocks, or the target
/// has no blocks.
std::optional<BlockTile> chooseBlock(const TargetProfile &profile, const Product &product);

/// A workgroup's tile on tensor cores: `rows` of each of `subgroups`, one below the other, by `columns`.
struct TensorTile {
  int64_t subgroups, rows, columns;

  int64_t allRows() const { return subgroups * rows; }
};

/// A product m x n of depth k on tensor cores, with operands of `bits` each. Each of `parts` of the contracted
/// dimension has workgroups of its own.
struct TensorProduct {
  int64_t m, n, k, bits, parts = 1;
};

/// Whether warpgroups make the product, whose operands tensor cores read from shared memory.
bool usesWarpgroups(const TargetProfile &profile, const TensorProduct &product);

/// The model's time for the product, in clocks for a depth of one. It is the longest of
///   - the multiplications of the tiles that one processor computes, one after the other;
///   - reading the operands of these tiles from shared memory, as often as subgroups or warpgroups need them;
///   - bringing them there from the cache that processors share, by what one of them and all together can get.
double costOfTensorTile(const TargetProfile &profile, const TensorProduct &product, TensorTile tile);

/// The tile that the cost model rates best; the smallest among equals.
TensorTile chooseTensorTile(const TargetProfile &profile, const TensorProduct &product);

/// Into how many parts to split the contracted dimension. Each part has workgroups of its own, and another launch adds
/// up their products. 1 unless the cost model expects that this saves at least a fifth of the time.
int64_t choosePartsOfDepth(const TargetProfile &profile, TensorProduct product);

/// Tiles that were measured, and the products that a compilation asked for.
struct TileChoices {
  std::map<std::string, MatrixTile> measured; // by TARGET + " " + Product::describe()
  std::map<std::string, Product> asked;       // likewise
};

/// The measured tile, or else the model's best. `choices` may be null.
MatrixTile chooseTile(const TargetProfile &profile, const Product &product, TileChoices *choices);

} // namespace mlir::heddle

#endif
