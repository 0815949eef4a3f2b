// The evaluator of model texts. Expressions become items, and expressions of tensors become ops of the model's
// functions. The section headings in the class name the source file of each group of methods.
#pragma once

#include "compiler/Model/Language/ModelText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::heddle::language {

/// An evaluated argument of a call.
struct Given {
  Item item;
  LocationAttr where;
};

/// A call of a built-in function. `given` has an item for each parameter; omitted arguments are mistakes.
struct BuiltinCall {
  const Expression &expression;
  const Scope &scope;
  SmallVector<Given> given;

  LocationAttr where() const { return expression.where; }
  bool has(size_t i) const { return i < given.size() && given[i].where; }
};

/// A function of constants from outside the language. Such functions read a published model's configuration.
struct OuterFunction {
  std::vector<StringRef> parameters;
  size_t required; // number of leading parameters that must be given
  std::function<Item(BuiltinCall &)> evaluate;
};
using OuterFunctions = llvm::StringMap<OuterFunction>;

class Elaborator {
public:
  /// An elaborator without a module evaluates only constants, such as parameters.
  explicit Elaborator(const ModelText &text);
  Elaborator(const ModelText &text, ModuleOp module, const Limits &limits);

  ~Elaborator();

  LogicalResult run();
  /// Adds a function for the optimizer's step on a weight (ModelText::elaborateUpdate).
  LogicalResult runUpdate(StringRef function, const UpdatedWeight &weight, const Settings &values);

  Item evaluate(const Expression &expression, Scope &scope);
  bool hasFailed() const { return failed; }
  /// Adds functions that the language does not have. They must outlive the elaborator.
  void setOuterFunctions(const OuterFunctions &functions) { outer = &functions; }
  std::string describe(const Item &item);
  /// Reports an error at `where`. A mistake in another text is reported at the call that led there.
  InFlightDiagnostic fail(LocationAttr where);

private:
  //===-- Names, calls and blocks (Elaborator.cpp) --------------------------------------------------------------===//

  /// Returns false, with an error, if the model has too many operations.
  bool countOperation(const Expression &expression);
  /// Stops the evaluation. Otherwise a definition that calls itself twice would report the same limit a million times.
  Item giveUp();
  /// Evaluates an expression that is neither Binary nor Index. `evaluate` handles those two in a loop.
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
  /// The values of a call's arguments in the order of `names`. Returns nothing, after an error, if `call` does not fit.
  std::optional<SmallVector<Given>> arrange(const Expression &call, ArrayRef<StringRef> names,
                                            function_ref<bool(size_t)> isRequired, Scope &scope);

  /// Appends `name` to the path of weights and ops while it lives.
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
  /// Broadcasts `item` to the shape of `like`; null if the shapes do not fit. With `areScores`, the only tensors that
  /// fit are numbers for each token. A tensor of heads also takes a row that all heads share, or numbers for each head.
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
  /// Pools the rows, or the numbers, of each sequence's tokens.
  Value pool(Pool kind, Value x, const Side &side, LocationAttr where);
  Value asRows(Value x, LocationAttr where);
  Value asNumbers(Value x, LocationAttr where);
  Item sumOf(BuiltinCall &call);
  Item numberOf(BuiltinCall &call);
  Item spread(BuiltinCall &call);
  Item lengthOf(BuiltinCall &call);
  Value repeatForTokens(Value x, RankedTensorType tokens, Side &side, Location at);
  Item crossEntropy(BuiltinCall &call);
  Item weightStart(BuiltinCall &call);
  Item gather(const Item &table, const Item &indices, LocationAttr where);

  //===-- Mixtures of experts (Experts.cpp) ---------------------------------------------------------------------===//

  struct Choices;
  Item topOf(BuiltinCall &call);
  Value columnsOfRows(const Given &given, StringRef function);
  Item selectColumns(BuiltinCall &call);
  Item marksOf(BuiltinCall &call);
  Item overallOf(BuiltinCall &call);
  Item expertsOf(BuiltinCall &call);
  Item ofExpert(BuiltinCall &call);
  Item productOfExperts(const Item &a, const WeightItem &weight, LocationAttr where);

  //===-- Heads (Heads.cpp) -------------------------------------------------------------------------------------===//

  Item split(BuiltinCall &call);
  Item flat(BuiltinCall &call);
  Item rotate(BuiltinCall &call);

  //===-- Attention (Pairs.cpp) ---------------------------------------------------------------------------------===//

  struct Queries {
    Value starts, lengths;
    std::string longest; // the run-time size: length of the longest sequence; empty if each sequence has one query
  };
  /// The operands for keys of ops on pairs.
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
    Value position, sequence; // for each query
  };
  void locateQueries(RankedTensorType type, const Queries &queries, LocationAttr where);
  Item refuseQueries(const TensorItem &scores, LocationAttr where);
  MaskOp maskScores(const TensorItem &scores, float filler, LocationAttr where);
  Value rowsOfScores(const TensorItem &scores, LocationAttr where);
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
  /// Returns true if a tensor has a row for each sequence that takes part in the scan's step.
  bool isOfStep(RankedTensorType type);
  /// The side whose tokens the scan under construction visits.
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

  //===-- Optimizers (Updates.cpp) ------------------------------------------------------------------------------===//

  Item signOf(BuiltinCall &call);
  Item outerProduct(BuiltinCall &call);
  Item zerosOfState(BuiltinCall &call);
  Item sumOfWeight(BuiltinCall &call);
  Item sumOfMatrix(Value x, LocationAttr where);
  Value widenOverMatrices(Value numbers, RankedTensorType like, LocationAttr where);
  Value productOfMatrices(Value left, bool transposeLeft, Value right, bool transposeRight, LocationAttr where);
  /// In an update: a number, or a number for each expert's matrix, which fits every shape.
  bool isNumberOfUpdate(RankedTensorType type) const;
  bool isNumberOfMatrices(RankedTensorType type) const;
  bool addStates(const Part &syntax, std::vector<Name> &names);
  void addNewStates(const Part &syntax, ArrayRef<Name> names, const Item &item);

  //===-- Tasks, parts and their functions (Parts.cpp) ----------------------------------------------------------===//

  struct PartState;
  LogicalResult chooseParts(SmallVectorImpl<const Part *> &chosen);
  void declareSides();
  void declareCounter(VariableRole role, int64_t extent);
  void elaboratePart(const Part &syntax);
  void addPorts(const Name &input);
  Value addNamedPort(StringRef name, StringRef role, RankedTensorType type, int64_t limit, LocationAttr where);
  Value addPort(StringRef of, StringRef role, RankedTensorType type, int64_t limit, LocationAttr where);
  void addLabels(const Name &input);
  void addLabelled(const Name &input);
  void addPartners(LocationAttr where);
  void addPairLabels(StringRef pairs, LocationAttr where);
  LogicalResult chooseLabels(LocationAttr where);
  RankedTensorType columnOf(StringRef size); // a column of i32
  void addNeighbours(Side &neighbours, const Name &input);
  int64_t countOf(StringRef name) const;
  void addSize(const Twine &name, int64_t maximum, const Twine &longestOf = "");
  Side *sideNamed(StringRef name);
  const Side *wordsOf(RankedTensorType type);
  void addSentences(Side &sentences, const Name &input);
  bool checkValue(StringRef name, const Item &item, RankedTensorType type);
  std::string nameResult(PartState &owner, Value value);
  void finishParts();
  /// Makes a value of another part available in the function under construction.
  Value import(Value value);
  Value rowOfPart(const std::shared_ptr<RowItem> &row);
  Value importFromPart(Value value);
  Side *findSide(RankedTensorType type);
  /// Describes the tensor's first dimension, such as " for each token of 'source'".
  std::string describeRows(RankedTensorType type);

  //===-- Making ops --------------------------------------------------------------------------------------------===//

  Location place(LocationAttr where);
  /// Returns `item` as a tensor, reading it if it is a weight. Returns null, after an error, if it is not a tensor.
  Value tensor(const Item &item, LocationAttr where, const Twine &what);
  Value tensorOrNull(const Item &item, LocationAttr where);
  /// Reads the weight's variable. The matrices of a weight with three extents are one below the other in it.
  Value readWeight(const WeightItem &weight, LocationAttr where);
  bool isWithinPart(LocationAttr where);
  Item make(Value value, const Side *keys = nullptr) { return TensorItem{value, keys}; }
  RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  /// These return an argument as an integer, number or flag. If it is not, they report an error and return nothing.
  std::optional<int64_t> whole(const Given &given, const Twine &what, int64_t least = 1);
  std::optional<double> real(const Given &given, const Twine &what);
  std::optional<bool> flag(const Given &given, const Twine &what);
  /// Returns false, with an error, if `value` overflows f32.
  bool fitsFloat(double value, LocationAttr where);

  /// Returns true if `where` is in the model's own text, not in one that it uses.
  bool isOwn(LocationAttr where) const;
  Item mistake() { return {}; }
  /// Returns true if an error may still search for the most similar name. The limit avoids quadratic time for texts
  /// full of errors.
  bool maySuggest() { return suggestions < kMostSuggestions && ++suggestions; }
  static constexpr int kMostSuggestions = 100;

  const ModelText &model;
  ModuleOp module;
  Limits limits;
  OpBuilder builder;
  bool failed = false;

  Scope file; // parameters, and names that statements outside of parts bind
  llvm::StringMap<const Definition *> definitions;
  const OuterFunctions *outer = nullptr;
  std::string path;           // the bindings around the current expression, joined by points
  size_t pathOfStatement = 0; // length of the path outside the current statement; the names of a block start from there
  LocationAttr callOfOther;   // the innermost call in the model's own text; null outside of such calls
  llvm::StringSet<> weightNames;
  llvm::StringMap<int64_t> weightNumbers; // by name: the last suffix given to weights of equal names; 1: no suffix yet
  llvm::StringSet<> symbols;              // symbols of the module; a lookup there is linear in the number of weights
  int depth = 0;                          // nesting of calls
  int evaluations = 0;                    // nesting of expressions
  int suggestions = 0;                    // made so far
  int64_t operations = 0;                 // evaluated so far
  int32_t streams = 0;                    // random streams in use; each op that draws random numbers has its own

  std::vector<std::unique_ptr<Side>> sides;
  std::vector<std::unique_ptr<PartState>> parts;
  PartState *part = nullptr;              // the part under construction
  ScanState *scanState = nullptr;         // the scan under construction; null outside of scans
  const Choices *choices = nullptr;       // of the block of experts() under construction; null outside of such blocks
  const UpdatedWeight *updated = nullptr; // the weight of the update under construction; null outside of updates

  friend class ModelText;
};

} // namespace mlir::heddle::language
