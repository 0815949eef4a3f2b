// A thread's matmul with few rows, in the order in which the right side lies in memory.
#pragma once

#include "compiler/Kernel/Tiling/Matmul/TileProduct.h"

namespace mlir::heddle {

/// A matmul with few rows reads the right side once, so memory bounds it, unless the right side is small. The workgroup
/// computes a block of the result's columns. It walks down the right side a few rows at a time, and in each step along the block. So memory is
/// read in long runs, which processors prefetch. The block's sums are in scratch memory, which stays in the L1 cache.
/// If the right side is in panels, the block of a single row is a panel.
class StreamedProduct : public TileProduct {
public:
  /// Returns true if this is worthwhile for a result of at most `rows` rows. `elements`: of the right side.
  static bool isWorthIt(const KernelEmitter &emitter, const MatmulShape &shape, int64_t rows, int64_t elements);

  /// Sets the kernel's mapping. The workgroup computes `rows` rows, but no more than 8.
  StreamedProduct(KernelEmitter &emitter, const MatmulShape &shape, int64_t rows);

  void place(Value row, Value column, Value rowLimit) override;
  SmallVector<Value> zeros(bool withSums) override;
  SmallVector<Value> accumulate(const MatmulOperands &operands, const DepthRange &range, ValueRange state) override;
  SmallVector<Value> finish(ValueRange state) override;

private:
  class Loop;

  /// Returns true if the block is a panel of the right side. It is contiguous, and processors prefetch it.
  bool isPanel() const { return block.columns == panel; }
  /// Returns true if the block is a panel that is wider than usual. A step then reads one row of words after another.
  bool isWide() const { return isPanel() && panel > emitter.getProfile().weightPanel; }
  Place tileAt(Value column) const;
  Place sumsAt(const Place &tile) const;
  /// Sets `tile` to each tile of the block, and replaces its sums by the result of `body`. They stay if it is null.
  void forTiles(function_ref<Value()> body);
  /// Returns the part of a step of `rows` rows of the right side, from `row` on, that the tile prefetches: its columns, or
  /// rows of a panel, which are contiguous.
  Place shareOf(Value row, int64_t rows) const;
  /// Scratch memory for a value of each element of the block, and the part of it that belongs to the tile.
  Value scratch(Type element) const { return emitter.sharedTile(emitter.tileType(block.rows, block.columns, element)); }
  Value load(Value memory) const { return emitter.load(memory, sumsAt(tile), Padding::Any); }
  void store(Value values, Value memory) const;

  int64_t columns = 0;  // of a tile
  int64_t panel;        // columns of a panel of the right side
  Value end;            // the column behind the block's last
  Value sums;           // scratch memory
  bool hasSums = false; // a matmul has been added to them
};

} // namespace mlir::heddle
