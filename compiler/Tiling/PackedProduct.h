// A thread's product of operands that it packs first: they then lie side by side in its caches, whatever the matrices'
// widths are, and are read in whole vectors. Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), section 4.
#ifndef HEDDLE_COMPILER_TILING_PACKEDPRODUCT_H
#define HEDDLE_COMPILER_TILING_PACKEDPRODUCT_H

#include "compiler/Tiling/KernelEmitter.h"

namespace mlir::heddle {

/// The workgroup makes a block of the result, register tile by register tile. It takes the contracted dimension in
/// stretches: it packs both operands' part of a stretch into scratch memory, and adds their products to the sums of all
/// tiles, which are in scratch memory, too.
class PackedProduct {
public:
  /// Whether a result of `rows` rows is worth the packing of the right side.
  static bool isWorthIt(const TargetProfile &profile, int64_t rows);

  /// The product makes `result` and contracts at most `depth` places.
  PackedProduct(KernelEmitter &emitter, const Matrix &result, bool transposeLhs, int64_t depth);
  /// Rows and columns of the workgroup's block.
  int64_t blockRows() const { return block.rows; }
  int64_t blockColumns() const { return block.columns; }
  /// Says where the block begins.
  void place(Value row, Value column);

  /// Sets all sums to zero; those of the right side's rows, too, if they are wanted.
  void clear(bool withSums);

  struct Operands {
    Value lhs, rhs;
    bool transposeLhs, transposeRhs;
    int64_t maximumDepth;
    Value depth, shift; // the right matrix begins at row `shift` of its memory; null: at the first
  };
  /// Adds the product to the sums.
  void accumulate(const Operands &operands);

  /// Begins the loops over the block's tiles: everything that is emitted later is in them. Returns the tile's place.
  Place beginTiles();
  /// The tile's sums, and those of the right side's rows if they are wanted.
  SmallVector<Value> sums();

private:
  Value scratch(Value &memory, int64_t rows, int64_t columns);
  void forColumns(int64_t step, function_ref<void(Value)> body);
  void forRows(int64_t step, function_ref<void(Value)> body);
  void forDepth(Value length, function_ref<void(Value)> body);
  Value depthLimitOf(const Operands &operands) const;
  Place tileAt(Value row, Value column) const;
  Place sumsAt(const Place &tile) const;
  void packRhs(const Operands &operands, Value first, Value length);
  void packLhs(const Operands &operands, Value first, Value length);
  void multiply(const Operands &operands, Value first, Value length, bool isPacked);

  KernelEmitter &emitter;
  Matrix result;
  int64_t rows, columns; // of a register tile
  int64_t packStep;      // places of the contracted dimension that are packed at a time
  Place block = {}, tile = {};
  Value rowEnd, columnEnd; // of the block
  Value tileSums, rowSums, rhsPanels, lhsPanels;
};

} // namespace mlir::heddle

#endif
