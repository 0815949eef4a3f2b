// Which pairs of queries and keys can count, as far as that is known before any pair is looked at.
#ifndef HEDDLE_COMPILER_TILING_ATTENTIONBOUNDS_H
#define HEDDLE_COMPILER_TILING_ATTENTIONBOUNDS_H

#include "compiler/Tiling/Attention.h"

namespace mlir::heddle {

/// What the sizes and the mask of attention say about the rows that a workgroup owns and those that it visits. Rows `at
/// once` are those of a workgroup's tile, or of a step. Where a query is several rows (Attention::members), the owned
/// rows and their indices are counted as such.
class AttentionBounds {
public:
  AttentionBounds(KernelEmitter &emitter, const Attention &attention, bool ownsQueries);

  /// The longest sequence of the side whose rows are owned.
  int64_t maximumOwned() const;
  /// How many rows of the other side the loop passes at most. Two conditions that leave a band along the diagonal bound
  /// it.
  int64_t maximumVisited(int64_t ownedAtOnce, int64_t visitedAtOnce) const;
  /// The rows to visit, begin and end, from the first owned row on.
  std::pair<Value, Value> visitedRange(Value first, Value visitedLength, int64_t ownedAtOnce,
                                       int64_t visitedAtOnce) const;
  /// Whether each pair of a step counts, as an i1; null if nothing but a look at each pair tells.
  Value allCount(Value first, Value at, Value visitedLength, int64_t rows, int64_t step) const;

  /// How many conditions restrict the pairs that count.
  size_t count() const { return bounds.size(); }
  /// Whether some rows visit more than others.
  bool visitUnequally() const {
    return llvm::any_of(bounds, [](const Bound &bound) { return bound.owned * bound.visited < 0; });
  }
  /// If so, whether the last rows visit most.
  bool lastVisitMost() const {
    return llvm::any_of(bounds, [](const Bound &bound) { return bound.visited < 0; });
  }

private:
  /// owned * (owned row's index) + visited * (visited row's index) + constant >= 0, of every pair that counts.
  struct Bound {
    int64_t owned, visited, constant;
  };

  /// The longest sequence of queries, or of keys, in queries or keys.
  int64_t longest(bool ofQueries) const;
  /// The most queries (or keys) that so many owned rows are of, wherever the first of them is.
  int64_t spanOf(int64_t rows) const;
  /// The query (or key) of an owned row.
  Value ownerOf(Value row) const;

  KernelEmitter &emitter;
  const Attention &attention;
  bool ownsQueries, areExact = true;
  SmallVector<Bound> bounds;
};

} // namespace mlir::heddle

#endif
