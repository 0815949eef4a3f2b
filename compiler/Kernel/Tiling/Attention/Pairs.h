// Attention that takes pairs of a query and a key one by one. This is needed if a region combines their elements, if
// each sequence has only one query (a tile of queries would have one useful row), or if heads are too wide for a tile's
// registers. Each lane has adjacent keys or adjacent columns.
#pragma once

#include "compiler/Kernel/Tiling/Attention/Attention.h"

namespace mlir::heddle {

/// Returns true if the dot products of these pairs are computed one by one.
bool isOneByOne(const Attention &attention);

/// A workgroup owns one query or key of a sequence, in one head.
struct PairsFrame {
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  const Attention &attention;
  bool ownsQueries;
  int64_t lanes = 0; // elements of a row that the workgroup takes at once
  Value first, sequence, owned, head, headColumn, firstOfHead, ownedRow, otherStart, otherLength;

  PairsFrame(KernelEmitter &emitter, const Attention &attention, bool ownsQueries)
      : emitter(emitter), b(emitter.builder()), attention(attention), ownsQueries(ownsQueries) {}

  /// Emits `body` for each existing query or key, and for `lanes` elements of the first of `extents`, from `first` on.
  /// With `whole` a workgroup owns all elements, and `first` is 0.
  void emit(ArrayRef<int64_t> extents, bool whole, function_ref<void()> body);

  /// Returns the scores of the owned query and `lanes` keys from `firstKey` on. Scores past the last key are zero. A
  /// score sums, over the columns, the product of the two elements. If the op has a region `combine`, it sums the
  /// region's result for the two elements and the parameters' elements.
  Value scores(ScoresOp op, Value firstKey);

  /// Returns a sum over the rows of the other side, for `lanes` columns from `column` on. Its terms are the results of
  /// `region` for the elements of both sides, the parameters' elements and the pair's number. Without a region a term
  /// is the other side's element times the pair's number. `number(row, count)` loads the numbers of `count` pairs, from
  /// a row of the other side on.
  Value sums(Value column, ValueRange parameters, Region *region, function_ref<Value(Value, int64_t)> number);

  /// Returns the tile, with zeros where the index along `dim`, counted from `from`, is not below `limit`.
  Value whereBelow(Value tile, Value from, int64_t dim, Value limit);
  /// The place, in memory, of the owned query's scores for `lanes` keys from `key` on. Elements past the head's end are
  /// cut off.
  Place pairs(Value key);
  /// Returns the first element past a head's `extent` columns, or null if the lanes never reach it.
  Value limitOf(Value begin, int64_t extent);

private:
  /// Returns true if the other side's rows are found through a list.
  bool hasList() const { return ownsQueries ? static_cast<bool>(attention.keyRows) : !attention.users.empty(); }
  /// Returns `count` numbers of the other side's rows, from entry `from` of the list on, as a row or a column.
  Value listed(Value list, Value from, int64_t count, bool asColumn);
  /// Loads `rows` rows of the other side, and `lanes` of their columns from `column` on.
  Value loadOthers(Value others, Value from, int64_t rows, Value column, Value columnLimit);
  /// The key head that the owned query uses.
  Value keyHead();
  /// Adds to `sums` the rows of the other side, whose head begins at column `otherColumn`.
  Value sumsOfHead(Value sums, Value column, Value otherColumn, ValueRange parameters, Region *region,
                   function_ref<Value(Value, int64_t)> number);
  /// Returns `sum` plus the combined tiles, summed over the rows. Each tile is first repeated to `rows` x `columns`.
  Value accumulate(Value sum, Region *region, ArrayRef<Value> tiles, int64_t rows, int64_t columns, Value firstRow,
                   Value rowLimit);
};

/// Emits the kernel of an anchor that sums over pairs (`PairsFrame::sums`). The pairs' numbers are in memory, or a
/// ScoreChain computes them in the kernel.
LogicalResult emitSumsOneByOne(Operation *anchor, const Attention &attention, bool ownsQueries, Value pairs,
                               ValueRange parameters, Region *region, KernelEmitter &emitter);

} // namespace mlir::heddle
