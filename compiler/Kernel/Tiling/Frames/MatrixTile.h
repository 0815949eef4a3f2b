// The sizes of a matmul's tiles: chosen by a cost model, or measured.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::heddle {

/// A matmul of m x k by k x n at the maxima of its sizes. `vector` is the number of adjacent elements that its matrices
/// allow to move at once.
struct Product {
  int64_t m, n, k;
  int64_t vector;
  bool transposeLhs, transposeRhs;
  bool widens = false; // 16-bit operands, whose f32 copies need registers too
  int64_t panel = 0;   // columns of a panel of the right side, which a thread's tile does not cross; 0: no panels

  /// Returns the key of a measured tile, after the target's name: "nt 2048x512x512 by 4".
  std::string describe() const;
};

/// The part of a result tile that one lane computes. Lanes share the columns of the tile, or its rows if the right side
/// is transposed. Each lane has the whole extent of the other dimension.
struct MatrixTile {
  int64_t whole;       // elements along the dimension that each lane has whole
  int64_t distributed; // elements of a lane along the dimension that lanes share

  bool operator==(const MatrixTile &other) const = default;
};

/// The model's time for a matmul, in multiply-adds of one f32 in each lane. In each step of `vector` along the K
/// dimension a lane
///   - loads its own part of the distributed side, and its share of the other side, which the lanes exchange;
///   - multiplies and adds its part of the tile.
/// This is multiplied by the steps of a tile, and by the waves of workgroups that the device needs for all tiles.
double costOfTile(const TargetProfile &profile, const Product &product, MatrixTile tile);

/// Returns the tiles that the cost model rates best, at most `count` of them, the best first.
std::vector<MatrixTile> candidateTiles(const TargetProfile &profile, const Product &product, size_t count);

/// A lane's part of a block. Lanes share the block's rows and columns.
struct BlockTile {
  int64_t rows, columns;
};

/// The model's time for a matmul in blocks, in multiply-adds of one f32 in each lane. In each step of one along the K
/// dimension a lane multiplies and adds its part of the tile, reads its rows and columns of the operands from shared
/// memory, and copies its share of the tile's operands there. Waves count as for other tiles.
double costOfBlock(const TargetProfile &profile, const Product &product, BlockTile tile);

/// Returns the part that the cost model rates best. Nothing if the result is too small for blocks, or if the target has
/// no blocks.
std::optional<BlockTile> chooseBlock(const TargetProfile &profile, const Product &product);

/// A workgroup's tile on tensor cores: `rows` rows for each of `subgroups` subgroups, one below the other, by
/// `columns`.
struct TensorTile {
  int64_t subgroups, rows, columns;

  int64_t allRows() const { return subgroups * rows; }
};

/// A matmul on tensor cores with an m x n result and depth k. Operands have `bits` bits. Each of `parts` parts of the K
/// dimension has workgroups of its own.
struct TensorProduct {
  int64_t m, n, k, bits, parts = 1;
  bool sumsRows = false; // its epilogue makes a sum for the rows of each subgroup (heddle-join-sums)
};

/// Returns true if warpgroups compute the matmul. Tensor cores then read its operands from shared memory.
bool usesWarpgroups(const TargetProfile &profile, const TensorProduct &product);

/// The model's time for the matmul, in clocks for a depth of one. It is the longest of
///   - the multiplications of the tiles that one processor computes, one after the other;
///   - reading the operands of these tiles from shared memory, as often as subgroups or warpgroups need them;
///   - copying the operands there from the cache that processors share, at the rate that one processor, or all of them
///     together, can get.
double costOfTensorTile(const TargetProfile &profile, const TensorProduct &product, TensorTile tile);

/// Returns the tile that the cost model rates best. Among equals, the smallest, or the one with the most rows if rows are
/// added up.
TensorTile chooseTensorTile(const TargetProfile &profile, const TensorProduct &product);

/// Returns true if a launch has a workgroup for each processor, which computes tile after tile of the result, so that
/// some of its lanes can only copy operands (heddle-specialize-warps).
bool isPersistent(const TargetProfile &profile, const TensorProduct &product, TensorTile tile);

/// Returns the number of parts into which to split the K dimension. Each part has workgroups of its own, and another
/// launch adds up their results. Returns 1 unless the cost model expects to save at least a fifth of the time.
int64_t choosePartsOfDepth(const TargetProfile &profile, const TensorProduct &product);

/// Returns true if a launch can compute `count` matmuls like `product`, and takes no longer than launches for each. The
/// results lie side by side, as if they were one, and each tile belongs to one of them.
bool mayShareLaunch(const TargetProfile &profile, const TensorProduct &product, int64_t count);

/// Returns how many matmuls like `product`, at most `most`, a launch should compute if their epilogues become launches of
/// their own. Returns 1 unless the cost model expects to save at least a twentieth of the time, even if the K dimension
/// of each could be split.
int64_t chooseProductsOfLaunch(const TargetProfile &profile, const TensorProduct &product, int64_t most);

/// Measured tiles, and the matmuls that a compilation asked for.
struct TileChoices {
  std::map<std::string, MatrixTile> measured; // by TARGET + " " + Product::describe()
  std::map<std::string, Product> asked;       // likewise
};

/// Returns the measured tile, or else the model's best. `choices` may be null.
MatrixTile chooseTile(const TargetProfile &profile, const Product &product, TileChoices *choices);

} // namespace mlir::heddle
