// Arithmetic and memory traffic of kernels, counted from their ops.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle {

/// The name of the attribute that holds a kernel's or a launch's CostAttr.
inline constexpr StringLiteral kCostAttrName = "heddle.cost";

/// Marks an op that repeats another op's computation. Its work does not count as the model's.
inline constexpr StringLiteral kRecomputedAttrName = "heddle.recomputed";

/// A sum of terms. Each term is a coefficient times run-time sizes, and times a count of (query, key) pairs if it has
/// one. Like terms are merged.
class Amount {
public:
  Amount() = default;
  Amount(int64_t constant) { add({constant, {}, {}}); }
  Amount(PairsAttr pairs) { add({1, {}, pairs}); }
  /// The extent of a tensor's dimension, the number of its elements, and its size in bytes.
  static Amount extent(Type tensor, int64_t dim);
  static Amount elements(Type tensor);
  static Amount bytes(Type tensor);

  Amount &operator+=(const Amount &other);
  /// A resulting term may contain only one count of pairs. Asserts this.
  Amount operator*(const Amount &other) const;

  bool operator==(const Amount &other) const { return terms == other.terms; }

  SmallVector<TermAttr> toTerms(MLIRContext *context) const;

private:
  struct Term {
    int64_t coefficient;
    SmallVector<StringAttr, 3> sizes; // by name, repeated for powers
    PairsAttr pairs;
    bool operator==(const Term &other) const = default;
  };
  void add(Term term);
  SmallVector<Term, 2> terms;
};

/// The maximum of each run-time size, by name.
using SizeMaxima = llvm::StringMap<int64_t>;
SizeMaxima getSizeMaxima(ModuleOp module);

/// Returns the value of a formula if every size is at its maximum.
int64_t evaluateAtMaximum(ArrayRef<TermAttr> terms, const SizeMaxima &maxima);

/// The keys that a query sees: from (its index - `below`) to (its index + `above`). -1 means no bound. A missing mask
/// region, or one whose arithmetic is not understood, has no bounds.
struct Band {
  int64_t below = -1, above = -1;
};
Band findBand(Region &mask);

/// Gives ops the sizes and pair counts that they need to count their costs.
class CostCounter {
public:
  explicit CostCounter(ModuleOp module);

  /// Returns the cost of a kernel. Emits an error and fails if an op cannot tell its cost.
  FailureOr<CostAttr> count(KernelOp kernel);

  /// The value of `amount` if every size is at its maximum.
  int64_t maximumOf(const Amount &amount);

  /// Returns the number of (query, key) pairs that `attention` (heddle.attention or one of its gradients) visits for
  /// each head, and the number of its keys. The counts follow the sequences' lengths if those are inputs of the entry.
  /// Otherwise they are upper bounds.
  template <typename AttentionLike> Amount pairs(AttentionLike attention) {
    return pairs(attention.getQueryLengths(), attention.getKeyLengths(), attention.getQuery().getType(),
                 attention.getKey().getType(), attention.getQuerySize(), attention.getKeySize(),
                 findBand(attention.getMask()));
  }
  template <typename AttentionLike> Amount keys(AttentionLike attention) {
    return pairs(Value(), attention.getKeyLengths(), attention.getQuery().getType(), attention.getKey().getType(), "",
                 attention.getKeySize(), {});
  }
  /// Returns the number of (query, key) pairs in all sequences of an op on scores in memory. `query` and `key` are the
  /// types of the matrices whose rows are queries and keys.
  template <typename PairsOp> Amount pairs(PairsOp op, Type query, Type key) {
    return pairs(op.getQueryLengths(), op.getKeyLengths(), query, key, op.getQuerySize(), op.getKeySize(), {});
  }

private:
  Amount pairs(Value queryLengths, Value keyLengths, Type query, Type key, StringRef querySize, StringRef keySize,
               Band band);
  /// Returns the name of the entry's input that is passed to the kernel as `value`, or an empty name.
  StringRef entryInput(Value value);
  Amount bytesRead(BlockArgument argument);
  /// Returns the largest number of groups that can have rows: the smaller one of the numbers of groups and of rows. May
  /// declare a size for it.
  Amount groupsWithRows(GroupedMatmulOp product);

  ModuleOp module;
  MLIRContext *context;
  SizeMaxima maxima;
};

/// Attaches CostOpInterface to the dialects' ops. Phase `fuse` needs it.
void registerOpCosts(DialectRegistry &registry);

} // namespace mlir::heddle

#include "compiler/Analysis/Cost/CostInterface.h.inc"
