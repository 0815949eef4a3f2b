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

protected:
  /// How operands are packed.
  struct Packing {
    int64_t rows, columns; // of a tile of the result
    int64_t depth;         // that is packed before it is multiplied
    int64_t step;          // depth that is read at a time
    int64_t columnsAtOnce; // columns of the right side that are read at a time: they lie in one of its panels
    bool keepsSums;        // sums are always in memory
    bool readsLhs = true;  // the left side is not packed if it can be read in place
  };
  PackedProduct(KernelEmitter &emitter, const MatmulShape &shape, const Packing &packing);

  Value scratch(Value &memory, int64_t rows, int64_t columns, Type element = {});
  void forColumns(int64_t step, function_ref<void(Value)> body);
  void forRows(int64_t step, function_ref<void(Value)> body);
  void forTiles(function_ref<void(const Place &)> body);
  void forDepth(Value length, function_ref<void(Value)> body);
  Place tileAt(Value row, Value column) const;
  Place sumsAt(const Place &tile) const;
  DepthStep stepAt(Value inPart) const;
  /// Packs the part of a side.
  virtual void packRhs();
  virtual void packLhs();
  /// Adds the product of the packed part to the sums of a tile in memory.
  virtual void addTile(const Place &tile);
  /// Calls `pack` for all of the right side's part, in the order in which the side lies in memory: at a depth in the part,
  /// and a column of the result.
  void forRhs(function_ref<void(Value, Value)> pack);
  /// Adds the rows of a tile to the sums of the right side's rows, if they are wanted.
  void sumRows(Value part, Value inBlock);

  /// A part of the depth whose operands are packed, and whose product is not in the sums yet. If no sums are in memory,
  /// its product is computed in the loops of `beginTiles`.
  struct Part {
    MatmulOperands operands;
    Value origin;        // where the depth begins; null: at the dimension's begin
    Value first, length; // counted from there
    Value depthLimit;    // the depth, if packing must append zeros to it; null if it is a whole number of steps
    bool packsLhs;
  };

  Packing packing;
  Value tileSums, rowSums, rhsPanels, lhsPanels;
  std::optional<Part> part;

private:
  static Packing packingOf(KernelEmitter &emitter, const MatmulShape &shape);
  void needSums();
  void addPart();
  Value multiply(const Place &tile, Value sums);
  void beginTiles();

  Value rowEnd, columnEnd; // ends of the block
  bool isOfGroup = false;  // the block ends where a group of rows does, which may be within a tile
  bool hasSums = false;    // whether `tileSums` holds the sums
};

} // namespace mlir::heddle
