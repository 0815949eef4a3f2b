// The parameters that all attention kernels share, whatever op they compute.
#pragma once

#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// The common parameters of heddle.attention, of the two halves of its gradient, and of ops on scores in memory.
struct Attention {
  Value query, key, queryStarts, queryLengths, keyStarts, keyLengths, seed, step;
  int64_t heads, stream;
  double scale, dropout;
  StringRef querySize, keySize; // sizes that bound a sequence's length; empty: one row each
  Region *mask;                 // null if only sequences restrict what a query sees
  Region *score;                // null if nothing acts on scaled scores
  Region *scoreGradient;        // null without `score`, and in the forward pass
  Value keyRows;                // row numbers of a sequence's keys, if not contiguous; else null
  ValueRange users = {};        // lists of each key's pairs, if keys own pairs and find them by lists
  int64_t pairKeys = 0;         // keys per query and head, if scores are in memory
  bool hasTensorOperands = false;
  int64_t parts = 1, partKeys = 0; // parts of a query's keys that have results of their own, and the keys of each
  bool together = false;           // a tile's rows are neighbouring queries, each the only one of its sequence
  int64_t members = 1;             // tile rows per query: the heads of its group, one after the other

  static Value keyRowsOf(AttentionOp op) { return op.getKeyRows(); }
  static Value keyRowsOf(Operation *) { return {}; } // gradients support only contiguous keys
  template <typename GradOp> static Region *scoreGradientOf(GradOp op) { return orNull(op.getScoreGradient()); }
  static Region *scoreGradientOf(AttentionOp) { return nullptr; }
  static Region *orNull(Region &region) { return region.empty() ? nullptr : &region; }

  static std::pair<int64_t, int64_t> partsOf(AttentionOp op) {
    auto columns = [](Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(1); };
    return {columns(op.getResult()) / columns(op.getQuery()), static_cast<int64_t>(op.getPartKeys())};
  }
  static std::pair<int64_t, int64_t> partsOf(Operation *) { return {1, 0}; }

  template <typename AttentionLike> static Attention of(AttentionLike op) {
    auto [parts, partKeys] = partsOf(op);
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
            heddle::hasTensorOperands(op, op.getQuery()),
            parts,
            partKeys};
  }

  /// For an op on `scores` in memory. `query` and `key` are the matrices with the queries' rows and the keys' rows.
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

  /// Returns a copy in which a query has a row for each head of its group, if the whole kernel around `anchor` allows
  /// it. A workgroup then reads keys once for all of these heads.
  Attention withMembers(KernelEmitter &emitter, Operation *anchor) const {
    Attention result = *this;
    if (emitter.isElementwiseAround(anchor))
      result.members = group();
    return result;
  }

  /// Columns of a head.
  int64_t width() const { return cast<RankedTensorType>(query.getType()).getDimSize(1) / heads; }
  /// The number of heads of keys and values, and the number of query heads that share each of them.
  int64_t keyHeads() const { return cast<RankedTensorType>(key.getType()).getDimSize(1) / width(); }
  int64_t group() const { return heads / keyHeads(); }
};

} // namespace mlir::heddle
