// What is known at compile time of i32 values: sums of inputs and sizes, and bounds of them.
#ifndef HEDDLE_COMPILER_CONTRACT_FORMS_H
#define HEDDLE_COMPILER_CONTRACT_FORMS_H

#include "compiler/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::heddle {

/// On arguments of entries and on variables: every value lies in [0, limit).
inline constexpr StringLiteral kLimitAttrName = "heddle.limit";

/// An extent: a run-time size, or a number where there is no size.
struct Extent {
  StringAttr size;
  int64_t number = 0;

  static Extent of(Value tensor, int64_t dim);
  /// That of the size named, or 1: as ops name the longest sequence.
  static Extent ofSize(StringAttr size);
};

/// A number at each place of a vector: a constant, and terms that are a coefficient times either the elements of a
/// value from a number on or a run-time size. Elements of a matrix count as one unknown number.
struct Form {
  struct Term {
    Value value;
    StringAttr size; // where there is no value
    int64_t from;
    int64_t coefficient;
  };
  SmallVector<Term> terms;
  int64_t constant = 0;

  static Form ofConstant(int64_t constant) { return {{}, constant}; }
  static Form ofExtent(const Extent &extent);
  /// Follows additions, subtractions, products with constants, slices and broadcasts of single elements to where the
  /// numbers come from.
  static Form ofValue(Value value);

  Form plus(const Form &other, int64_t times = 1) const;
};

/// What is known of a module's values.
class Bounds {
public:
  explicit Bounds(ModuleOp module);

  /// Whether the form is proven not to be negative, whatever a call brings within the limits of its inputs.
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
  /// Forms of which each bounds the term's value, from above or from below; or, where `isChoice`, among which the value
  /// is an unknown choice.
  struct Substitutes {
    SmallVector<Form, 2> forms;
    bool isChoice = false;
  };
  Substitutes substitutesFor(const Form::Term &term, bool above) const;

  SizeMaxima maxima;
  llvm::StringMap<SmallVector<StringAttr>> longest; // by input: the sizes that are its largest value
};

/// The name of an entry's input, or null for any other value.
StringAttr inputName(Value value);

} // namespace mlir::heddle

#endif
