// A thread's matmul that packs its operands first. They are then contiguous in the caches, whatever the matrices'
// widths, and are read in whole vectors. Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), section 4.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// The workgroup computes a block of the result, one register tile after another. It splits the K dimension into
/// stretches. For each stretch it packs both operands' part into scratch memory, and adds the products to the sums of
/// all tiles, which are in scratch memory unless the depth is one stretch.
class PackedProduct {
public:
  /// Returns true if packing the right side is worthwhile for `rows` rows: the result's, or with `ofGroup` the average
  /// group's.
  static bool isWorthIt(const TargetProfile &profile, int64_t rows, bool ofGroup = false);

  /// The matmul computes `result`. Its depth is at most `depth`.
  /// `panel`: the columns of a panel of the right side; 0: its rows are contiguous.
  PackedProduct(KernelEmitter &emitter, const Matrix &result, bool transposeLhs, int64_t depth, int64_t panel);
  /// The rows and columns of the workgroup's block.
  int64_t blockRows() const { return block.rows; }
  int64_t blockColumns() const { return block.columns; }
  /// Sets where the block begins, and the row at which it ends early; null: the end of the result.
  void place(Value row, Value column, Value rowLimit = {});

  /// Sets all sums to zero. With `withSums` this includes the sums of the right side's rows.
  void clear(bool withSums);

  struct Operands {
    Value lhs, rhs;
    bool transposeLhs, transposeRhs;
    int64_t maximumDepth;
    Value depth, shift;  // `shift`: row of its memory where the right matrix begins; null: 0
    Value lhsShift = {}; // the same for a transposed left matrix
  };
  /// Adds the product of the operands to the sums.
  void accumulate(const Operands &operands);

  /// Begins the loops over the block's tiles, of one row each if the sums are in memory. Everything emitted later is
  /// inside them. Returns the tile's place.
  Place beginTiles();
  /// Returns the tile's sums, and the sums of the right side's rows if `clear` was asked for them.
  SmallVector<Value> sums();

private:
  Value scratch(Value &memory, int64_t rows, int64_t columns);
  void forColumns(int64_t step, function_ref<void(Value)> body);
  void forRows(int64_t step, function_ref<void(Value)> body);
  void forTiles(function_ref<void(const Place &)> body);
  void forDepth(Value length, function_ref<void(Value)> body);
  Place tileAt(Value row, Value column) const;
  Place sumsAt(const Place &tile) const;
  void packRhs();
  void packLhs();
  void needSums();
  void addPart();
  Value multiply(const Place &tile, Value sums);

  /// A part of the depth whose operands are packed, and whose product is not in the sums yet. If no sums are in memory,
  /// its product is computed in the loops of `beginTiles`.
  struct Part {
    Operands operands;
    Value first, length;
    Value depthLimit; // the depth, if packing must append zeros to it; null if it is a whole number of steps
    bool packsLhs;
  };

  KernelEmitter &emitter;
  Matrix result;
  int64_t rows, columns; // of a register tile
  int64_t packStep;      // depth that is packed at a time
  int64_t packColumns;   // columns of the right operand that are packed at a time: they lie in one of its panels
  Place block = {}, tile = {};
  Value rowEnd, columnEnd; // ends of the block
  bool isOfGroup = false;  // the block ends where a group of rows does, which may be within a tile
  Value tileSums, rowSums, rhsPanels, lhsPanels;
  bool hasSums = false; // whether `tileSums` holds the sums
  std::optional<Part> part;
};

} // namespace mlir::heddle
