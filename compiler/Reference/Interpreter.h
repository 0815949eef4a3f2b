// The reference interpreter of the graph dialect: the meaning of each op, as plain loops in f64. See README.md beside
// this file.
#pragma once

#include "compiler/Reference/Array.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <memory>

namespace mlir::heddle::reference {

/// Runs entries of a module of ops on tensors, from phase `import` to phase `fuse`. Variables keep their values from
/// call to call and begin as zeros. The module must outlive the interpreter.
class Interpreter {
public:
  explicit Interpreter(ModuleOp module);

  /// Gets the results of each op outside of regions as soon as they are known.
  using Observer = std::function<void(Operation *op, ArrayRef<const Array *> results)>;
  void observe(Observer observer) { this->observer = std::move(observer); }

  /// Returns the entry's outputs. Fails after an error, at the op or the function, if the inputs do not have the
  /// entry's shapes, an op has no meaning here, or an index is out of range.
  FailureOr<SmallVector<Array>> call(func::FuncOp entry, ArrayRef<Array> inputs);

  /// Returns the variable of a name, or null. A view's value is the rows that it shows.
  VariableOp findVariable(StringRef name) const { return variables.lookup(name); }
  Array getVariable(VariableOp variable) const;
  /// `value` must have the variable's shape.
  void setVariable(VariableOp variable, const Array &value);

  /// Returns the value of a run-time size in the current call, or zero if nothing gave it one.
  int64_t getSize(StringRef name) const { return sizes.lookup(name); }
  void setSize(StringRef name, int64_t value) { sizes[name] = value; }

private:
  friend class Frame;
  /// The memory of a variable: the variable that stores it, which is no view, and the offset there, in elements.
  struct Place {
    StringRef storage;
    int64_t offset;
  };
  /// Follows views, which may be of other views.
  Place placeOf(VariableOp variable) const;
  LogicalResult bindSizes(func::FuncOp entry, ArrayRef<Array> inputs);
  LogicalResult bindSize(func::FuncOp entry, SizeOp size, ArrayRef<Array> inputs, llvm::StringMap<int64_t> &seen);

  ModuleOp module;
  llvm::StringMap<VariableOp> variables;
  llvm::StringMap<Array> memory; // of variables that are no views
  llvm::StringMap<int64_t> sizes;
  Observer observer;
};

/// The values of a block while it runs.
class Frame {
public:
  /// `parent` is the frame of the op with the region. It is null if the region may not read values from outside.
  Frame(Interpreter &interpreter, const Frame *parent) : interpreter(interpreter), parent(parent) {}

  /// Runs all ops of the block, and returns the operands of its terminator.
  FailureOr<SmallVector<Array>> run(Block &block, ArrayRef<Array> arguments);

  const Array &get(Value value) const;
  /// Sets `value` to zeros of the shape that it has in this call.
  Array &make(Value value);
  Array &set(Value value, Array array);

  Interpreter &getInterpreter() { return interpreter; }
  int64_t size(StringRef name) const { return interpreter.getSize(name); }

private:
  Interpreter &interpreter;
  const Frame *parent;
  DenseMap<Value, std::unique_ptr<Array>> values; // pointers, so that references stay valid
};

/// Runs a region of arithmetic on single numbers for many numbers at once. An argument with one number serves all.
FailureOr<Array> runElementwise(Region &region, Frame &frame, ArrayRef<Array> arguments);

} // namespace mlir::heddle::reference
