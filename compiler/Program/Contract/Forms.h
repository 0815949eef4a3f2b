// Compile-time analysis of i32 values: their form as sums of inputs and sizes, and their bounds.
#pragma once

#include "compiler/Analysis/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::heddle {

/// Attribute of entries' arguments and of variables: all values lie in [0, limit).
inline constexpr StringLiteral kLimitAttrName = "heddle.limit";

/// An extent: a run-time size, or a number if `size` is null.
struct Extent {
  StringAttr size;
  int64_t number = 0;

  static Extent of(Value tensor, int64_t dim);
  /// The extent of a size, or 1 if its name is empty, as in ops that name the length of the longest sequence.
  static Extent ofSize(StringAttr size);
};

/// A vector of numbers as a sum: a constant plus terms. A term is a coefficient times a run-time size, or times the
/// elements of a value, starting at element `from`. The elements of a matrix count as one unknown number.
struct Form {
  struct Term {
    Value value;
    StringAttr size; // if `value` is null
    int64_t from;
    int64_t coefficient;
  };
  SmallVector<Term> terms;
  int64_t constant = 0;

  static Form ofConstant(int64_t constant) { return {{}, constant}; }
  static Form ofExtent(const Extent &extent);
  /// Follows additions, subtractions, multiplications by constants, slices and broadcasts of single elements back to
  /// their sources.
  static Form ofValue(Value value);

  Form plus(const Form &other, int64_t times = 1) const;
};

/// The known bounds of a module's values.
class Bounds {
public:
  explicit Bounds(ModuleOp module);

  /// Returns true if the form is provably nonnegative for all calls that respect the limits of their inputs.
  bool isNonNegative(const Form &form) const { return isNonNegative(form, kDepth); }

  int64_t maximumOf(const Extent &extent) const { return extent.size ? maxima.lookup(extent.size) : extent.number; }

  /// Variables whose values lie in [0, limit).
  DenseMap<StringAttr, int64_t> variableLimits;

private:
  static constexpr unsigned kDepth = 6;

  struct Range {
    int64_t low, high;
  };
  Range rangeOf(Value value, unsigned depth) const;
  Range rangeOf(const Form::Term &term) const;
  bool isNonNegative(const Form &form, unsigned depth) const;
  /// Forms that bound the term's value: each of them does, from above or from below. If `isChoice`, the value is one of
  /// the forms, but it is unknown which one.
  struct Substitutes {
    SmallVector<Form, 2> forms;
    bool isChoice = false;
  };
  Substitutes substitutesFor(const Form::Term &term, bool above) const;

  SizeMaxima maxima;
  llvm::StringMap<SmallVector<StringAttr>> longest; // by input: the sizes whose value is its largest element
};

/// The name of an entry's input; null for all other values.
StringAttr inputName(Value value);

} // namespace mlir::heddle
