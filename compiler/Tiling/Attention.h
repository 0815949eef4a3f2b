// What attention's kernels have in common, whatever op they compute.
#ifndef HEDDLE_COMPILER_TILING_ATTENTION_H
#define HEDDLE_COMPILER_TILING_ATTENTION_H

#include "compiler/Kernels/Fragments.h"
#include "compiler/Tiling/KernelEmitter.h"

namespace mlir::heddle {

/// What heddle.attention and the two halves of its gradient have in common, and ops on scores in memory with them.
struct Attention {
  Value query, key, queryStarts, queryLengths, keyStarts, keyLengths, seed, step;
  int64_t heads, stream;
  double scale, dropout;
  StringRef querySize, keySize; // of the longest sequence; empty where each has one row
  Region *mask;                 // null where nothing but sequences restricts what a query sees
  Region *score;                // null where nothing acts on scaled scores
  Region *scoreGradient;        // likewise, and in the forward pass
  Value keyRows;                // where a sequence's keys need not be neighbours; else null
  ValueRange users = {};        // of the rows of keys, where these own pairs and find them by lists; else empty
  int64_t pairKeys = 0;         // of a query and head, where scores are in memory
  bool hasTensorOperands = false;
  int64_t members = 1; // rows of a tile that a query is: its heads of a group, one after the other

  static Value keyRowsOf(AttentionOp op) { return op.getKeyRows(); }
  static Value keyRowsOf(Operation *) { return {}; } // gradients are of neighbouring keys alone
  template <typename GradOp> static Region *scoreGradientOf(GradOp op) { return orNull(op.getScoreGradient()); }
  static Region *scoreGradientOf(AttentionOp) { return nullptr; }
  static Region *orNull(Region &region) { return region.empty() ? nullptr : &region; }

  template <typename AttentionLike> static Attention of(AttentionLike op) {
    return {op.getQuery(),
            op.getKey(),
            op.getQueryStarts(),
            op.getQueryLengths(),
            op.getKeyStarts(),
            op.getKeyLengths(),
            op.getSeed(),
            op.getStep(),
            static_cast<int64_t>(op.getHeads()),
            static_cast<int64_t>(op.getStream()),
            op.getScale().convertToDouble(),
            op.getDropout().convertToDouble(),
            op.getQuerySize(),
            op.getKeySize(),
            orNull(op.getMask()),
            orNull(op.getScore()),
            scoreGradientOf(op),
            keyRowsOf(op),
            /*users=*/{},
            /*pairKeys=*/0,
            heddle::hasTensorOperands(op, op.getQuery())};
  }

  /// Of an op on `scores` in memory, with the matrices that have the queries' rows and the keys'.
  template <typename PairsOp>
  static Attention ofPairs(PairsOp op, Value scores, Value query, Value key, Value keyRows, ValueRange users = {}) {
    auto type = cast<RankedTensorType>(scores.getType());
    return {query,
            key,
            op.getQueryStarts(),
            op.getQueryLengths(),
            op.getKeyStarts(),
            op.getKeyLengths(),
            /*seed=*/{},
            /*step=*/{},
            /*heads=*/type.getDimSize(1),
            /*stream=*/0,
            /*scale=*/1,
            /*dropout=*/0,
            op.getQuerySize(),
            op.getKeySize(),
            /*mask=*/nullptr,
            /*score=*/nullptr,
            /*scoreGradient=*/nullptr,
            keyRows,
            users,
            /*pairKeys=*/type.getDimSize(2)};
  }

  /// The same with the heads of a group as rows of a query, where all of the kernel around `anchor` can have them so:
  /// a workgroup then reads keys once for all of them.
  Attention withMembers(KernelEmitter &emitter, Operation *anchor) const {
    Attention result = *this;
    if (emitter.isElementwiseAround(anchor))
      result.members = group();
    return result;
  }

  /// Columns of a head.
  int64_t width() const { return cast<RankedTensorType>(query.getType()).getDimSize(1) / heads; }
  /// Heads of keys and values, and how many of queries each is for.
  int64_t keyHeads() const { return cast<RankedTensorType>(key.getType()).getDimSize(1) / width(); }
  int64_t group() const { return heads / keyHeads(); }
};

} // namespace mlir::heddle

#endif
