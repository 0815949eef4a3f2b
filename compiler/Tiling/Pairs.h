// Attention whose pairs of a query and a key are taken one by one: where a region says what becomes of their elements,
// where a query is alone in its sequence, so that a tile of queries would be empty but for a row, and where heads are
// too wide for a tile's registers. Lanes have neighbouring keys each, or neighbouring columns.
#ifndef HEDDLE_COMPILER_TILING_PAIRS_H
#define HEDDLE_COMPILER_TILING_PAIRS_H

#include "compiler/Tiling/Attention.h"

namespace mlir::heddle {

/// Whether the dot products of these pairs are made one by one.
bool isOneByOne(const Attention &attention);

/// A workgroup owns one query or key of a sequence, in one head.
struct PairsFrame {
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  const Attention &attention;
  bool ownsQueries;
  int64_t lanes = 0; // elements of a row that the workgroup takes at a time
  Value first, sequence, owned, head, headColumn, firstOfHead, ownedRow, otherStart, otherLength;

  PairsFrame(KernelEmitter &emitter, const Attention &attention, bool ownsQueries)
      : emitter(emitter), b(emitter.builder()), attention(attention), ownsQueries(ownsQueries) {}

  /// `body` for each query or key that there is, and `lanes` elements of `extent` from `first` on. With `whole` a
  /// workgroup owns all elements, and `first` is 0.
  void emit(ArrayRef<int64_t> extents, bool whole, function_ref<void()> body);

  /// The scores of the owned query and `lanes` keys from `firstKey` on; those past the last key are zero. What becomes
  /// of elements that meet is their product, or what `combine` makes of them and of rows of parameters.
  Value scores(ScoresOp op, Value firstKey);

  /// Of `lanes` columns from `column` on: the sum, over the rows of the other side, of what `region` makes of the
  /// elements of both sides, of rows of parameters, and of a pair's number; without a region that is the other side's
  /// element times the number. `number` loads a tile of so many numbers from a row of the other side on.
  Value sums(Value column, ValueRange parameters, Region *region, function_ref<Value(Value, int64_t)> number);

  /// The tile where the indices along `dim` from `from` on are below `limit`, zero elsewhere.
  Value whereBelow(Value tile, Value from, int64_t dim, Value limit);
  /// `lanes` elements of a pair's row in memory, from the key on; past `limit`, if there is one, there are no elements.
  Place pairs(Value key);
  /// The first element past a head's `extent` of columns, where the lanes may reach beyond.
  Value limitOf(Value begin, int64_t extent);

private:
  /// Whether the other side's rows are found by a list.
  bool hasList() const { return ownsQueries ? static_cast<bool>(attention.keyRows) : !attention.users.empty(); }
  /// Rows of the other side from one of its numbers on, as a tile of a row or a column.
  Value listed(Value list, Value from, int64_t count, bool asColumn);
  /// The rows of the other side, and as many lanes' columns of them from `column` on.
  Value loadOthers(Value others, Value from, int64_t rows, Value column, Value columnLimit);
  /// The head of keys for the owned query.
  Value keyHead();
  /// `sums` of rows whose head begins at a column.
  Value sumsOfHead(Value sums, Value column, Value otherColumn, ValueRange parameters, Region *region,
                   function_ref<Value(Value, int64_t)> number);
  /// `sum` plus what becomes of tiles that meet, each repeated over `rows` x `columns`, summed up over the rows.
  Value accumulate(Value sum, Region *region, ArrayRef<Value> tiles, int64_t rows, int64_t columns, Value firstRow,
                   Value rowLimit);
};

/// The ops, an anchor's own aside, that a kernel of queries alone in their sequences computes on the way to its sums
/// over keys (context, or a gradient of queries): scores, softmax or its gradient, elementwise ops on both, and rows of
/// a step that keep what those make. Empty where `pairs`, the numbers that the anchor takes, are not made so.
SmallVector<Operation *> getLoneQueryChain(Operation *anchor, Value pairs);

/// Emits such a kernel: `finish` stores the anchor's columns.
LogicalResult emitLoneQueries(Operation *anchor, const Attention &attention, Value pairs, ValueRange parameters,
                              Region *region, KernelEmitter &emitter);

/// The kernel of an anchor that takes pairs' numbers from memory.
LogicalResult emitSumsOneByOne(Operation *anchor, const Attention &attention, bool ownsQueries, Value pairs,
                               ValueRange parameters, Region *region, KernelEmitter &emitter);

} // namespace mlir::heddle

#endif
