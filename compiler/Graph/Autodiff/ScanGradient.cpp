#include "compiler/Graph/Autodiff/ScanGradient.h"

#include "compiler/Graph/Autodiff/Backward.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool isNumber(Value value) { return typeOf(value).getElementType().isF32(); }

/// Returns the number of elements in a row.
int64_t sizeOfRow(Value value) {
  int64_t size = 1;
  for (int64_t extent : typeOf(value).getShape().drop_front())
    size *= extent;
  return size;
}

Value zeros(OpBuilder &builder, Location loc, Type type) {
  return FillOp::create(builder, loc, type, builder.getF32FloatAttr(0));
}

/// The gradient rule for one scan. It builds the gradient's step in a block of its own, from clones of the forward
/// step's ops and their gradient rules. Only then is it known which values the forward scan has to keep.
class ScanGradient {
public:
  ScanGradient(ScanOp scan, OpBuilder &builder)
      : scan(scan), builder(builder), block(scan.getBody().front()), yield(cast<YieldOp>(block.getTerminator())) {
    step = &region.emplaceBlock();
  }

  FailureOr<SmallVector<Value>> build(ValueRange resultGradients);

private:
  /// An op whose operands include constants of the scan. The constants get their gradients outside of the scan, from
  /// the gradient rule of the same op on all tokens at once.
  struct Lifted {
    Operation *op;
    SmallVector<Value> resultGradients; // in the gradient's step
  };
  /// An argument of the gradient's step with a row for each token. It stands for a value outside of the scan, or for a
  /// value that the forward scan keeps.
  struct Row {
    BlockArgument argument;
    Value outside, kept;
  };

  OpBuilder atEndOfStep() {
    OpBuilder b(builder.getContext());
    b.setInsertionPointToEnd(step);
    return b;
  }
  void beginStep(ValueRange resultGradients);
  LogicalResult differentiateStep();
  void chooseKept();
  void keepSums();
  void keepFor(Value value);
  Value rowOf(Value forward);
  void keep(Value forward);
  void keepOutputs();
  Value keptOutside(Value forward);
  ScanOp finishStep();
  FailureOr<SmallVector<Value>> gradientsOfConstants(ScanOp gradient);
  Value ofTokens(Value forward, IRMapping &lifted);
  Operation *liftOp(Operation *op, IRMapping &tokens);
  Value ofSequences(Value forward);
  void addGradient(Value forward, Value gradient);

  bool isRow(Value forward) const { return llvm::is_contained(ScanOp(scan).getRowArguments(), forward); }
  bool isState(Value forward) const { return llvm::is_contained(ScanOp(scan).getStateArguments(), forward); }
  bool isConstant(Value forward) const { return llvm::is_contained(ScanOp(scan).getConstantArguments(), forward); }
  size_t stateNumber(Value state) { return cast<BlockArgument>(state).getArgNumber() - scan.getRows().size(); }
  /// Returns true if the scan never changes the state.
  bool isFixed(Value state) { return yield.getOperand(stateNumber(state)) == state; }
  std::optional<size_t> outputNumber(Value forward);

  ScanOp scan;
  OpBuilder &builder;
  Block &block;
  YieldOp yield;

  Region region;
  Block *step;
  IRMapping cloned;                                        // from the forward step to the gradient's
  SmallVector<std::pair<Operation *, Operation *>> clones; // each op of the forward step and its clone, or null
  SmallVector<Row> rows;
  SmallVector<std::pair<BlockArgument, Value>> states; // with their initial values
  llvm::MapVector<Value, Value> gradients;             // of values of the forward step
  SmallVector<Lifted> lifted;
  llvm::SetVector<Value> kept; // values of the forward step that become outputs
  ScanOp keeping;              // the forward scan with these outputs
};

struct ScanRule : DifferentiableOpInterface::ExternalModel<ScanRule, ScanOp> {
  FailureOr<SmallVector<Value>> buildGradient(Operation *op, OpBuilder &builder, ValueRange resultGradients) const {
    return ScanGradient(cast<ScanOp>(op), builder).build(resultGradients);
  }
};

} // namespace

void ScanGradient::addGradient(Value forward, Value gradient) {
  Value &sum = gradients[forward];
  OpBuilder b = atEndOfStep();
  sum = sum ? addGradients(b, gradient.getLoc(), sum, gradient) : gradient;
}

/// Returns the number of the output that already is this value.
std::optional<size_t> ScanGradient::outputNumber(Value forward) {
  for (size_t i = scan.getStates().size(); i < yield.getNumOperands(); ++i)
    if (yield.getOperand(i) == forward)
      return i;
  return std::nullopt;
}

void ScanGradient::beginStep(ValueRange resultGradients) {
  Location loc = scan.getLoc();
  OpBuilder b = atEndOfStep();
  for (BlockArgument argument : block.getArguments())
    cloned.map(argument, step->addArgument(argument.getType(), argument.getLoc()));
  for (Operation &op : block.without_terminator())
    clones.emplace_back(&op, b.clone(op, cloned));

  size_t stateCount = scan.getStates().size();
  for (auto [i, gradient] : llvm::enumerate(resultGradients.drop_front(stateCount)))
    if (gradient) {
      BlockArgument row = step->addArgument(scan.getStepType(gradient.getType()), loc);
      rows.push_back({row, gradient, {}});
      addGradient(yield.getOperand(stateCount + i), row);
    }
  for (auto [i, argument] : llvm::enumerate(scan.getStateArguments())) {
    if (!isNumber(argument))
      continue;
    Value last = resultGradients[i];
    states.emplace_back(step->addArgument(argument.getType(), loc),
                        last ? last : zeros(builder, loc, scan.getStates()[i].getType()));
    addGradient(yield.getOperand(i), states.back().first);
  }
}

LogicalResult ScanGradient::differentiateStep() {
  auto needsGradient = [&](Value operand) {
    return isNumber(operand) && !isa_and_nonnull<FillOp>(operand.getDefiningOp());
  };
  for (auto &[op, clone] : llvm::reverse(clones)) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(gradients.lookup(result));
    if (llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }) ||
        llvm::none_of(op->getOperands(), needsGradient))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(clone);
    if (!differentiable)
      return op->emitOpError(
          "has no gradient rule, but the loss depends on a weight through it; compute the result from "
          "ops that have a rule, or give the op a rule (DifferentiableOpInterface)");
    OpBuilder b = atEndOfStep();
    FailureOr<SmallVector<Value>> operandGradients = differentiable.buildGradient(b, resultGradients);
    if (failed(operandGradients))
      return failure();
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), *operandGradients))
      if (gradient && !isConstant(operand) && needsGradient(operand))
        addGradient(operand, gradient);
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return isConstant(operand) && isNumber(operand); }))
      lifted.push_back({op, resultGradients});
  }
  return success();
}

void ScanGradient::keep(Value forward) {
  if (!isRow(forward) && !outputNumber(forward))
    kept.insert(forward);
}

/// Returns the argument of the gradient's step for a value of the forward step.
Value ScanGradient::rowOf(Value forward) {
  for (const Row &row : rows)
    if (row.kept == forward)
      return row.argument;
  rows.push_back({step->addArgument(forward.getType(), forward.getLoc()), {}, forward});
  return rows.back().argument;
}

/// Decides which clones stay: elementwise ops compute their results again. The results of other ops are kept from the
/// forward scan.
void ScanGradient::chooseKept() {
  for (auto &[op, clone] : llvm::reverse(clones)) {
    bool isDone = false;
    for (auto [forward, again] : llvm::zip_equal(op->getResults(), clone->getResults())) {
      bool isUsed = !again.use_empty();
      for (const Lifted &use : lifted)
        isUsed |= llvm::is_contained(use.resultGradients, again);
      if (isUsed && (!isElementwise(clone) || outputNumber(forward)))
        again.replaceAllUsesWith(rowOf(forward));
      else
        isDone |= isUsed;
    }
    if (!isDone) {
      clone->erase();
      clone = nullptr;
    }
  }
  for (BlockArgument argument : block.getArguments()) {
    Value again = cloned.lookup(argument);
    if (again.use_empty() || isConstant(argument))
      continue;
    if (isState(argument) && isFixed(argument)) {
      states.emplace_back(cast<BlockArgument>(again), scan.getStates()[stateNumber(argument)]);
      continue;
    }
    again.replaceAllUsesWith(rowOf(argument));
  }
}

/// If rows are kept only to compute one elementwise result, keeps that result instead, unless it is larger.
void ScanGradient::keepSums() {
  for (auto &[op, clone] : clones) {
    if (!clone || clone->getNumResults() != 1)
      continue;
    llvm::SetVector<Value> saved;
    int64_t elements = 0; // of rows that are kept only for this result
    for (Value operand : clone->getOperands()) {
      auto row = llvm::find_if(rows, [&](const Row &row) { return row.argument == operand && row.kept; });
      bool isUsedHere = llvm::all_of(operand.getUsers(), [&](Operation *user) { return user == clone; });
      if (row != rows.end() && isUsedHere && saved.insert(operand) && !outputNumber(row->kept))
        elements += sizeOfRow(operand);
    }
    if (elements < sizeOfRow(clone->getResult(0)))
      continue;
    clone->getResult(0).replaceAllUsesWith(rowOf(op->getResult(0)));
    clone->erase();
    clone = nullptr;
    llvm::erase_if(rows, [&](const Row &row) { return saved.contains(row.argument); });
  }
}

/// Keeps the values, for all tokens, from which a value of the forward step can be computed again.
void ScanGradient::keepFor(Value value) {
  if (isRow(value) || isConstant(value) || outputNumber(value))
    return;
  Operation *op = value.getDefiningOp();
  bool isMadeAgain = op && isElementwise(op) && !isa<MaskOp>(op) && !kept.contains(value);
  if (!isMadeAgain)
    return keep(value);
  for (Value operand : op->getOperands())
    keepFor(operand);
}

/// Creates the forward scan with the kept values as further outputs. It takes over all uses of the old scan.
void ScanGradient::keepOutputs() {
  keeping = scan;
  if (kept.empty())
    return;
  OpBuilder before(scan);
  SmallVector<Type> types(scan.getResultTypes());
  for (Value value : kept)
    types.push_back(scan.getTokenType(value.getType()));
  keeping = ScanOp::create(before, scan.getLoc(), types, scan.getRows(), scan.getStates(), scan.getConstants(),
                           scan.getStarts(), scan.getLengths(), scan.getRowSizeAttr(), scan.getStepAttr(),
                           scan.getReverseAttr());
  IRMapping mapping;
  scan.getBody().cloneInto(&keeping.getBody(), mapping);
  Operation *end = keeping.getBody().front().getTerminator();
  for (Value value : kept)
    end->insertOperands(end->getNumOperands(), mapping.lookup(value));
  for (auto [old, same] : llvm::zip_first(scan.getResults(), keeping.getResults()))
    old.replaceAllUsesWith(same);
}

/// Returns a kept value of the forward step, for all tokens.
Value ScanGradient::keptOutside(Value forward) {
  if (isRow(forward))
    return scan.getOutside(cast<BlockArgument>(forward));
  if (std::optional<size_t> output = outputNumber(forward))
    return keeping.getResult(*output);
  size_t number = llvm::find(kept, forward) - kept.begin();
  return keeping.getResult(scan.getNumResults() + number);
}

ScanOp ScanGradient::finishStep() {
  OpBuilder b = atEndOfStep();
  Location loc = scan.getLoc();
  // The step yields the gradients of the states before it, then those of the rows, then those of the lifted ops'
  // results.
  SmallVector<Value> yielded, outside, begins, constants;
  for (BlockArgument argument : scan.getStateArguments())
    if (isNumber(argument)) {
      Value gradient = gradients.lookup(argument);
      yielded.push_back(gradient ? gradient : zeros(b, loc, argument.getType()));
    }
  SmallVector<Type> types;
  for (auto [argument, begin] : states) {
    begins.push_back(begin);
    types.push_back(begin.getType());
    if (yielded.size() < begins.size()) // fixed states come last
      yielded.push_back(argument);
  }
  auto addOutput = [&](Value value) {
    yielded.push_back(value);
    types.push_back(scan.getTokenType(value.getType()));
  };
  for (BlockArgument argument : scan.getRowArguments())
    if (Value gradient = gradients.lookup(argument))
      addOutput(gradient);
  for (const Lifted &use : lifted)
    for (Value gradient : use.resultGradients)
      if (gradient)
        addOutput(gradient);
  YieldOp::create(b, loc, yielded);

  SmallVector<BlockArgument> arguments;
  for (const Row &row : rows) {
    outside.push_back(row.outside ? row.outside : keptOutside(row.kept));
    arguments.push_back(row.argument);
  }
  if (rows.empty()) { // a scan needs rows, which give the number of tokens
    outside.push_back(scan.getRows().front());
    arguments.push_back(step->addArgument(scan.getStepType(outside.back().getType()), loc));
  }
  for (auto [argument, begin] : states)
    arguments.push_back(argument);
  for (BlockArgument argument : scan.getConstantArguments()) {
    auto again = cast<BlockArgument>(cloned.lookup(argument));
    if (again.use_empty())
      continue;
    constants.push_back(scan.getOutside(argument));
    arguments.push_back(again);
  }
  auto gradient = ScanOp::create(builder, loc, types, outside, begins, constants, scan.getStarts(), scan.getLengths(),
                                 scan.getRowSize(), scan.getStep(), !scan.getReverse());
  Block &body = gradient.getBody().emplaceBlock();
  for (BlockArgument argument : arguments)
    argument.replaceAllUsesWith(body.addArgument(argument.getType(), argument.getLoc()));
  body.getOperations().splice(body.end(), step->getOperations());
  return gradient;
}

/// Returns `forward` for all tokens, computed again from kept values.
Value ScanGradient::ofTokens(Value forward, IRMapping &tokens) {
  if (Value known = tokens.lookupOrNull(forward))
    return known;
  Operation *op = forward.getDefiningOp();
  if (isConstant(forward)) {
    tokens.map(forward, scan.getOutside(cast<BlockArgument>(forward)));
  } else if (!op || kept.contains(forward) || outputNumber(forward)) {
    tokens.map(forward, keptOutside(forward));
  } else {
    for (Value operand : op->getOperands())
      ofTokens(operand, tokens);
    Operation *clone = builder.clone(*op, tokens);
    for (Value result : clone->getResults())
      result.setType(scan.getTokenType(result.getType()));
  }
  return tokens.lookup(forward);
}

/// Clones the op for all tokens. An op on pairs has one query per sequence in a step, but all queries of a sequence
/// here.
Operation *ScanGradient::liftOp(Operation *op, IRMapping &tokens) {
  auto pairs = dyn_cast<PairsOpInterface>(op);
  IRMapping operands;
  for (Value operand : op->getOperands())
    if (!pairs || isNumber(operand))
      operands.map(operand, ofTokens(operand, tokens));
  if (pairs)
    for (OpOperand *ofKeys : pairs.getKeySequences())
      operands.map(ofKeys->get(), ofSequences(ofKeys->get()));
  Operation *clone = builder.clone(*op, operands);
  if (pairs)
    cast<PairsOpInterface>(clone).setQuerySequences(scan.getStarts(), scan.getLengths(), scan.getRowSizeAttr());
  for (Value result : clone->getResults())
    result.setType(scan.getTokenType(result.getType()));
  return clone;
}

/// Returns the operand of the scan for a state that never changes. It has a row for each sequence.
Value ScanGradient::ofSequences(Value forward) {
  assert(isState(forward) && isFixed(forward) && "keys are those of other inputs, which a scan does not change");
  return scan.getStates()[stateNumber(forward)];
}

FailureOr<SmallVector<Value>> ScanGradient::gradientsOfConstants(ScanOp gradient) {
  SmallVector<Value> sums(scan.getConstants().size());
  IRMapping tokens;
  size_t next = gradient.getNumResults();
  for (const Lifted &use : lifted)
    next -= llvm::count_if(use.resultGradients, [](Value value) { return bool(value); });
  for (const Lifted &use : lifted) {
    Operation *clone = liftOp(use.op, tokens);
    SmallVector<Value> resultGradients;
    for (Value value : use.resultGradients)
      resultGradients.push_back(value ? gradient.getResult(next++) : Value());
    auto all = cast<DifferentiableOpInterface>(clone).buildGradient(builder, resultGradients);
    if (failed(all))
      return failure();
    for (auto [operand, value] : llvm::zip_equal(use.op->getOperands(), *all)) {
      if (!value || !isConstant(operand))
        continue;
      size_t number = cast<BlockArgument>(operand).getArgNumber() - scan.getRows().size() - scan.getStates().size();
      Value &sum = sums[number];
      sum = sum ? addGradients(builder, scan.getLoc(), sum, value) : value;
    }
  }
  return sums;
}

FailureOr<SmallVector<Value>> ScanGradient::build(ValueRange resultGradients) {
  beginStep(resultGradients);
  if (failed(differentiateStep()))
    return failure();
  // Rules build more ops than are needed.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*step))) {
    bool isNeeded = llvm::is_contained(llvm::make_second_range(clones), &op);
    for (Value result : op.getResults()) {
      for (auto &[forward, gradient] : gradients)
        isNeeded |= gradient == result && (isRow(forward) || isState(forward));
      for (const Lifted &use : lifted)
        isNeeded |= llvm::is_contained(use.resultGradients, result);
    }
    if (!isNeeded && isOpTriviallyDead(&op))
      op.erase();
  }
  chooseKept();
  keepSums();
  for (const Row &row : rows)
    if (row.kept)
      keep(row.kept);
  for (const Lifted &use : lifted)
    for (Value operand : use.op->getOperands())
      if (isNumber(operand) || !isa<PairsOpInterface>(use.op))
        keepFor(operand);
  keepOutputs();
  ScanOp gradient = finishStep();
  FailureOr<SmallVector<Value>> sums = gradientsOfConstants(gradient);
  if (failed(sums))
    return failure();

  SmallVector<Value> result;
  auto add = [&](Value operand, Value value) {
    result.push_back(value || !isNumber(operand) ? value : zeros(builder, scan.getLoc(), operand.getType()));
  };
  size_t next = gradient.getStates().size();
  for (auto [operand, argument] : llvm::zip_equal(scan.getRows(), scan.getRowArguments()))
    add(operand, gradients.lookup(argument) ? gradient.getResult(next++) : Value());
  next = 0;
  for (Value operand : scan.getStates())
    add(operand, isNumber(operand) ? gradient.getResult(next++) : Value());
  for (auto [operand, sum] : llvm::zip_equal(scan.getConstants(), *sums))
    add(operand, sum);
  result.append(2, Value());
  return result;
}

void heddle::registerScanGradient(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) { ScanOp::attachInterface<ScanRule>(*context); });
}
