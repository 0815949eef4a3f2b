// An entry under construction: ports by name, and the model functions that are inlined into it.
#pragma once

#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle {

/// The attribute of a model's functions.
inline constexpr StringLiteral kModelFunction = "heddle.model";

/// Returns the name (`heddle.name`) in the attributes of an argument or result, or empty.
StringRef getPortName(DictionaryAttr attributes);

/// The functions of a module that make up the model, found by their names.
struct ModelFunctions {
  explicit ModelFunctions(ModuleOp module);
  func::FuncOp memory, logits, loss, rate, hidden, pooled, next; // null if the model has none
  /// Returns true if answers are generated one token at a time.
  bool isDecoded() { return logits && (task.getName() == "translate" || task.getName() == "language"); }
  /// Returns true if the logits compare the vectors of texts.
  bool comparesVectors() { return pooled && task.getName() == "embed"; }
  /// Fails, after an error, unless each function is a block of ops whose arguments are tensors with names, and the
  /// module has none of `entries`, which are about to be derived.
  LogicalResult verify(ArrayRef<StringRef> entries = {}) const;
  TaskOp task;         // null if the module has no model functions
  TrainingOp training; // null if nothing is trained
};

/// How an entry treats dropout: if it acts, which counter its masks follow, and where its streams begin. Two training
/// entries draw from different streams.
struct EntryMode {
  bool trains = false;
  StringRef counter = {}; // empty: the counter of steps
  int32_t firstStream = 0;
};

/// Returns the smallest number above the streams of all dropout and samples in `module`.
int32_t getNextStream(ModuleOp module);

/// Replaces the noise of samples in the model functions by zero, so that entries derived from now on take the most
/// probable value. Only training draws samples.
LogicalResult takeLargest(ModuleOp module);

class EntryBuilder {
public:
  EntryBuilder(ModuleOp module, StringRef name, Location where, EntryMode mode = {});

  /// Returns the input `name`. The first call adds it. `role` says what it holds, as "source.positions".
  Value port(StringRef name, RankedTensorType type, std::optional<int64_t> limit = {}, StringRef role = {});
  bool hasPort(StringRef name) const { return ports.contains(name); }
  /// Returns the input for argument `index` of a model function.
  Value port(func::FuncOp function, unsigned index);
  /// Clones the body of a model function. Its arguments are results of functions inlined before, by name, or ports.
  void inlineFunction(func::FuncOp function);
  /// Clones an op of a model function, or only maps its results. Reads of a variable are shared. Outside of training,
  /// dropout passes its input on, and writes are left out.
  void inlineOp(Operation &op);
  /// Returns the result `name` of an inlined function, or null.
  Value result(StringRef name) const { return results.lookup(name); }
  void output(StringRef name, Value value);
  func::FuncOp finish();

  Value read(StringRef variable, RankedTensorType type, Location where);

  OpBuilder builder;
  IRMapping mapping; // from values of model functions

private:
  func::FuncOp entry;
  EntryMode mode;
  llvm::StringMap<Value> ports, results, reads;
  SmallVector<Attribute> inputAttrs, outputAttrs;
  SmallVector<Value> outputs;
};

/// Returns the type of a column whose extent is the run-time size `size`.
RankedTensorType columnOf(MLIRContext *context, StringRef size, Type element);

/// Declares a variable that training adds, in front of `before`, or of the module's functions if `before` is null.
void addVariable(ModuleOp module, Location where, VariableRole role, RankedTensorType type, double start,
                 Operation *before, StringRef owner = {});

/// Declares a variable, by default before the functions of the module. Callers must not use a name twice.
VariableOp addVariable(ModuleOp module, Location where, StringRef name, VariableKind kind, RankedTensorType type,
                       double start = 0, Operation *before = nullptr);

/// The state that training keeps for each weight in addition to its moments.
struct WeightState {
  bool averages = false;    // keeps an average of the weight over all steps
  bool accumulates = false; // sums gradients until a step is taken
};

/// Declares the moments and `state` of each weight, right after the weight, unless they are declared already.
void addStateOfWeights(ModuleOp module, WeightState state);

/// Returns the path of the part of the model that a value belongs to (its location's name), or empty.
StringRef getPath(Location where);

} // namespace mlir::heddle
