// Arithmetic and memory traffic of kernels, counted from their ops.
#ifndef HEDDLE_COMPILER_COST_COST_H
#define HEDDLE_COMPILER_COST_COST_H

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle {

/// The name of the attribute that holds a kernel's or a launch's CostAttr.
inline constexpr StringLiteral kCostAttrName = "heddle.cost";

/// Marks an op that computes what another one did: its work is none of the model's.
inline constexpr StringLiteral kRecomputedAttrName = "heddle.recomputed";

/// A sum of terms: a number times run-time sizes, times a count of pairs. Like terms are one.
class Amount {
public:
  Amount() = default;
  Amount(int64_t constant) { add({constant, {}, {}}); }
  Amount(PairsAttr pairs) { add({1, {}, pairs}); }
  /// The extent of a tensor's dimension, all its elements, and their bytes.
  static Amount extent(Type tensor, int64_t dim);
  static Amount elements(Type tensor);
  static Amount bytes(Type tensor);

  Amount &operator+=(const Amount &other);
  /// Of counts of pairs a product may hold one.
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

/// What each run-time size is at most, by name.
using SizeMaxima = llvm::StringMap<int64_t>;
SizeMaxima getSizeMaxima(ModuleOp module);

/// The value of a formula when every size is at its maximum.
int64_t evaluateAtMaximum(ArrayRef<TermAttr> terms, const SizeMaxima &maxima);

/// Which keys a query sees, from the query's own place on: -1 is no bound. An absent region, and one whose arithmetic
/// is not understood, has no bounds.
struct Band {
  int64_t below = -1, above = -1;
};
Band findBand(Region &mask);

/// What ops must know to count themselves.
class CostCounter {
public:
  explicit CostCounter(ModuleOp module);

  /// The cost of a kernel, or failure after an error at an op that cannot say its own.
  FailureOr<CostAttr> count(KernelOp kernel);

  /// With every size at its maximum.
  int64_t maximumOf(const Amount &amount);

  /// The (query, key) pairs that `attention` (heddle.attention or one of its gradients) visits for each head, and its
  /// keys: from the sequences' lengths where those are inputs of the entry, else the most that there can be.
  template <typename AttentionLike> Amount pairs(AttentionLike attention) {
    return pairs(attention.getQueryLengths(), attention.getKeyLengths(), attention.getQuery().getType(),
                 attention.getKey().getType(), attention.getQuerySize(), attention.getKeySize(),
                 findBand(attention.getMask()));
  }
  template <typename AttentionLike> Amount keys(AttentionLike attention) {
    return pairs(Value(), attention.getKeyLengths(), attention.getQuery().getType(), attention.getKey().getType(), "",
                 attention.getKeySize(), {});
  }
  /// The pairs of queries and keys, of these types, in all sequences of an op on scores in memory.
  template <typename PairsOp> Amount pairs(PairsOp op, Type query, Type key) {
    return pairs(op.getQueryLengths(), op.getKeyLengths(), query, key, op.getQuerySize(), op.getKeySize(), {});
  }

private:
  Amount pairs(Value queryLengths, Value keyLengths, Type query, Type key, StringRef querySize, StringRef keySize,
               Band band);
  /// The name of the entry's input that a value inside of the kernel stands for, or nothing.
  StringRef entryInput(Value value);
  Amount bytesRead(BlockArgument argument);

  MLIRContext *context;
  SizeMaxima maxima;
};

/// Attaches CostOpInterface to the dialects' ops; `fuse` needs it.
void registerOpCosts(DialectRegistry &registry);

} // namespace mlir::heddle

#include "compiler/Cost/CostInterface.h.inc"

#endif
