// Bounds on the pairs of queries and keys that can count, known before any pair is looked at.
#pragma once

#include "compiler/Kernel/Tiling/Attention/Attention.h"

namespace mlir::heddle {

/// Derives, from the sizes and the mask of attention, which rows a workgroup visits for the rows that it owns.
/// `ownedAtOnce` is the number of rows in a workgroup's tile, `visitedAtOnce` the number in a step. If a query has
/// several rows (Attention::members), owned rows and their indices count each of them.
class AttentionBounds {
public:
  AttentionBounds(KernelEmitter &emitter, const Attention &attention, bool ownsQueries);

  /// The maximum length of a sequence on the owned side, in rows.
  int64_t maximumOwned() const;
  /// The maximum number of rows of the other side that the loop visits. Two conditions that leave a band along the
  /// diagonal bound it.
  int64_t maximumVisited(int64_t ownedAtOnce, int64_t visitedAtOnce) const;
  /// Returns the range of rows to visit (begin, end) for a tile whose first owned row is `first`.
  std::pair<Value, Value> visitedRange(Value first, Value visitedLength, int64_t ownedAtOnce,
                                       int64_t visitedAtOnce) const;
  /// Returns an i1 that is true if every pair of a step counts. Null if only a look at each pair can tell.
  Value allCount(Value first, Value at, Value visitedLength, int64_t rows, int64_t step) const;

  /// The number of conditions that restrict the pairs that count.
  size_t count() const { return bounds.size(); }
  /// Returns true if some rows visit more rows than others.
  bool visitUnequally() const {
    return llvm::any_of(bounds, [](const Bound &bound) { return bound.owned * bound.visited < 0; });
  }
  /// If so, returns true if the last rows visit the most.
  bool lastVisitMost() const {
    return llvm::any_of(bounds, [](const Bound &bound) { return bound.visited < 0; });
  }

private:
  /// Every pair that counts fulfils owned * (owned row's index) + visited * (visited row's index) + constant >= 0.
  struct Bound {
    int64_t owned, visited, constant;
  };

  /// The maximum length of a sequence, in queries or in keys.
  int64_t longest(bool ofQueries) const;
  /// The maximum number of queries (or keys) that `rows` consecutive owned rows can belong to.
  int64_t spanOf(int64_t rows) const;
  /// The index of the query (or key) that an owned row belongs to.
  Value ownerOf(Value row) const;

  KernelEmitter &emitter;
  const Attention &attention;
  bool ownsQueries, areExact = true;
  SmallVector<Bound> bounds;
};

} // namespace mlir::heddle
