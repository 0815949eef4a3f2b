// A thin layer over OpBuilder in the words of a model: entries with named ports, weights by name, tensors by the sizes
// of their dimensions. Knows nothing of any particular model.
#ifndef HEDDLE_COMPILER_IMPORT_GRAPH_H
#define HEDDLE_COMPILER_IMPORT_GRAPH_H

#include "compiler/Import/Description.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// How a weight starts out.
struct Initializer {
  enum Kind { Constant, Uniform, Normal } kind;
  double scale; // the constant, the bound or the standard deviation

  static Initializer constant(double value) { return {Constant, value}; }
  static Initializer zeros() { return constant(0); }
  static Initializer ones() { return constant(1); }
  /// Glorot and Bengio's bound for a matrix of `inputs` rows and `outputs` columns.
  static Initializer xavier(int64_t inputs, int64_t outputs);
  static Initializer normal(double deviation) { return {Normal, deviation}; }
};

/// A variable as it was declared.
struct Variable {
  StringAttr name;
  VariableKind kind;
  RankedTensorType type;
  Location where;
  Initializer initializer;
};

class Graph {
public:
  Graph(ModuleOp module, const Description &description);

  //===-- Places ------------------------------------------------------------------------------------------------===//

  /// While it lives, new ops are located at the line of `key`, under the name of the part of the model they belong to.
  class At {
  public:
    At(Graph &graph, StringRef key, StringRef part = {});
    /// At the place of a variable.
    At(Graph &graph, const Variable &variable) : graph(graph), outer(graph.where) { graph.where = variable.where; }
    ~At() { graph.where = outer; }
    At(const At &) = delete;
    At &operator=(const At &) = delete;

  private:
    Graph &graph;
    LocationAttr outer;
  };

  //===-- Types -------------------------------------------------------------------------------------------------===//

  Type f32() { return builder.getF32Type(); }
  Type i32() { return builder.getI32Type(); }
  /// A dimension is a number or the name of a run-time size.
  using Dim = std::variant<int64_t, StringRef>;
  RankedTensorType tensor(ArrayRef<Dim> dims, Type element);

  //===-- Module level ------------------------------------------------------------------------------------------===//

  void addSize(StringRef name, int64_t maximum, StringRef longestOf = {});
  void addVariable(StringRef name, VariableKind kind, RankedTensorType type, Initializer initializer);
  ArrayRef<Variable> getVariables() const { return variables; }

  //===-- Entries -----------------------------------------------------------------------------------------------===//

  void beginEntry(StringRef name);
  /// A column of i32, `limit` above each of its values.
  Value addIndices(StringRef name, StringRef size, int64_t limit);
  /// A column of f32.
  Value addNumbers(StringRef name, StringRef size);
  Value addScalar(StringRef name);
  void addOutput(StringRef name, Value value);
  void endEntry();

  //===-- State -------------------------------------------------------------------------------------------------===//

  /// A weight's value, the same throughout an entry. The first use in the module declares it.
  Value weight(const Twine &name, ArrayRef<int64_t> shape, Initializer initializer);
  Value read(StringRef variable);
  void write(StringRef variable, Value value);
  /// A number for an op that draws at random, different from all others of the module.
  int32_t nextStream() { return stream++; }

  //===-- Ops ---------------------------------------------------------------------------------------------------===//

  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    return OpTy::create(builder, Location(where), std::forward<Args>(args)...);
  }
  Value add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
  Value fill(RankedTensorType type, double value);
  Value scale(Value x, double factor);
  Value broadcast(Value x, Type type) { return create<BroadcastOp>(type, x); }
  FloatAttr number(double value) { return builder.getF32FloatAttr(value); }
  IntegerAttr whole(int32_t value) { return builder.getI32IntegerAttr(value); }

  OpBuilder builder;

private:
  Value addFloats(StringRef name, RankedTensorType type);
  /// Moves the insertion point to the end of the symbols, before the first entry.
  void toSymbols();

  ModuleOp module;
  const Description &description;
  LocationAttr where;
  func::FuncOp firstEntry;
  SmallVector<Variable> variables;
  llvm::StringMap<RankedTensorType> variableTypes;
  int32_t stream = 0;

  // Of the entry under construction.
  func::FuncOp entry;
  llvm::StringMap<Value> weights;
  SmallVector<Attribute> inputAttrs, outputAttrs;
  SmallVector<Value> outputs;
};

} // namespace mlir::heddle

#endif
