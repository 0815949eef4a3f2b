// Attention of one query for each sequence has a workgroup for each head that keys have. If there are few sequences, most
// processors of a GPU get nothing, and a thread reads one head's columns from all rows of a cache. With parts of the
// keys, all processors get work, and the workgroups of a part read neighbouring columns of the same few rows:
//
//   y = attention q, k, v    =>    p, l = attention q, k, v {part_keys = 128}
//                                  y = merge_parts p, l
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_SPLITKEYSPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Keys of a part. A thread of a processor then reads 64 KiB of a head's keys and values, and finds the neighbouring
/// heads' columns in its second cache (docs/cpu-kernels.md).
constexpr int64_t kPartKeys = 128;
constexpr int64_t kMostParts = 64;
/// The number of keys of a part is a multiple of this, and so of the steps of kernels.
constexpr int64_t kStep = 32;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns a type with the columns of `parts` tensors side by side.
RankedTensorType repeated(Value value, int64_t parts) {
  RankedTensorType type = typeOf(value);
  return type.clone(ArrayRef<int64_t>{type.getDimSize(0), type.getDimSize(1) * parts});
}

struct SplitKeysPass : mlir::heddle::impl::SplitKeysPassBase<SplitKeysPass> {
  void runOnOperation() override {
    maxima = getSizeMaxima(getOperation());
    getOperation()->walk([&](AttentionOp op) {
      if (suits(op))
        split(op);
    });
  }

private:
  /// Returns true if attention to a part can be computed without the index of its first key, and if nothing but the result
  /// is used.
  static bool suits(AttentionOp op) {
    if (!op.getQuerySize().empty() || op.getSeed() || !op.getMask().empty() || op.getPartKeys() != 0 ||
        !op.getLogSumExp().use_empty())
      return false;
    return op.getScore().empty() ||
           llvm::all_of(op.getScore().getArguments().slice(1, 2), [](Value index) { return index.use_empty(); });
  }

  int64_t maximumRows(Value value) const {
    RankedTensorType type = typeOf(value);
    return type.isDynamicDim(0) ? maxima.lookup(getSizeName(type, 0)) : type.getDimSize(0);
  }

  void split(AttentionOp op) const {
    int64_t rows = maximumRows(op.getKey()), queries = maximumRows(op.getQuery());
    int64_t keys = op.getKeySize().empty() ? rows : maxima.lookup(op.getKeySize());
    // The results of parts have no more rows than the cache. Attention of many queries has enough workgroups.
    int64_t most = std::min<int64_t>(
        {kMostParts, rows / std::max<int64_t>(queries, 1), static_cast<int64_t>(llvm::divideCeil(keys, kPartKeys))});
    if (most < 2)
      return;
    auto partKeys = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(keys, most), kStep));
    auto parts = static_cast<int64_t>(llvm::divideCeil(keys, partKeys));
    if (parts < 2)
      return;
    OpBuilder b(op);
    auto ofParts = cast<AttentionOp>(b.clone(*op));
    ofParts.getSinkMutable().clear();
    ofParts.setPartKeys(static_cast<uint64_t>(partKeys));
    ofParts.getResult().setType(repeated(op.getResult(), parts));
    ofParts.getLogSumExp().setType(repeated(op.getLogSumExp(), parts));
    auto merged = MergePartsOp::create(
        b, op.getLoc(), op.getResult().getType(), ofParts.getResult(), ofParts.getLogSumExp(), op.getQueryStarts(),
        op.getQueryLengths(), op.getKeyLengths(), op.getSink(), op.getHeads(), static_cast<uint64_t>(partKeys));
    op.getResult().replaceAllUsesWith(merged.getResult());
    op.erase();
  }

  SizeMaxima maxima;
};

} // namespace
