// The parts that kernels around a matmul share: the result tile that a workgroup computes, and the loop that computes
// it.
#pragma once

#include "compiler/Kernel/Tiling/Matmul/TileProduct.h"

#include <memory>

namespace mlir::heddle {

class ProductFrame {
public:
  /// Chooses how the matmul is computed, and sets the kernel's mapping and the first two axes of its grid. Parts of the
  /// K dimension have workgroups of their own, along the third axis. A step does not cross the groups of the right side's
  /// packed numbers if that is possible. With groups of rows, all that is emitted later is repeated for each group with
  /// rows in the workgroup's tile; if the groups' rows are contracted, each group has workgroups of its own, along the
  /// third axis.
  ProductFrame(KernelEmitter &emitter, MatmulShape shape);

  /// The workgroup's tile of the result. Valid after `finish`.
  const Place &place() const { return product->tile; }
  /// For a result that consists of the results of several matmuls, side by side, of `columns` columns each. Returns the
  /// number of the matmul to which the workgroup's tile belongs. From then on the tile's column counts from the first
  /// column of that matmul's result. Fails if a tile may have columns of two matmuls.
  FailureOr<Value> enterProduct(int64_t columns);
  /// The number of the workgroup's part of the K dimension. Null if there is only one.
  Value part() const { return ownPart; }
  /// The number of the group whose rows are computed. Null if there are no groups.
  Value group() const { return ownGroup; }

  /// The initial state, the next and the results, as in TileProduct.
  SmallVector<Value> zeros(bool withSums) { return product->zeros(withSums); }
  SmallVector<Value> accumulate(Value lhs, Value rhs, ValueRange state, Value shift = {});
  SmallVector<Value> finish(ValueRange state) { return product->finish(state); }
  /// Later calls of `accumulate` contract the rows of another matrix.
  void contract(const Matrix &contracted);
  /// Writes the sums of the right side's rows, from column `shift` of their matrix on. Only the workgroups of the first
  /// rows write them.
  void storeSums(Value result, Value sums, Value shift = {}) const;
  /// Lets the epilogue add up its rows on the way: a row of the partial sums for each subgroup of each tile of rows.
  LogicalResult sumRows(PartialSumsOp sums, const Matrix &result);

private:
  /// These set the grid, and return the first row and column of a workgroup's block. Everything that is emitted after
  /// `placeInGroups` is repeated for each tile of a persistent workgroup.
  std::pair<Value, Value> placeInStrips(const Matrix &result);
  std::pair<Value, Value> placeInGroups(const Matrix &result);
  /// Limits the loop over the K dimension to the workgroup's part.
  void takePart(int64_t parts);
  /// Begins the loop over the groups that have some of the block's rows, which begin at `row`. Returns the first of these
  /// rows in the loop's group, and the row after the last. Without groups, returns `row` and null.
  std::pair<Value, Value> enterGroup(const RowGroups &groups, const Matrix &result, Value row);
  /// Limits the loop over the K dimension to the rows of the workgroup's group.
  void contractGroup(const RowGroups &groups);
  /// The number of the tile of rows that `row` belongs to.
  Value tileOfRow(Value row) const;

  KernelEmitter &emitter;
  bool transposeLhs, transposeRhs;
  std::unique_ptr<TileProduct> product;
  DepthRange range = {};
  Value ownPart, ownGroup;
};

} // namespace mlir::heddle
