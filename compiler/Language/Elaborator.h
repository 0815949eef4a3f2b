// The evaluation of a model text: expressions become items, and those of tensors become ops of the model's functions.
// Names, calls and blocks are Elaborator.cpp's; scans are Scans.cpp's;
// arithmetic is Arithmetic.cpp's; the functions that the language has by
// itself are Builtins.cpp's; tasks and their functions in the module are Parts.cpp's.
#ifndef HEDDLE_COMPILER_LANGUAGE_ELABORATOR_H
#define HEDDLE_COMPILER_LANGUAGE_ELABORATOR_H

#include "compiler/Language/ModelText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::heddle::language {

/// An argument of a call, evaluated.
struct Given {
  Item item;
  LocationAttr where;
};

/// A call of a built-in function: what it got for each of its parameters, a mistake for those that were left out.
struct BuiltinCall {
  const Expression &expression;
  const Scope &scope;
  SmallVector<Given> given;

  LocationAttr where() const { return expression.where; }
  bool has(size_t i) const { return i < given.size() && given[i].where; }
};

/// A function of constants that is not of the language: it reads what a model's configuration says.
struct OuterFunction {
  std::vector<StringRef> parameters;
  size_t required; // of the parameters, from the first on
  std::function<Item(BuiltinCall &)> evaluate;
};
using OuterFunctions = llvm::StringMap<OuterFunction>;

class Elaborator {
public:
  /// Without a module, of constants alone: parameters and what they are made of.
  explicit Elaborator(const ModelText &text);
  Elaborator(const ModelText &text, ModuleOp module, const Limits &limits);

  ~Elaborator();

  LogicalResult run();

  Item evaluate(const Expression &expression, Scope &scope);
  bool hasFailed() const { return failed; }
  /// Makes functions known that the language does not have; they outlive the elaborator.
  void setOuterFunctions(const OuterFunctions &functions) { outer = &functions; }
  std::string describe(const Item &item);
  /// An error at `where`. A mistake within another text shows at the call that led there.
  InFlightDiagnostic fail(LocationAttr where);

private:
  //===-- Names, calls and blocks (Elaborator.cpp) --------------------------------------------------------------===//

  /// False, with an error, if the model has too many operations.
  bool countOperation(const Expression &expression);
  /// Evaluates nothing more. A definition that calls itself twice would reach the same limit at a million places.
  Item giveUp();
  /// Evaluates an expression that is neither Binary nor Index: those are loops of `evaluate`.
  Item evaluateFirst(const Expression &expression, Scope &scope);
  Item evaluateBlock(const Body &block, Scope &scope);
  Item evaluateStatement(const Statement &statement, Scope &scope);
  Item lookUp(const Expression &variable, const Scope &scope);
  Item call(const Expression &expression, Scope &scope);
  Item callDefinition(const Definition &definition, const Expression &expression, Scope &scope);
  Item callBlock(const BlockItem &block, ArrayRef<Item> arguments, LocationAttr where);
  Item callBuiltin(const Expression &expression, Scope &scope);
  Item declareWeight(const Expression &expression, Scope &scope);
  Item elementOf(const Item &list, const Given &index);
  Item choose(const Expression &expression, Scope &scope);
  Item repeat(const Expression &expression, Scope &scope);
  /// The values of a call's arguments in the order of `names`; a mistake where `call` does not fit.
  std::optional<SmallVector<Given>> arrange(const Expression &call, ArrayRef<StringRef> names,
                                            function_ref<bool(size_t)> isRequired, Scope &scope);

  /// While it lives, weights and ops belong to a part of the model of this name within the part around it.
  class At {
  public:
    At(Elaborator &elaborator, StringRef name);
    ~At() { elaborator.path.resize(outer); }

  private:
    Elaborator &elaborator;
    size_t outer;
  };

  //===-- Arithmetic (Arithmetic.cpp) ---------------------------------------------------------------------------===//

  /// `a` is the value of the left operand.
  Item binary(const Expression &expression, const Item &a, Scope &scope);
  Item negate(const Expression &expression, Scope &scope);
  Item computeNumbers(StringRef symbol, const NumberItem &a, const NumberItem &b, LocationAttr where);
  Item compareConstants(StringRef symbol, const Item &a, const Item &b, LocationAttr where);
  Item computeTensors(StringRef symbol, const Item &a, const Item &b, LocationAttr where);
  Item computeScalars(StringRef symbol, Value a, Value b, LocationAttr where);
  Item product(const Item &a, const Item &b, LocationAttr where);
  /// `item` as a tensor of the shape of `like`, or null: the shapes do not go together. Of scores there are numbers for
  /// each token alone, of heads a row that they share and numbers for each head too.
  Value widen(const Item &item, RankedTensorType like, LocationAttr where, bool areScores = false);
  Value fill(RankedTensorType type, double value, LocationAttr where);

  //===-- Built-in functions (Builtins.cpp) ---------------------------------------------------------------------===//

  struct Builtin;
  static ArrayRef<Builtin> getBuiltins();
  static const Builtin *findBuiltin(StringRef name);
  static bool isBuiltin(StringRef name);

  Item mathOf(BuiltinCall &call);
  Item largerOrSmaller(BuiltinCall &call);
  Item columnsOf(BuiltinCall &call);
  Item countOf(BuiltinCall &call);
  Item require(BuiltinCall &call);
  Item transpose(BuiltinCall &call);
  Item dropout(BuiltinCall &call);
  Item normalise(BuiltinCall &call);
  Item sinusoid(BuiltinCall &call);
  Item rowOf(BuiltinCall &call);
  Item endRows(BuiltinCall &call);
  Item averageRows(BuiltinCall &call);
  Item poolRows(BuiltinCall &call);
  /// The pool of each sequence's rows, or of a number for each token.
  Value pool(Pool kind, Value x, const Side &side, LocationAttr where);
  Value asRows(Value x, LocationAttr where);
  Value asNumbers(Value x, LocationAttr where);
  Item sumOf(BuiltinCall &call);
  Item numberOf(BuiltinCall &call);
  Item spread(BuiltinCall &call);
  Item crossEntropy(BuiltinCall &call);
  Item weightStart(BuiltinCall &call);
  Item gather(const Item &table, const Item &indices, LocationAttr where);

  //===-- Heads (Heads.cpp) -------------------------------------------------------------------------------------===//

  Item split(BuiltinCall &call);
  Item flat(BuiltinCall &call);
  Item rotate(BuiltinCall &call);

  //===-- Attention (Pairs.cpp) ---------------------------------------------------------------------------------===//

  struct Queries {
    Value starts, lengths;
    std::string longest; // the run-time size that holds the longest sequence's length; empty where each has one query
  };
  /// Starts, lengths and lists of keys as ops on pairs take them.
  struct Keys {
    Value starts, lengths, rows;
    SmallVector<Value> users;
    std::string longest;
  };
  std::optional<const Side *> neighboursOf(BuiltinCall &call);
  Keys keysOf(const Side &side, RankedTensorType queries, LocationAttr where);
  const TensorItem *scoresOrNull(const Item &item);
  Queries loneQueries(RankedTensorType type, LocationAttr where);
  std::optional<Queries> queriesOf(RankedTensorType type, LocationAttr where);
  struct Located {
    Value position, sequence; // of each query
  };
  void locateQueries(RankedTensorType type, const Queries &queries, LocationAttr where);
  Item refuseQueries(const TensorItem &scores, LocationAttr where);
  std::optional<SmallVector<Value>> combinePairs(BuiltinCall &call, int64_t width, Region &region);
  Item pairs(BuiltinCall &call);
  Item mask(BuiltinCall &call);
  Item softmax(BuiltinCall &call);
  Item placesOf(BuiltinCall &call);
  Item contextOf(const TensorItem &weights, const Item &values, LocationAttr where);
  Item sumOfScores(const TensorItem &scores, LocationAttr where);
  Item sumOverQueries(const TensorItem &scores, LocationAttr where);

  //===-- Scans (Scans.cpp) -------------------------------------------------------------------------------------===//

  struct ScanState;
  Item scan(const Expression &expression, Scope &scope);
  bool addOperands(ScanState &scan, const std::vector<State> &named, bool areRows, Scope &scope);
  Value capture(Value outside);
  bool isInScan(mlir::Block *block);
  /// Whether a tensor has a row for each sequence at the scan's step; the side that the scan goes through.
  bool isOfStep(RankedTensorType type);
  const Side *getScanSide();
  Item zerosOf(BuiltinCall &call);
  Item slice(BuiltinCall &call);
  Item join(BuiltinCall &call);

  //===-- Samples (Samples.cpp) ---------------------------------------------------------------------------------===//

  Item sample(BuiltinCall &call);
  Item stopGradient(BuiltinCall &call);
  Item movingAverage(BuiltinCall &call);

  //===-- Images (Images.cpp) -----------------------------------------------------------------------------------===//

  ImageShape readImageShape();
  Item pixelsOf(const Side &side, const Name &input);
  void addPixelPlaces(const Side &side, const Name &input);
  Item gridColumns(BuiltinCall &call);
  Item gridWidth(BuiltinCall &call);
  Item subsample(BuiltinCall &call);
  Side *imagesOf(BuiltinCall &call);
  Side *strided(const Side &side, int64_t stride, LocationAttr where);

  //===-- Windows (Windows.cpp) ---------------------------------------------------------------------------------===//

  Item window(BuiltinCall &call);

  //===-- Tasks, parts and their functions (Parts.cpp) ----------------------------------------------------------===//

  struct PartState;
  LogicalResult chooseParts(SmallVectorImpl<const Part *> &chosen);
  void declareSides();
  void declareCounter(VariableRole role, int64_t extent);
  void elaboratePart(const Part &syntax);
  void addPorts(const Name &input);
  Value addPort(StringRef name, RankedTensorType type, int64_t limit, LocationAttr where);
  void addLabels(const Name &input);
  void addLabelled(const Name &input);
  void addPairLabels(LocationAttr where);
  LogicalResult chooseLabels(LocationAttr where);
  RankedTensorType columnOf(StringRef size); // of i32
  void addNeighbours(Side &neighbours, const Name &input);
  int64_t countOf(StringRef name) const;
  void addSize(const Twine &name, int64_t maximum, const Twine &longestOf = "");
  Side *sideNamed(StringRef name);
  const Side *wordsOf(RankedTensorType type);
  void addSentences(Side &sentences, const Name &input);
  bool checkValue(StringRef name, const Item &item, RankedTensorType type);
  std::string nameResult(PartState &owner, Value value);
  void finishParts();
  /// A value of another part, as the function under construction knows it.
  Value import(Value value);
  Value rowOfPart(const std::shared_ptr<RowItem> &row);
  Value importFromPart(Value value);
  Side *findSide(RankedTensorType type);
  /// " for each token of 'source'", by the tensor's first dimension.
  std::string describeRows(RankedTensorType type);

  //===-- Making ops --------------------------------------------------------------------------------------------===//

  Location place(LocationAttr where);
  /// The tensor that `item` is, its weight read; null with an error where it is none.
  Value tensor(const Item &item, LocationAttr where, const Twine &what);
  Value tensorOrNull(const Item &item, LocationAttr where);
  bool isWithinPart(LocationAttr where);
  Item make(Value value, const Side *keys = nullptr) { return TensorItem{value, keys}; }
  RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  /// A whole number, a number or a flag, with an error where the argument is no such thing.
  std::optional<int64_t> whole(const Given &given, const Twine &what, int64_t least = 1);
  std::optional<double> real(const Given &given, const Twine &what);
  std::optional<bool> flag(const Given &given, const Twine &what);
  /// False, with an error, if `value` would be infinite in a tensor.
  bool fitsFloat(double value, LocationAttr where);

  /// Whether `where` is in the text itself, not in one that it uses.
  bool isOwn(LocationAttr where) const;
  Item mistake() { return {}; }
  /// Whether an error may still look for the nearest of all names. A text of nothing but errors would take quadratic
  /// time.
  bool maySuggest() { return suggestions < kMostSuggestions && ++suggestions; }
  static constexpr int kMostSuggestions = 100;

  const ModelText &model;
  ModuleOp module;
  Limits limits;
  OpBuilder builder;
  bool failed = false;

  Scope file; // parameters, and what statements outside of parts bind
  llvm::StringMap<const Definition *> definitions;
  const OuterFunctions *outer = nullptr;
  std::string path;           // of bindings, with points
  size_t pathOfStatement = 0; // how much of it is around the statement; a block's names begin there
  LocationAttr callOfOther;   // the innermost call in the text itself; null at its own level
  llvm::StringSet<> weightNames;
  llvm::StringMap<int64_t> weightNumbers; // the last one behind the name of several, of which the first has none
  llvm::StringSet<> symbols; // of the module: to look one up there would take time by the number of weights
  int depth = 0;             // of calls
  int evaluations = 0;       // within each other
  int suggestions = 0;       // made so far
  int64_t operations = 0;    // evaluated so far
  int32_t streams = 0;       // numbers of ops that draw at random, all different

  std::vector<std::unique_ptr<Side>> sides;
  std::vector<std::unique_ptr<PartState>> parts;
  PartState *part = nullptr;      // the part under construction
  ScanState *scanState = nullptr; // the scan under construction; null outside of scans

  friend class ModelText;
};

/// What a name that is not known was most likely meant to be; empty where it is like none of `names`.
StringRef findNearest(StringRef name, ArrayRef<StringRef> names);

} // namespace mlir::heddle::language

#endif
