// A thread's matmul with few rows, in the order in which the right side lies in memory.
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

/// A matmul with few rows reads the right side once, so memory bounds it, unless the right side is small. The workgroup computes a block of the
/// result's columns. It walks down the right side a few rows at a time, and in each step along the block. So memory is
/// read in long runs, which processors prefetch. The block's sums are in scratch memory, which stays in the L1 cache.
/// If the right side is in panels, the block of a single row is a panel.
class StreamedProduct {
public:
  /// Returns true if this is worthwhile for a result of at most `rows` rows and of `columns` columns. `elements`: of the
  /// right side.
  static bool isWorthIt(const KernelEmitter &emitter, int64_t rows, int64_t columns, int64_t elements,
                        const RightSide &rhs);

  /// The workgroup computes `rows` rows, but no more than 8.
  StreamedProduct(KernelEmitter &emitter, const Matrix &result, int64_t rows, const RightSide &rhs);
  int64_t rowsOfTile() const { return rows; }
  int64_t blockColumns() const { return block; }
  /// Returns true if the block is a panel of the right side. It is contiguous, and processors prefetch it.
  bool isPanel() const { return block == panel; }
  /// Returns true if the block is a panel that is wider than usual. A step then reads one row of words after another.
  bool isWide() const { return isPanel() && panel > emitter.getProfile().weightPanel; }
  /// Sets where the block begins, and the row at which it ends; null: the end of the result.
  void place(Value row, Value column, Value rowLimit = {});

  /// The block's first tile. All tiles have its rows.
  Place anyTile() const { return tileAt(begin); }
  /// Sets all sums to zero.
  void clear();
  /// Replaces the sums of each tile by the result of `body`, which may load them with `sums`. They stay if it is null.
  void forTiles(function_ref<Value(const Place &)> body);
  /// Returns the part of a step of `rows` rows of the right side, from `row` on, that the tile of `forTiles` prefetches: its
  /// columns, or rows of a panel, which are contiguous.
  Place shareOf(Value row, int64_t rows) const;
  /// Begins the loop over the block's tiles. Everything emitted later is inside it. Returns the tile's place.
  Place beginTiles();
  /// Loads the sums of the tile of `forTiles` or `beginTiles`.
  Value sums() const { return load(tileSums); }

  /// Scratch memory for other values of the block, and the part of it that belongs to such a tile.
  Value scratch(Type element) const { return emitter.sharedTile(emitter.tileType(rows, block, element)); }
  Value load(Value memory) const { return emitter.load(memory, sumsAt(tile), Padding::Any); }
  void store(Value values, Value memory) const;

private:
  Place tileAt(Value column) const;
  Place sumsAt(const Place &tile) const;

  KernelEmitter &emitter;
  Matrix result;
  int64_t rows, columns = 0; // the shape of a tile
  int64_t block = 0, panel;  // columns of a block, and of a panel of the right side
  Value row, rowLimit;       // the block's rows
  Value begin, end;          // its first column and the one behind its last
  Value tileSums;            // scratch memory
  Place tile = {};
};

} // namespace mlir::heddle
