#include "compiler/Graph/Recurrence/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_HOISTSCANSPASS
#include "compiler/Graph/Recurrence/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class HoistScansPass : public mlir::heddle::impl::HoistScansPassBase<HoistScansPass> {
public:
  void runOnOperation() override {
    SmallVector<ScanOp> scans;
    getOperation().walk([&](ScanOp scan) { scans.push_back(scan); });
    for (ScanOp scan : scans) {
      splitProducts(scan);
      sink(hoist(hoistInvariants(scan)));
    }
  }

private:
  static void splitProducts(ScanOp scan);
  static ScanOp hoistInvariants(ScanOp scan);
  static ScanOp hoist(ScanOp scan);
  static void sink(ScanOp scan);
};

/// Returns true if it is worth memory to run the op for all tokens at once. Matmuls are; elementwise ops are almost
/// free within a step.
bool isWorthwhile(Operation *op) { return isa<RowwiseOpInterface>(op) && !isElementwise(op); }

bool isRowwise(Operation *op, const llvm::SetVector<Value> &ofRows) {
  auto isOfRows = [&](Value value) { return ofRows.contains(value); };
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise ? rowwise.isRowwise(isOfRows) : isElementwise(op) && !isa<DropoutOp>(op);
}

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace

/// The values of a scan's block that do not depend on its states.
struct KnownValues {
  llvm::SetVector<Value> ofRows; // values with a row per token: the scan's rows, and values computed from them
  llvm::SetVector<Value> all;    // `ofRows`, constants, and values computed from constants

  explicit KnownValues(ScanOp scan) {
    for (BlockArgument argument : scan.getRowArguments())
      ofRows.insert(argument);
    all.insert(ofRows.begin(), ofRows.end());
    for (BlockArgument argument : scan.getConstantArguments())
      all.insert(argument);
    for (Operation &op : scan.getBody().front().without_terminator()) {
      if (!llvm::all_of(op.getOperands(), [&](Value operand) { return all.contains(operand); }) ||
          !isRowwise(&op, ofRows))
        continue;
      for (Value result : op.getResults()) {
        all.insert(result);
        if (scan.getTokenType(result.getType()) != result.getType())
          ofRows.insert(result);
      }
    }
  }
};

/// Splits a matmul of joined columns into a sum of two or three matmuls if some of the columns are known before the
/// scan. The matmuls of known columns, and a bias, then move out of the step.
///
///   (y, c) W + b   =>   (y W1 + b) + c W2      W1, W2: rows of W
void HoistScansPass::splitProducts(ScanOp scan) {
  KnownValues known(scan);
  for (auto product : llvm::make_early_inc_range(scan.getBody().front().getOps<MatmulOp>())) {
    auto join = product.getLhs().getDefiningOp<JoinOp>();
    auto weight = cast<RankedTensorType>(product.getRhs().getType());
    if (!join || !weight.hasStaticShape() || !known.all.contains(product.getRhs()) || product.getTransposeLhs() ||
        product.getTransposeRhs())
      continue;
    SmallVector<SmallVector<Value>> runs; // neighbouring parts that are all known or all unknown
    for (Value part : join.getParts()) {
      if (runs.empty() || known.ofRows.contains(runs.back().front()) != known.ofRows.contains(part))
        runs.emplace_back();
      runs.back().push_back(part);
    }
    auto isKnown = [&](ArrayRef<Value> run) { return known.ofRows.contains(run.front()); };
    if (runs.size() < 2 || llvm::count_if(runs, isKnown) + 1 != static_cast<int64_t>(runs.size()))
      continue;
    OpBuilder b(product);
    Location where = product.getLoc();
    auto columnsOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(1); };
    Value before, step;
    int64_t from = 0;
    for (ArrayRef<Value> run : runs) {
      int64_t columns = 0;
      for (Value part : run)
        columns += columnsOf(part);
      auto type = cast<RankedTensorType>(join.getType());
      auto joined = RankedTensorType::get({type.getDimSize(0), columns}, type.getElementType(), type.getEncoding());
      Value rows = SliceOp::create(b, where, weight.clone({columns, weight.getDimSize(1)}), product.getRhs(), from);
      Value lhs = run.size() == 1 ? run.front() : JoinOp::create(b, where, joined, run).getResult();
      Value part = MatmulOp::create(b, where, product.getType(), lhs, rows, false, false);
      if (isKnown(run))
        before = before ? arith::AddFOp::create(b, where, before, part).getResult() : part;
      else
        step = part;
      from += columns;
    }
    Operation *end = product;
    if (auto sum = product->hasOneUse() ? dyn_cast<arith::AddFOp>(*product->user_begin()) : arith::AddFOp()) {
      Value other = sum.getLhs() == product.getResult() ? sum.getRhs() : sum.getLhs();
      if (other != product.getResult() && known.all.contains(other)) {
        b.setInsertionPoint(sum);
        before = arith::AddFOp::create(b, sum.getLoc(), before, other);
        end = sum;
      }
    }
    end->getResult(0).replaceAllUsesWith(arith::AddFOp::create(b, where, step, before));
    end->erase();
    if (end != product)
      product.erase();
    if (join.use_empty())
      join.erase();
  }
}

/// Moves computations that depend only on constants before the scan. Their results become constants of the scan, and
/// constants that nothing else uses are dropped.
ScanOp HoistScansPass::hoistInvariants(ScanOp scan) {
  Block &block = scan.getBody().front();
  OpBuilder b(scan);
  IRMapping outside;
  for (BlockArgument argument : scan.getConstantArguments())
    outside.map(argument, scan.getOutside(argument));
  SmallVector<Value> constants(scan.getConstants());
  auto isOfStep = [&](Type type) { return scan.getTokenType(type) != type; };
  // Ops without operands, such as fills, stay in the scan. Moved ops that use them get copies.
  auto isMadeOfNothing = [&](Operation *op) { return op && op->getNumOperands() == 0 && isPure(op); };
  auto isKnownOutside = [&](Value operand) {
    return outside.contains(operand) || (isMadeOfNothing(operand.getDefiningOp()) && !isOfStep(operand.getType()));
  };
  bool hoisted = false;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isMadeOfNothing(&op) || !isPure(&op) || llvm::any_of(op.getResultTypes(), isOfStep) ||
        !llvm::all_of(op.getOperands(), isKnownOutside))
      continue;
    for (Value operand : op.getOperands())
      if (!outside.contains(operand))
        b.clone(*operand.getDefiningOp(), outside);
    b.clone(op, outside);
    hoisted = true;
    for (Value result : op.getResults()) {
      Value argument = block.addArgument(result.getType(), result.getLoc());
      constants.push_back(outside.lookup(result));
      outside.map(argument, constants.back());
      result.replaceAllUsesWith(argument);
    }
    op.erase();
  }
  if (!hoisted)
    return scan;
  eraseDead(block);
  unsigned first = scan.getRows().size() + scan.getStates().size();
  for (unsigned i = constants.size(); i-- > 0;)
    if (block.getArgument(first + i).use_empty()) {
      block.eraseArgument(first + i);
      constants.erase(constants.begin() + i);
    }
  auto with = ScanOp::create(b, scan.getLoc(), scan.getResultTypes(), scan.getRows(), scan.getStates(), constants,
                             scan.getStarts(), scan.getLengths(), scan.getRowSizeAttr(), scan.getStepAttr(),
                             scan.getReverseAttr());
  with.getBody().takeBody(scan.getBody());
  scan.replaceAllUsesWith(with.getResults());
  scan.erase();
  return with;
}

/// Moves computations that depend only on rows and constants before the scan. Their results that the step still needs
/// become rows of the scan.
ScanOp HoistScansPass::hoist(ScanOp scan) {
  Block &block = scan.getBody().front();
  KnownValues values(scan);
  llvm::SetVector<Value> &ofRows = values.ofRows, &known = values.all;
  // The known values that are worth moving and that the remaining step reads.
  SmallVector<Value> moved;
  for (Value value : known) {
    Operation *op = value.getDefiningOp();
    if (!op || !ofRows.contains(value))
      continue;
    // A matmul, or elementwise ops on a matmul that has no other use.
    auto isMoved = [&](Operation *op, auto &isMoved) -> bool {
      return isWorthwhile(op) ||
             (isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                return operand.getDefiningOp() && operand.hasOneUse() && isMoved(operand.getDefiningOp(), isMoved);
              }));
    };
    bool isRead = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isa<YieldOp>(user) ||
             llvm::none_of(user->getResults(), [&](Value result) { return known.contains(result); }) ||
             !isMoved(user, isMoved);
    });
    if (isRead && isMoved(op, isMoved))
      moved.push_back(value);
  }
  if (moved.empty())
    return scan;

  OpBuilder b(scan);
  IRMapping outside;
  for (BlockArgument argument : block.getArguments())
    if (Value value = scan.getOutside(argument))
      outside.map(argument, value);
  auto make = [&](Value value, auto &make) -> Value {
    if (Value made = outside.lookupOrNull(value))
      return made;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      make(operand, make);
    Operation *clone = b.clone(*op, outside);
    for (Value result : clone->getResults())
      result.setType(scan.getTokenType(result.getType()));
    return outside.lookup(value);
  };
  SmallVector<Value> rows(scan.getRows());
  for (Value value : moved)
    rows.push_back(make(value, make));
  auto fewer = ScanOp::create(b, scan.getLoc(), scan.getResultTypes(), rows, scan.getStates(), scan.getConstants(),
                              scan.getStarts(), scan.getLengths(), scan.getRowSizeAttr(), scan.getStepAttr(),
                              scan.getReverseAttr());
  size_t first = scan.getRows().size();
  for (auto [i, value] : llvm::enumerate(moved))
    value.replaceAllUsesWith(block.insertArgument(first + i, value.getType(), value.getLoc()));
  fewer.getBody().takeBody(scan.getBody());
  scan.replaceAllUsesWith(fewer.getResults());
  scan.erase();
  eraseDead(fewer.getBody().front());
  return fewer;
}

/// Moves matmuls that no state depends on, and ops that follow them, behind the scan, where they read outputs of the
/// scan.
void HoistScansPass::sink(ScanOp scan) {
  Block &block = scan.getBody().front();
  auto yield = cast<YieldOp>(block.getTerminator());
  size_t states = scan.getStates().size();
  llvm::SetVector<Value> ofStep;
  auto isOfStep = [&](Value value) { return scan.getTokenType(value.getType()) != value.getType(); };
  for (Value argument : block.getArguments())
    if (isOfStep(argument))
      ofStep.insert(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (isOfStep(result))
        ofStep.insert(result);
  // Ops that no state depends on.
  llvm::SetVector<Operation *> late;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    bool isLate = op.getNumResults() == 1 && isOfStep(op.getResult(0)) && !op.use_empty() && isRowwise(&op, ofStep);
    for (OpOperand &use : op.getUses())
      isLate &= use.getOwner() == yield ? use.getOperandNumber() >= states : late.contains(use.getOwner());
    if (isLate)
      late.insert(&op);
  }
  llvm::SetVector<Operation *> sunk; // in program order
  for (Operation *op : llvm::reverse(late))
    if (isWorthwhile(op) ||
        llvm::any_of(op->getOperands(), [&](Value operand) { return sunk.contains(operand.getDefiningOp()); }))
      sunk.insert(op);
  if (sunk.empty())
    return;

  // The outputs that stay, and new ones that the sunk ops read.
  SmallVector<Value> outputs;
  auto numberOf = [&](Value value) {
    size_t number = llvm::find(outputs, value) - outputs.begin();
    if (number == outputs.size())
      outputs.push_back(value);
    return number;
  };
  auto isMadeAgain = [&](Value value) { // depends only on constants
    Operation *op = value.getDefiningOp();
    return op && isElementwise(op) &&
           llvm::none_of(op->getOperands(), [&](Value operand) { return ofStep.contains(operand); });
  };
  auto isKnown = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return (argument && scan.getOutside(argument)) || sunk.contains(value.getDefiningOp()) || isMadeAgain(value);
  };
  for (Value value : yield.getOperands().drop_front(states))
    if (!sunk.contains(value.getDefiningOp()))
      numberOf(value);
  for (Operation *op : sunk)
    for (Value operand : op->getOperands())
      if (!isKnown(operand))
        numberOf(operand);
  OpBuilder b(scan);
  SmallVector<Type> types(scan.getLast().getTypes());
  for (Value value : outputs)
    types.push_back(scan.getTokenType(value.getType()));
  auto fewer =
      ScanOp::create(b, scan.getLoc(), types, scan.getRows(), scan.getStates(), scan.getConstants(), scan.getStarts(),
                     scan.getLengths(), scan.getRowSizeAttr(), scan.getStepAttr(), scan.getReverseAttr());
  IRMapping outside;
  for (auto [i, value] : llvm::enumerate(outputs))
    outside.map(value, fewer.getResult(states + i));
  auto make = [&](Value value, auto &make) -> Value {
    if (Value made = outside.lookupOrNull(value))
      return made;
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument)
      return scan.getOutside(argument);
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      outside.map(operand, make(operand, make));
    Operation *clone = b.clone(*op, outside);
    for (Value result : clone->getResults())
      result.setType(scan.getTokenType(result.getType()));
    return outside.lookup(value);
  };
  SmallVector<Value> results(fewer.getLast());
  for (Value value : yield.getOperands().drop_front(states))
    results.push_back(make(value, make));
  yield->setOperands(states, yield->getNumOperands() - states, outputs);
  for (Operation *op : llvm::reverse(sunk))
    op->erase();
  fewer.getBody().takeBody(scan.getBody());
  scan.replaceAllUsesWith(results);
  scan.erase();
  eraseDead(fewer.getBody().front());
}
