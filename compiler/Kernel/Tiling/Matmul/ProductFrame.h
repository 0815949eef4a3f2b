// The parts that kernels around a matmul share: the result tile that a workgroup computes, and the loop that computes
// it.
#pragma once

#include "compiler/Kernel/Tiling/Matmul/IntegerProduct.h"
#include "compiler/Kernel/Tiling/Matmul/PackedProduct.h"
#include "compiler/Kernel/Tiling/Matmul/StreamedProduct.h"

namespace mlir::heddle {

/// The groups of rows of a grouped matmul: group g begins at row `starts`[g] of the left side. The default has none.
struct RowGroups {
  Value starts;
  int64_t count = 0;
};

class ProductFrame {
public:
  /// A matmul that contracts the rows of `contracted` and computes `result`. Sets the kernel's mapping and the first
  /// two axes of its grid. `loops` loops over the K dimension share the target's limit on iterations.
  /// If `tensorBits` is not 0, tensor cores multiply operands of that many bits. Each of `parts` parts of the K
  /// dimension has workgroups of its own, along the third axis. A step does not cross the groups of `rhs` if that is
  /// possible. `moved`: rows of the left side are read at an offset. With `groups`, all that is emitted later is repeated
  /// for each group with rows in the workgroup's tile; if the groups' rows are contracted, each group has workgroups of
  /// its own, along the third axis.
  ProductFrame(KernelEmitter &emitter, bool transposeLhs, bool transposeRhs, const Matrix &contracted,
               const Matrix &result, int64_t loops = 1, int64_t tensorBits = 0, int64_t parts = 1,
               const RightSide &rhs = {}, bool moved = false, const RowGroups &groups = {});

  /// The workgroup's tile of the result. Valid after `finish`.
  const Place &place() const { return tile; }
  /// For a result that consists of the results of several matmuls, side by side, of `columns` columns each. Returns the
  /// number of the matmul to which the workgroup's tile belongs. From then on the tile's column counts from the first
  /// column of that matmul's result. Fails if a tile may have columns of two matmuls.
  FailureOr<Value> enterProduct(int64_t columns);
  /// The number of the workgroup's part of the K dimension. Null if there is only one.
  Value part() const { return ownPart; }
  /// The number of the group whose rows are computed. Null if there are no groups.
  Value group() const { return ownGroup; }

  /// Returns the initial state: a zero accumulator and, with `withSums`, zero sums of the right side's rows.
  SmallVector<Value> zeros(bool withSums);
  /// Later calls of `accumulate` contract the rows of another matrix.
  void contract(const Matrix &contracted);
  /// Returns `state` plus the product. The right matrix begins at row `shift` of its memory, if there is one.
  SmallVector<Value> accumulate(Value lhs, Value rhs, ValueRange state, Value shift = {});
  /// Returns the product, and the sums of the right side's rows if `zeros` was asked for them. A thread's workgroup
  /// begins the loops over its tiles here: everything emitted later is inside them.
  SmallVector<Value> finish(ValueRange state);
  /// Writes the sums of the right side's rows, from column `shift` of their matrix on. Only the workgroups of the first
  /// rows write them.
  void storeSums(Value result, Value sums, Value shift = {}) const;
  /// Lets the epilogue add up its rows on the way: a row of the partial sums for each subgroup of each tile of rows.
  LogicalResult sumRows(PartialSumsOp sums, const Matrix &result);

private:
  /// The rows that a word of packed numbers may hold.
  static constexpr int64_t kPackedStep = 8;
  /// The right side is prefetched this many steps before it is used: the processor would wait at the beginning of each
  /// run, and for several rows a step has so much arithmetic that the next step's loads would begin late.
  static constexpr int64_t kStepsAhead = 2;

  /// These set the mapping and `step`, and return the rows and columns of the workgroup's tile. `chooseBlocks` returns
  /// nothing if the matmul is not computed in blocks. `chooseFragments` sets `isPersistent` if workgroups can compute
  /// several tiles.
  std::optional<std::pair<int64_t, int64_t>> chooseBlocks(const Matrix &result, int64_t loops, bool moved);
  std::pair<int64_t, int64_t> chooseRegisters(const Matrix &contracted, const Matrix &result, int64_t loops,
                                              const RightSide &rhs);
  /// These set the grid, and return the first row and column of a workgroup's tile. With `sharesLeft`, consecutive
  /// workgroups have the same rows, whose digits are then computed once. Everything that is emitted after `placeInGroups` is
  /// repeated for each tile of a persistent workgroup.
  std::pair<Value, Value> placeInStrips(const Matrix &result, int64_t rows, int64_t columns, bool sharesLeft = false);
  std::pair<Value, Value> placeInGroups(const Matrix &result, int64_t rows, int64_t columns);
  std::pair<int64_t, int64_t> chooseFragments(const Matrix &result, int64_t operandBits, int64_t parts);
  /// Limits the loop over the K dimension to the workgroup's part.
  void takePart(int64_t parts);
  /// Begins the loop over the groups that have some of the `rows` rows from `row` on. Returns the first of these rows
  /// in the loop's group, and the row after the last. Without groups, returns `row` and null.
  std::pair<Value, Value> enterGroup(const RowGroups &groups, const Matrix &result, Value row, int64_t rows);
  /// Limits the loop over the K dimension to the rows of the workgroup's group.
  void contractGroup(const RowGroups &groups);
  bool isOfThread() const { return emitter.getProfile().registers > 0 && !transposeRhs; }
  /// Returns true if a thread's tile may read past the ends of the right side's rows, except for the last row.
  bool readsPastRows(Value rhs) const;
  Value sumOfRows(Value rows) const;
  /// The number of the tile of rows that `row` belongs to.
  Value tileOfRow(Value row) const;
  Value multiplyFragments(Value lhs, const Place &lhsPlace, Value rhs, const Place &rhsPlace, Value accumulator,
                          Padding padding) const;

  // PackedNumbers.cpp
  bool hasScalesOfColumns(DequantizeOp unpacked) const;
  Value scaleColumns(Value total, DequantizeOp unpacked) const;
  bool isWithinGroup(DequantizeOp unpacked, int64_t length) const;
  Value dot(Value left, Value right, Value start) const;
  Value totalOf(Value left, DequantizeOp unpacked) const;
  Value addGroup(Value sum, Value product, Value total, DequantizeOp unpacked, const Place &place) const;
  void addIntegers(Value lhs, DequantizeOp unpacked, Value shift, bool scalesAll);
  void addStreamed(Value left, DequantizeOp unpacked, const Place &step, bool scalesAll);

  KernelEmitter &emitter;
  bool transposeLhs, transposeRhs, fragments, blocks = false;
  int64_t depth, step = 1;
  Value begin, end, depthLimit, ownPart, ownGroup;
  Value partBegin;                         // start of the part, if `begin` and `end` count from there
  mutable Value sharedRows;                // shared by all parts of a kernel, see sumOfRows
  std::optional<PackedProduct> packed;     // only for threads, as is the next
  std::optional<StreamedProduct> streamed; // for few rows
  bool hasAccumulated = false;
  bool isPersistent = false; // a workgroup computes several tiles
  Place tile;
};

} // namespace mlir::heddle
