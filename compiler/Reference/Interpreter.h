// The reference interpreter of the graph dialect: what each op means, as plain loops in f64. See README.md beside this
// file.
#ifndef HEDDLE_COMPILER_REFERENCE_INTERPRETER_H
#define HEDDLE_COMPILER_REFERENCE_INTERPRETER_H

#include "compiler/Reference/Array.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <memory>

namespace mlir::heddle::reference {

/// Runs entries of a module of ops on tensors, from phase `import` to phase `fuse`. Variables keep their values from
/// call to call and begin as zeros. The module must outlive it.
class Interpreter {
public:
  explicit Interpreter(ModuleOp module);

  /// Sees the results of each op outside of regions as soon as they are known.
  using Observer = std::function<void(Operation *op, ArrayRef<const Array *> results)>;
  void observe(Observer observer) { this->observer = std::move(observer); }

  /// The entry's outputs. Fails after an error, at the op or the function, where the inputs are not of the entry's
  /// shapes, an op has no meaning here, or an index lies outside of what it indexes.
  FailureOr<SmallVector<Array>> call(func::FuncOp entry, ArrayRef<Array> inputs);

  /// A variable by its name; a view is its rows. Null where there is none.
  VariableOp findVariable(StringRef name) const { return variables.lookup(name); }
  Array getVariable(VariableOp variable) const;
  /// `value` must have the variable's shape.
  void setVariable(VariableOp variable, const Array &value);

  /// The value that a run-time size has in the call that goes on. Zero where nothing gave it one.
  int64_t getSize(StringRef name) const { return sizes.lookup(name); }
  void setSize(StringRef name, int64_t value) { sizes[name] = value; }

private:
  friend class Frame;
  /// Where a variable lies: in the memory of one that is no view, behind so many numbers.
  struct Place {
    StringRef storage;
    int64_t offset;
  };
  /// A view may be one of another view.
  Place placeOf(VariableOp variable) const;
  LogicalResult bindSizes(func::FuncOp entry, ArrayRef<Array> inputs);
  LogicalResult bindSize(func::FuncOp entry, SizeOp size, ArrayRef<Array> inputs, llvm::StringMap<int64_t> &seen);

  ModuleOp module;
  llvm::StringMap<VariableOp> variables;
  llvm::StringMap<Array> memory; // of variables that are no views
  llvm::StringMap<int64_t> sizes;
  Observer observer;
};

/// The values of a block that is being run.
class Frame {
public:
  /// `parent`: the frame of the op whose region it is; null where none of its values may be read there.
  Frame(Interpreter &interpreter, const Frame *parent) : interpreter(interpreter), parent(parent) {}

  /// Runs all ops of the block, and returns what its terminator gives.
  FailureOr<SmallVector<Array>> run(Block &block, ArrayRef<Array> arguments);

  const Array &get(Value value) const;
  /// Zeros of the shape that `value` has in this call.
  Array &make(Value value);
  Array &set(Value value, Array array);

  Interpreter &getInterpreter() { return interpreter; }
  int64_t size(StringRef name) const { return interpreter.getSize(name); }

private:
  Interpreter &interpreter;
  const Frame *parent;
  DenseMap<Value, std::unique_ptr<Array>> values; // so that they stay where they are
};

/// Runs a region of arithmetic on single numbers for many of them at once: each argument has as many, or one for all.
FailureOr<Array> runElementwise(Region &region, Frame &frame, ArrayRef<Array> arguments);

} // namespace mlir::heddle::reference

#endif
