// What kernels around a matrix product share: the tile of the result that a workgroup makes, and the loop that makes
// it.
#ifndef HEDDLE_COMPILER_TILING_PRODUCTFRAME_H
#define HEDDLE_COMPILER_TILING_PRODUCTFRAME_H

#include "compiler/Tiling/PackedProduct.h"

namespace mlir::heddle {

class ProductFrame {
public:
  /// A product that contracts the rows of `contracted` and makes `result`; sets the kernel's mapping and the first two
  /// axes of its grid. `loops` loops over the contracted dimension share the target's limit on iterations.
  /// Operands of `tensorBits` bits, if those are not 0, are multiplied on tensor cores. Each of `parts` of the
  /// contracted dimension has workgroups of its own, along the third axis. `group`: of rows of the right side, in whole
  /// steps of which it has to be taken. `moved`: rows of the left side stand elsewhere.
  ProductFrame(KernelEmitter &emitter, bool transposeLhs, bool transposeRhs, const Matrix &contracted,
               const Matrix &result, int64_t loops = 1, int64_t tensorBits = 0, int64_t parts = 1,
               std::optional<int64_t> group = {}, bool moved = false);

  /// The workgroup's tile of the result: valid after `finish`.
  const Place &place() const { return tile; }
  /// The number of the workgroup's part of the contracted dimension; null where there is one.
  Value part() const { return ownPart; }

  /// The state to begin with: the product, and the sums of the right side's rows if they are wanted.
  SmallVector<Value> zeros(bool withSums);
  /// Products after this contract the rows of another matrix.
  void contract(const Matrix &contracted);
  /// `state` plus the product. Of the right side the matrix begins at row `shift`, if there is one.
  SmallVector<Value> accumulate(Value lhs, Value rhs, ValueRange state, Value shift = {});
  /// The product, and the sums of the right side's rows if they are wanted. A thread's workgroup begins the loops over
  /// its tiles here: everything that is emitted later is in them.
  SmallVector<Value> finish(ValueRange state);
  /// Writes the sums of the right side's rows, from column `shift` of their matrix on: the workgroups of the first rows
  /// do it.
  void storeSums(Value result, Value sums, Value shift = {}) const;

private:
  /// These set the mapping and `step`, and return the rows and columns of the workgroup's tile; of blocks, nothing
  /// where the product is not computed in blocks.
  std::optional<std::pair<int64_t, int64_t>> chooseBlocks(const Matrix &result, int64_t loops, bool moved);
  std::pair<int64_t, int64_t> chooseRegisters(const Matrix &contracted, const Matrix &result, int64_t loops,
                                              std::optional<int64_t> group);
  /// These set the grid, and return the first row and column of a workgroup's tile.
  std::pair<Value, Value> placeInStrips(const Matrix &result, int64_t rows, int64_t columns);
  std::pair<Value, Value> placeInGroups(const Matrix &result, int64_t rows, int64_t columns);
  std::pair<int64_t, int64_t> chooseFragments(const Matrix &result, int64_t operandBits, int64_t parts);
  /// Bounds the loop over the contracted dimension to the workgroup's part of it.
  void takePart(int64_t parts);
  bool isOfThread() const { return emitter.getProfile().registers > 0 && !transposeRhs; }
  Value sumOfRows(Value rows) const;
  bool hasScalesOfColumns(DequantizeOp unpacked) const;
  Value scaleColumns(Value total, DequantizeOp unpacked) const;
  bool isWithinGroup(DequantizeOp unpacked, const Place &place) const;
  Value addGroup(Value sum, Value left, Value numbers, DequantizeOp unpacked, const Place &place) const;
  Value multiplyFragments(Value lhs, const Place &lhsPlace, Value rhs, const Place &rhsPlace, Value accumulator,
                          Padding padding) const;

  KernelEmitter &emitter;
  bool transposeLhs, transposeRhs, fragments, blocks = false;
  int64_t depth, step = 1;
  Value begin, end, depthLimit, ownPart;
  Value partBegin;                     // where the part begins, if `begin` and `end` count from there
  mutable Value sharedRows;            // of all parts of a kernel: see sumOfRows
  std::optional<PackedProduct> packed; // of threads
  Place tile;
};

} // namespace mlir::heddle

#endif
