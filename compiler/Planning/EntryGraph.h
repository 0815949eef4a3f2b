// An entry as planning sees it: launches, the values between them, and what becomes of the variables.
#ifndef HEDDLE_COMPILER_PLANNING_ENTRYGRAPH_H
#define HEDDLE_COMPILER_PLANNING_ENTRYGRAPH_H

#include "dialects/Heddle/Heddle.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle {

/// The bytes of a tensor when every run-time size is at its maximum.
using SizeMaxima = llvm::StringMap<int64_t>;
SizeMaxima getSizeMaxima(ModuleOp module);
int64_t getMaximumBytes(RankedTensorType type, const SizeMaxima &maxima);

/// One tensor of an entry: an argument, a variable's value before the call, or a launch's result.
struct EntryValue {
  struct Use {
    unsigned launch;
    unsigned input;
  };

  enum Kind { Argument, OldVariable, Result };
  explicit EntryValue(Kind kind) : kind(kind) {}

  Kind kind;
  StringAttr variable; // of an OldVariable
  int64_t bytes = 0;
  int64_t launch = -1; // that makes a Result, and which of its results it is
  unsigned result = 0;
  SmallVector<Use> uses;
  bool isOutput = false;
};

class EntryGraph {
public:
  using Id = unsigned;

  /// Reads a function of `heddle.read`, `heddle.write`, `tile.launch` and `func.return`; failure after an error.
  static FailureOr<EntryGraph> build(func::FuncOp function, const SizeMaxima &maxima);

  /// Puts launch `order[i]` at place i.
  void reorder(ArrayRef<unsigned> order);

  /// Adds a second launch like `launch` and lets it, not the first one, make what the first one gave to variables.
  void repeatForWrites(unsigned launch);

  /// The bytes of a launch's results.
  int64_t getResultBytes(unsigned launch) const;

  /// The input whose memory result `result` of a launch may take over, or none.
  std::optional<Id> getReuse(unsigned launch, unsigned result) const;
  /// Whether the result must take that memory over: the kernel writes only a part of it.
  bool isInPlace(unsigned launch) const;

  /// Whether `launch` uses `value` only as the input whose memory `result` may take over.
  bool isOnlyReuse(Id value, unsigned launch, unsigned result) const;

  /// A variable's value before the call, if the entry reads it.
  std::optional<Id> getOldValue(StringAttr variable) const;

  func::FuncOp function;
  SmallVector<tile::LaunchOp> launches;
  SmallVector<EntryValue> values;
  SmallVector<SmallVector<Id>> inputs;  // by launch
  SmallVector<SmallVector<Id>> results; // by launch
  SmallVector<Id> arguments;
  SmallVector<Id> outputs;
  /// The value that each written variable has after the call, and the last write of it.
  struct Write {
    Id value;
    WriteOp op;
  };
  llvm::MapVector<StringAttr, Write> writes;

private:
  Id addValue(EntryValue value);

  DenseMap<StringAttr, Id> oldValues;
};

} // namespace mlir::heddle

#endif
