// A thread's matmul that packs its operands first. They are then contiguous in the caches, whatever the matrices'
// widths, and are read in whole vectors. Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), section 4.
#pragma once

#include "compiler/Kernel/Tiling/Matmul/TileProduct.h"

namespace mlir::heddle {

/// The workgroup computes a block of the result, one register tile after another. It splits the K dimension into
/// stretches. For each stretch it packs both operands' part into scratch memory, and adds the products to the sums of
/// all tiles, which are in scratch memory unless the depth is one stretch.
class PackedProduct : public TileProduct {
public:
  /// Returns true if packing the right side is worthwhile for `rows` rows: the result's, or with `ofGroup` the average
  /// group's.
  static bool isWorthIt(const TargetProfile &profile, int64_t rows, bool ofGroup = false);

  /// Sets the kernel's mapping.
  PackedProduct(KernelEmitter &emitter, const MatmulShape &shape);

  void place(Value row, Value column, Value rowLimit) override;
  SmallVector<Value> zeros(bool withSums) override;
  SmallVector<Value> accumulate(const MatmulOperands &operands, const DepthRange &range, ValueRange state) override;
  /// The tiles have one row each if the sums are in memory.
  SmallVector<Value> finish(ValueRange state) override;

private:
  Value scratch(Value &memory, int64_t rows, int64_t columns);
  void forColumns(int64_t step, function_ref<void(Value)> body);
  void forRows(int64_t step, function_ref<void(Value)> body);
  void forTiles(function_ref<void(const Place &)> body);
  void forDepth(Value length, function_ref<void(Value)> body);
  Place tileAt(Value row, Value column) const;
  Place sumsAt(const Place &tile) const;
  DepthStep stepAt(Value inPart) const;
  void packRhs();
  void packLhs();
  void needSums();
  void addPart();
  Value multiply(const Place &tile, Value sums);
  void beginTiles();

  /// A part of the depth whose operands are packed, and whose product is not in the sums yet. If no sums are in memory,
  /// its product is computed in the loops of `beginTiles`.
  struct Part {
    MatmulOperands operands;
    Value origin;        // where the depth begins; null: at the dimension's begin
    Value first, length; // counted from there
    Value depthLimit;    // the depth, if packing must append zeros to it; null if it is a whole number of steps
    bool packsLhs;
  };

  int64_t rows, columns;   // of a register tile
  int64_t packStep;        // depth that is packed at a time
  int64_t packColumns;     // columns of the right operand that are packed at a time: they lie in one of its panels
  Value rowEnd, columnEnd; // ends of the block
  bool isOfGroup = false;  // the block ends where a group of rows does, which may be within a tile
  Value tileSums, rowSums, rhsPanels, lhsPanels;
  bool hasSums = false; // whether `tileSums` holds the sums
  std::optional<Part> part;
};

} // namespace mlir::heddle
