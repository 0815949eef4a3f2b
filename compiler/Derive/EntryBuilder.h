// An entry under construction: ports by name, and model functions put into it.
#ifndef HEDDLE_COMPILER_DERIVE_ENTRYBUILDER_H
#define HEDDLE_COMPILER_DERIVE_ENTRYBUILDER_H

#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle {

/// The attribute of a model's functions.
inline constexpr StringLiteral kModelFunction = "heddle.model";

/// What is called `name` among `attributes` of arguments or results.
StringRef getPortName(DictionaryAttr attributes);

/// The functions of a module that make up the model, found by their names.
struct ModelFunctions {
  explicit ModelFunctions(ModuleOp module);
  func::FuncOp memory, logits, loss, rate, hidden, pooled, next; // null where the model has none
  /// Whether an answer is made a token at a time.
  bool isDecoded() { return logits && (task.getName() == "translate" || task.getName() == "language"); }
  /// Fails, after an error, unless each function is a block of ops whose arguments are tensors with names, and the
  /// module has none of `entries`, which are about to be made of them.
  LogicalResult verify(ArrayRef<StringRef> entries = {}) const;
  TaskOp task;         // null where the module has no model's functions
  TrainingOp training; // null where nothing is trained
};

/// Whether dropout acts in an entry, the counter that its masks follow, and what its streams begin at: two entries of
/// training draw from streams of their own.
struct EntryMode {
  bool trains = false;
  StringRef counter = {}; // empty: the steps
  int32_t firstStream = 0;
};

/// The number above those of all streams that dropout and samples draw from in `module`.
int32_t getNextStream(ModuleOp module);

/// Training alone draws samples: in the model's functions of `module` the noise becomes zero, so that the entries which
/// are made of them from now on take the most probable.
LogicalResult takeLargest(ModuleOp module);

class EntryBuilder {
public:
  EntryBuilder(ModuleOp module, StringRef name, Location where, EntryMode mode = {});

  /// The input called `name`, made at its first use.
  Value port(StringRef name, RankedTensorType type, std::optional<int64_t> limit = {});
  bool hasPort(StringRef name) const { return ports.contains(name); }
  /// The input that argument `index` of a model's function is.
  Value port(func::FuncOp function, unsigned index);
  /// Clones the body of a model's function: its arguments are results of functions inlined before, by name, or ports.
  void inlineFunction(func::FuncOp function);
  /// Clones an op of a model's function, or maps its results: of `heddle.dropout` outside of training, of reads.
  /// Training alone writes.
  void inlineOp(Operation &op);
  /// The result of an inlined function.
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

/// Columns of a run-time size.
RankedTensorType columnOf(MLIRContext *context, StringRef size, Type element);

/// Declares a variable that training adds, in front of `before` or, without it, of the functions of the module.
void addVariable(ModuleOp module, Location where, VariableRole role, RankedTensorType type, double start,
                 Operation *before, StringRef owner = {});

/// Declares a variable before the functions of the module. A second one of the same name is an error of the caller.
VariableOp addVariable(ModuleOp module, Location where, StringRef name, VariableKind kind, RankedTensorType type,
                       double start = 0, Operation *before = nullptr);

/// What training keeps for each weight in addition to its moments.
struct WeightState {
  bool averages = false;    // keeps an average of the weight over all steps
  bool accumulates = false; // sums gradients until a step is taken
};

/// Declares the moments and `state` of each weight, right after the weight, unless they are declared already.
void addStateOfWeights(ModuleOp module, WeightState state);

/// The path of the part of the model that a value belongs to (its location's name), or empty.
StringRef getPath(Location where);

} // namespace mlir::heddle

#endif
