// The planner's view of an entry: its launches, the values between them, and the variables that it reads and writes.
#pragma once

#include "compiler/Analysis/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <vector>

namespace mlir::heddle {

/// The bytes of a tensor with all run-time sizes at their maxima.
int64_t getMaximumBytes(RankedTensorType type, const SizeMaxima &maxima);

/// The memory of a variable: `bytes` from `offset` on in the memory of the variable `storage`. For views `storage` is
/// another variable.
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

/// One tensor of an entry: an argument, a variable's value before the call, a launch's result, a part of another value,
/// a whole that consists of several values, memory that is not written yet, or a value with some rows updated.
struct EntryValue {
  struct Use {
    unsigned launch;
    unsigned input;
  };

  enum Kind { Argument, OldVariable, Result, Part, Whole, Empty, Updated };
  explicit EntryValue(Kind kind) : kind(kind) {}

  Kind kind;
  StringAttr variable; // of an OldVariable: the variable that owns the memory
  int64_t bytes = 0;
  /// The value that contains this one, at `offset` bytes. Set for parts of a value and for the operands of a whole.
  std::optional<unsigned> within;
  int64_t offset = 0;
  int64_t stride = 0;          // bytes between the parts of successive steps of a repetition
  SmallVector<unsigned> parts; // the operands of a Whole; the new rows of an Updated
  int64_t launch = -1;         // the launch that computes a Result
  unsigned result = 0;         // the number of a Result among the launch's results
  SmallVector<Use> uses;
  bool isOutput = false;
};

class EntryGraph {
public:
  using Id = unsigned;

  /// Builds the graph of a function of reads, writes, launches, repetitions and views. Fails after an error.
  static FailureOr<EntryGraph> build(func::FuncOp function, const SizeMaxima &maxima, const VariablePlaces &variables);

  /// Reorders the launches: launch `order[i]` moves to index i.
  void reorder(ArrayRef<unsigned> order);

  /// Adds a copy of `launch`. The values that variables get come from the copy instead of the original.
  void repeatForWrites(unsigned launch);

  /// The bytes of a launch's results.
  int64_t getResultBytes(unsigned launch) const;

  /// Returns true if a launch is a collective operation of several ranks instead of a kernel's launch.
  bool isCollective(unsigned launch) const { return heddle::isCollective(launches[launch]); }

  /// The input whose memory result `result` of a launch may reuse; nothing if there is none.
  std::optional<Id> getReuse(unsigned launch, unsigned result) const;
  /// Returns true if the result must reuse that memory, because the kernel writes only a part of it.
  bool isInPlace(unsigned launch) const;

  /// The location of a value: the value whose memory contains it, and its offset there in bytes.
  struct Location {
    Id root;
    int64_t offset;
  };
  Location locate(Id value) const;
  /// All values that overlap `value` in memory, itself included.
  SmallVector<Id> getOverlapping(Id value) const;
  /// All values that overlap the given bytes of a root.
  SmallVector<Id> getOverlapping(Id root, int64_t offset, int64_t bytes) const;

  /// Calls `visit` with each launch that computes `value` or a part of it.
  void forEachProducer(Id value, function_ref<void(unsigned)> visit) const;

  /// Returns true if `launch` uses values that overlap `value` only as the input whose memory `result` may reuse.
  bool isOnlyReuse(Id value, unsigned launch, unsigned result) const;

  const VariablePlace &placeOf(StringAttr variable) const { return variables->find(variable)->second; }

  /// The values before the call in a variable's memory, as far as the entry reads them.
  SmallVector<Id> getOldValues(StringAttr variable) const;

  func::FuncOp function;
  SmallVector<Operation *> launches; // tile.launch, or collectives
  SmallVector<EntryValue> values;
  SmallVector<SmallVector<Id>> inputs;  // by launch
  SmallVector<SmallVector<Id>> results; // by launch
  SmallVector<Id> arguments;
  SmallVector<Id> outputs;
  /// A range of launches that runs once per step.
  struct Loop {
    unsigned first, end; // the launches [first, end)
    RepeatOp op;
    Id counts; // the number of rows of each step
  };
  SmallVector<Loop> loops;
  const Loop *findLoop(unsigned launch) const;

  /// The value of each written variable after the call, and its last write.
  struct Write {
    Id value;
    WriteOp op;
  };
  llvm::MapVector<StringAttr, Write> writes;

private:
  LogicalResult addOps(Block &block, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);
  int64_t getReusedInput(unsigned launch, unsigned result) const; // the input's number, or -1
  void addLaunch(Operation *launch, DenseMap<Value, Id> &ids, const SizeMaxima &maxima, bool isRepeated);
  LogicalResult addLoop(RepeatOp repeat, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);
  LogicalResult addReplacement(ReplaceFirstOp replace, DenseMap<Value, Id> &ids);
  Id addElement(Id vector);
  Id addValue(EntryValue value);
  FailureOr<Id> readVariable(ReadOp read, const SizeMaxima &maxima);
  LogicalResult addPart(SliceOp slice, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);
  LogicalResult addWhole(ConcatOp concat, DenseMap<Value, Id> &ids, const SizeMaxima &maxima);

  const VariablePlaces *variables = nullptr;
  mutable std::vector<SmallVector<Id>> members; // by root: the values in its memory; computed on demand
  DenseMap<StringAttr, Id> oldValues;           // by the variable that owns the memory
};

} // namespace mlir::heddle
