// The interface of the classes that compute a workgroup's block of a matmul's result (RegisterProduct, StreamedProduct,
// PackedProduct), and what they are told of the matmul.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// How a matmul's right side lies in memory.
struct RightSide {
  int64_t bytes = 4;            // of an element, or of a word of packed numbers
  std::optional<int64_t> group; // the rows of packed numbers that share scales; nothing: the numbers are not packed
  int64_t panel = 0;            // the columns of a panel of packed numbers; 0: rows are contiguous
  bool isOfIntegers = false;    // packed numbers are multiplied as integers (IntegerProduct.h)
};

/// The groups of rows of a grouped matmul: group g begins at row `starts`[g] of the left side. The default has none.
struct RowGroups {
  Value starts;
  int64_t count = 0;
};

/// A matmul for which a tile is chosen.
struct MatmulShape {
  bool transposeLhs = false, transposeRhs = false;
  Matrix contracted = {}; // its rows are the K dimension
  Matrix result = {};
  int64_t loops = 1;      // loops over the K dimension that share the target's limit on iterations
  int64_t tensorBits = 0; // of the operands that tensor cores multiply; 0: lanes multiply
  int64_t parts = 1;      // of the K dimension, each of which has workgroups of its own
  RightSide rhs = {};
  bool moved = false;     // rows of the left side are read at an offset
  bool isOfPairs = false; // matrix registers multiply both sides (PairedProduct.h)
  RowGroups groups = {};
};

/// The part of the K dimension that a workgroup contracts.
struct DepthRange {
  int64_t depth; // the maximum of the whole dimension
  Value begin, end;
  Value limit;  // where the dimension ends, if a step may reach past it; null: all steps are whole
  Value origin; // what `begin` and `end` count from; null: the dimension's begin

  /// Returns the end of the last whole step.
  Value endOfSteps(KernelEmitter &emitter, int64_t step) const;
};

/// A step of a loop along the K dimension. Elements past the end of the dimension must be zero on both sides, because
/// 0 * NaN is NaN. Elements past the result's rows or columns only reach elements that are never stored.
struct DepthStep {
  Value k;
  int64_t length;
  Value limit;

  Padding padding() const { return limit ? Padding::Zero : Padding::Any; }
};

struct MatmulOperands {
  Value lhs, rhs;
  bool transposeLhs, transposeRhs;
  Value shift;            // the row of its memory at which the right matrix begins; null: 0
  bool isOfGroup = false; // the right matrix is one of several, which belong to groups of rows

  /// The part of each operand that a step of a tile of the result reads.
  Place lhsAt(const Place &tile, const DepthStep &step) const;
  Place rhsAt(KernelEmitter &emitter, const Place &tile, const DepthStep &step) const;
};

/// Returns `sum` plus the product of two tiles.
Value dot(KernelEmitter &emitter, Value left, Value right, Value sum, bool transposeLhs = false,
          bool transposeRhs = false);

/// Computes a workgroup's block of the result.
class TileProduct {
public:
  /// How the blocks of consecutive workgroups follow each other. See ProductFrame::placeInStrips and placeInGroups.
  enum class Order { Strips, StripsOfRows, Groups, Persistent };

  TileProduct(KernelEmitter &emitter, const Matrix &result) : emitter(emitter), result(result) {}
  virtual ~TileProduct() = default;

  /// Sets where the block begins, and the row at which it ends early; null: the end of the result.
  virtual void place(Value row, Value column, Value rowLimit) = 0;
  /// Sets the sums to zero, with `withSums` the sums of the right side's rows, too. Returns the state of the loops: sums
  /// that are in registers.
  virtual SmallVector<Value> zeros(bool withSums) = 0;
  /// Adds the product to the sums. Returns the next state.
  virtual SmallVector<Value> accumulate(const MatmulOperands &operands, const DepthRange &range, ValueRange state) = 0;
  /// Returns the sums of the tile, and those of the right side's rows if `zeros` was asked for them. A thread begins the
  /// loops over the block's tiles here: everything emitted later is inside them.
  virtual SmallVector<Value> finish(ValueRange state) = 0;
  /// Returns the whole sums of the right side's rows. From `finish` each lane may have a part of them.
  virtual Value wholeSums(Value sums) { return sums; }

  Order order = Order::Strips;
  Place block = {}; // its rows and columns are valid from the beginning, the others after `place`
  Place tile = {};  // valid after `finish`
  int64_t step = 1; // of the loop along the K dimension; 1 if that has no limits

protected:
  KernelEmitter &emitter;
  Matrix result;
};

} // namespace mlir::heddle
