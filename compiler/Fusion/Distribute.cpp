// Every rank differentiates the loss of its part of the batch, and the gradient of the whole loss is the sum:
//
//   g1 = ...; g2 = ...                  g1 = ...; g2 = ...
//   n = norm g1, g2              =>     s1, s2 = all_reduce g1, g2
//   w1' = adam w1, g1, n                n = norm s1, s2
//   w2' = adam w2, g2, n                w1' = adam w1, s1, n ...
//
// All that follows is computed by every rank from the same numbers, and so is the same everywhere.
#include "compiler/Fusion/Distribute.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::heddle;

/// A bucket is sent when it has an eighth of all gradients, or as many bytes as a link carries at full rate: while the first ones are
/// on their way the backward pass makes the others.
static constexpr int64_t kBuckets = 8;
static constexpr int64_t kFullBucket = 4 << 20;

namespace {

class DistributePass : public PassWrapper<DistributePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DistributePass)

  StringRef getArgument() const override { return "heddle-distribute"; }
  StringRef getDescription() const override { return "Sum the gradients of all ranks in the entries that several ranks run"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<HeddleDialect>(); }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kRanksAttrName) && failed(distribute(function, symbols)))
        return signalPassFailure();
  }

private:
  LogicalResult distribute(func::FuncOp function, SymbolTable &symbols);
};

/// What `op` takes, by itself or in its regions.
void forEachTaken(Operation *op, function_ref<void(Value)> visit) {
  for (Value operand : op->getOperands())
    visit(operand);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    visit(value);
}

/// The op of `block` that `op` is, or is in.
Operation *inBlock(Operation *op, Block &block) { return block.findAncestorOpInBlock(*op); }

/// The ops that `values` are made by.
DenseSet<Operation *> makersOf(ArrayRef<Value> values) {
  DenseSet<Operation *> makers;
  SmallVector<Value> open(values);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && makers.insert(op).second)
      forEachTaken(op, [&](Value value) { open.push_back(value); });
  }
  return makers;
}

int64_t bytesOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements() * 4; }

class Entry {
public:
  Entry(func::FuncOp function, SymbolTable &symbols) : block(function.getBody().front()), symbols(symbols) {}

  LogicalResult distribute() {
    SetVector<Value> found;
    for (auto adam : block.getOps<AdamOp>())
      found.insert(adam.getGradient());
    gradients = found.takeVector();
    for (Value gradient : gradients)
      moveForward(gradient);
    llvm::stable_sort(gradients, [](Value a, Value b) { return isMadeBefore(a, b); });
    backward = makersOf(gradients);
    int64_t all = 0;
    for (Value gradient : gradients)
      all += bytesOf(gradient);
    int64_t full = std::min<int64_t>(kFullBucket, llvm::divideCeil(all, kBuckets)), bytes = 0;
    SmallVector<Value> bucket;
    for (Value gradient : gradients) {
      bucket.push_back(gradient);
      bytes += bytesOf(gradient);
      if (bytes < full && gradient != gradients.back())
        continue;
      reduce(bucket);
      bucket.clear();
      bytes = 0;
    }
    return verifyWrites();
  }

private:
  /// What several ops make may stand where the optimizer needs it, and is there as soon as the last of them is. What was summed up in a
  /// variable is there at the begin.
  void moveForward(Value gradient) {
    if (auto read = gradient.getDefiningOp<ReadOp>())
      read->moveBefore(&block, block.begin());
    auto whole = gradient.getDefiningOp<ConcatOp>();
    if (!whole)
      return;
    Operation *last = nullptr;
    for (Value part : whole.getParts())
      if (Operation *op = part.getDefiningOp(); op && (!last || last->isBeforeInBlock(op)))
        last = op;
    if (last)
      whole->moveAfter(last);
  }

  static bool isMadeBefore(Value a, Value b) {
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    return first && second ? first->isBeforeInBlock(second) : !first && second;
  }

  /// The sums take the gradients' places wherever it is not the backward pass that uses them.
  void reduce(ArrayRef<Value> bucket) {
    OpBuilder builder(block.getParent());
    if (Operation *last = bucket.back().getDefiningOp())
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(&block);
    SmallVector<Location> places;
    for (Value gradient : bucket)
      places.push_back(gradient.getLoc());
    auto sums = AllReduceOp::create(builder, builder.getFusedLoc(places), bucket);
    Operation *last = sums;
    for (auto [gradient, sum] : llvm::zip_equal(bucket, sums.getResults())) {
      replace(gradient, sum, last);
      for (auto [part, from] : partsOf(gradient))
        if (llvm::any_of(part.getUses(), [&](OpOperand &use) { return isOfOptimizer(use); })) {
          auto slice = SliceOp::create(builder, part.getLoc(), part.getType(), sum, from);
          replace(part, slice, slice);
        }
    }
  }

  /// Other values that are rows of the gradient, and from which row on: what it is put together of, or, where it was summed up in a
  /// variable, the views of that.
  SmallVector<std::pair<Value, int64_t>> partsOf(Value gradient) {
    SmallVector<std::pair<Value, int64_t>> parts;
    int64_t from = 0;
    if (auto whole = gradient.getDefiningOp<ConcatOp>())
      for (Value part : whole.getParts()) {
        parts.push_back({part, from});
        from += cast<RankedTensorType>(part.getType()).getDimSize(0);
      }
    if (auto summed = gradient.getDefiningOp<ReadOp>())
      for (auto read : block.getOps<ReadOp>())
        if (std::optional<int64_t> row = rowIn(summed.getVariable(), read.getVariable()); row && read != summed)
          parts.push_back({read, *row});
    return parts;
  }

  /// The row of variable `whole` that `view` begins at, where it lies in it.
  std::optional<int64_t> rowIn(StringRef whole, StringRef view) {
    int64_t row = 0;
    while (view != whole) {
      auto variable = symbols.lookup<VariableOp>(view);
      if (!variable || !variable.getStorage())
        return std::nullopt;
      row += static_cast<int64_t>(variable.getFrom());
      view = *variable.getStorage();
    }
    return row;
  }

  bool isOfOptimizer(OpOperand &use) { return !backward.contains(inBlock(use.getOwner(), block)) && !isa<AllReduceOp>(use.getOwner()); }

  void replace(Value gradient, Value sum, Operation *behind) {
    gradient.replaceUsesWithIf(sum, [&](OpOperand &use) {
      bool isMoved = isOfOptimizer(use);
      assert((!isMoved || behind->isBeforeInBlock(inBlock(use.getOwner(), block))) && "the optimizer follows the backward pass");
      return isMoved;
    });
  }

  /// What ranks keep from call to call must be the same on all of them.
  LogicalResult verifyWrites() {
    DenseSet<Value> own; // of a rank alone
    for (Value argument : block.getArguments())
      own.insert(argument);
    for (Operation &op : block) {
      bool isOwn = false;
      if (auto read = dyn_cast<ReadOp>(op)) {
        auto variable = symbols.lookup<VariableOp>(read.getVariable());
        isOwn = variable && variable.getRole() == VariableRole::Gradient;
      }
      if (!isa<AllReduceOp>(op))
        forEachTaken(&op, [&](Value value) { isOwn |= own.contains(value); });
      if (auto write = dyn_cast<WriteOp>(op); write && isOwn)
        return write.emitOpError() << "gives variable '" << write.getVariable()
                                   << "' a value that each rank makes of its part of the batch alone, so that ranks would "
                                      "come to differ; this model trains on one device";
      if (isOwn)
        own.insert(op.result_begin(), op.result_end());
    }
    return success();
  }

  Block &block;
  SymbolTable &symbols;
  SmallVector<Value> gradients;
  DenseSet<Operation *> backward;
};

LogicalResult DistributePass::distribute(func::FuncOp function, SymbolTable &symbols) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError() << "several ranks run '" << function.getSymName() << "', which should be a single block";
  return Entry(function, symbols).distribute();
}

} // namespace

std::unique_ptr<Pass> mlir::heddle::createDistributePass() { return std::make_unique<DistributePass>(); }
void mlir::heddle::registerDistributePass() { PassRegistration<DistributePass>(); }
