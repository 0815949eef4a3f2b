// An entry as planning sees it: launches, the values between them, and what becomes of the variables.
#ifndef HEDDLE_COMPILER_PLANNING_ENTRYGRAPH_H
#define HEDDLE_COMPILER_PLANNING_ENTRYGRAPH_H

#include "compiler/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <vector>

namespace mlir::heddle {

/// The bytes of a tensor when every run-time size is at its maximum.
int64_t getMaximumBytes(RankedTensorType type, const SizeMaxima &maxima);

/// Bytes of a variable's memory. A view lies in another variable's.
struct VariablePlace {
  StringAttr storage;
  int64_t offset;
  int64_t bytes;
  bool isSharded = false;

  bool overlaps(const VariablePlace &other) const {
    return storage == other.storage && offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};
using VariablePlaces = DenseMap<StringAttr, VariablePlace>;
VariablePlaces getVariablePlaces(ModuleOp module);

/// One tensor of an entry: an argument, a variable's value before the call, a launch's result, or a view: part of
/// another value, the whole of several, memory that nothing was written to yet, or a value of which some rows are new.
struct EntryValue {
  struct Use {
    unsigned launch;
    unsigned input;
  };

  enum Kind { Argument, OldVariable, Result, Part, Whole, Empty, Updated };
  explicit EntryValue(Kind kind) : kind(kind) {}

  Kind kind;
  StringAttr variable; // of an OldVariable: whose memory it is, the storage of a view
  int64_t bytes = 0;
  /// A value that lies within another one, from a byte on. A part does, and what a whole is made of.
  std::optional<unsigned> within;
  int64_t offset = 0;
  int64_t stride = 0;          // bytes from the part that one step of a repetition takes to that of the next
  SmallVector<unsigned> parts; // of a Whole, and the new ones of an Updated
  int64_t launch = -1;         // that makes a Result, and which of its results it is
  unsigned result = 0;
  SmallVector<Use> uses;
  bool isOutput = false;
};

class EntryGraph {
public:
  using Id = unsigned;

  /// Reads a function of `heddle.read`, `heddle.write`, `tile.launch` and `func.return`; failure after an error.
  static FailureOr<EntryGraph> build(func::FuncOp function, const SizeMaxima &maxima, const VariablePlaces &variables);

  /// Puts launch `order[i]` at place i.
  void reorder(ArrayRef<unsigned> order);

  /// Adds a second launch like `launch` and lets it, not the first one, make what the first one gave to variables.
  void repeatForWrites(unsigned launch);

  /// The bytes of a launch's results.
  int64_t getResultBytes(unsigned launch) const;

  /// Whether it is no launch of a kernel, but what several ranks do together.
  bool isCollective(unsigned launch) const { return heddle::isCollective(launches[launch]); }

  /// The input whose memory result `result` of a launch may take over, or none.
  std::optional<Id> getReuse(unsigned launch, unsigned result) const;
  /// Whether the result must take that memory over: the kernel writes only a part of it.
  bool isInPlace(unsigned launch) const;

  /// Where a value lies: in which value that has memory of its own, and from which byte on.
  struct Location {
    Id root;
    int64_t offset;
  };
  Location locate(Id value) const;
  /// All values that share memory with `value` to some extent, itself included.
  SmallVector<Id> getOverlapping(Id value) const;
  /// Those of them that lie in the given bytes of a root.
  SmallVector<Id> getOverlapping(Id root, int64_t offset, int64_t bytes) const;

  /// Calls `visit` with each launch that makes some of `value`.
  void forEachProducer(Id value, function_ref<void(unsigned)> visit) const;

  /// Whether `launch` uses what overlaps `value` only as the input whose memory `result` may take over.
  bool isOnlyReuse(Id value, unsigned launch, unsigned result) const;

  const VariablePlace &placeOf(StringAttr variable) const { return variables->find(variable)->second; }

  /// The values that lie in a variable's memory before the call, those that the entry reads.
  SmallVector<Id> getOldValues(StringAttr variable) const;

  func::FuncOp function;
  SmallVector<Operation *> launches; // tile.launch, or what several ranks do together
  SmallVector<EntryValue> values;
  SmallVector<SmallVector<Id>> inputs;  // by launch
  SmallVector<SmallVector<Id>> results; // by launch
  SmallVector<Id> arguments;
  SmallVector<Id> outputs;
  /// Launches that are done step after step.
  struct Loop {
    unsigned first, end; // the launches
    RepeatOp op;
    Id counts; // the number of rows of a step
  };
  SmallVector<Loop> loops;
  const Loop *findLoop(unsigned launch) const;

  /// The value that each written variable has after the call, and the last write of it.
  struct Write {
    Id value;
    WriteOp op;
  };
  llvm::MapVector<StringAttr, Write> writes;

private:
  LogicalResult addOps(Block &block, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);
  int64_t getReusedInput(unsigned launch, unsigned result) const; // its number, or -1
  void addLaunch(Operation *launch, DenseMap<Value, Id> &ids, const SizeMaxima &maxima, bool isRepeated);
  LogicalResult addLoop(RepeatOp repeat, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);
  LogicalResult addReplacement(ReplaceFirstOp replace, DenseMap<Value, Id> &ids);
  Id addElement(Id vector);
  Id addValue(EntryValue value);
  FailureOr<Id> readVariable(ReadOp read, const SizeMaxima &maxima);
  LogicalResult addPart(SliceOp slice, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);
  LogicalResult addWhole(ConcatOp concat, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);

  const VariablePlaces *variables = nullptr;
  mutable std::vector<SmallVector<Id>> members; // by root: what lies in it; filled when asked for
  DenseMap<StringAttr, Id> oldValues;           // by storage
};

} // namespace mlir::heddle

#endif
