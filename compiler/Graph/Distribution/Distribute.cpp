// Every rank differentiates the loss of its part of the batch. The gradient of the whole loss is the sum over all
// ranks:
//
//   g1 = ...; g2 = ...                  g1 = ...; g2 = ...
//   n = norm g1, g2              =>     s1, s2 = all_reduce g1, g2
//   w1' = adam w1, g1, n                n = norm s1, s2
//   w2' = adam w2, g2, n                w1' = adam w1, s1, n ...
//
// From then on all ranks compute with the same numbers and get the same results. With a sharded optimizer a rank
// updates only the rows whose moments it keeps, and the ranks exchange the updated rows:
//
//   w1', m1', v1' = adam w1, s1, m1, v1 sharded
//   w1 = all_gather w1' as [@m1]
//
// The same holds for an optimizer's text (`update`) that computes each element of a weight by itself.
//
// If only those updates use a bucket's gradients (no norm, no search for infinities), a rank gets only the sums of its
// rows:
//
//   s1 = reduce_scatter g1 as [@m1]
#include "compiler/Graph/Distribution/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DISTRIBUTEPASS
#include "compiler/Graph/Distribution/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

/// A bucket is sent when it has an eighth of all gradients, or enough bytes for a link to run at full rate. While the
/// first buckets are on their way, the backward pass computes the others.
static constexpr int64_t kBuckets = 8;
static constexpr int64_t kFullBucket = 4 << 20;

namespace {

class DistributePass : public mlir::heddle::impl::DistributePassBase<DistributePass> {
public:
  using Base::Base;

  void runOnOperation() override;
};

/// Visits the values that `op` uses, as operands or in its regions.
void forEachTaken(Operation *op, function_ref<void(Value)> visit) {
  for (Value operand : op->getOperands())
    visit(operand);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    visit(value);
}

/// Returns the op of `block` that contains `op`, or `op` itself.
Operation *inBlock(Operation *op, Block &block) { return block.findAncestorOpInBlock(*op); }

/// Returns all ops that `values` depend on, directly or indirectly.
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

  /// `canShard` returns true if ranks may do a part of an update each.
  LogicalResult distribute(function_ref<bool(StepOpInterface)> canShard) {
    SetVector<Value> found;
    for (auto update : block.getOps<StepOpInterface>())
      found.insert(update.getGradientMutable().get());
    gradients = found.takeVector();
    for (Value gradient : gradients)
      moveForward(gradient);
    findViews();
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
      // With a sharded optimizer, a bucket is still one message: sums are added in the same order, so no bit changes.
      SmallVector<Attribute> like;
      for (Value gradient : bucket)
        if (StepOpInterface update = onlyUpdate(gradient); update && canShard(update))
          like.push_back(stateOf(update));
      bool isByRows = like.size() == bucket.size();
      shard(isByRows ? reduce<ReduceScatterOp>(bucket, ArrayAttr::get(block.getParentOp()->getContext(), like))
                     : reduce<AllReduceOp>(bucket),
            canShard);
      bucket.clear();
      bytes = 0;
    }
    return isTooEarly ? failure() : verifyWrites();
  }

private:
  /// Moves a gradient to the place where it is complete. A concatenation, which may stand as late as the optimizer
  /// needs it, is complete after its last part. A gradient that was accumulated in a variable is complete from the
  /// start.
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

  /// Fills `views` once: a search for each gradient would take time quadratic in the number of layers.
  void findViews() {
    for (auto read : block.getOps<ReadOp>()) {
      int64_t row = 0;
      FlatSymbolRefAttr name = read.getVariableAttr();
      while (true) {
        views[name].push_back({read, row});
        auto variable = symbols.lookup<VariableOp>(name.getAttr());
        if (!variable || !variable.getStorage())
          break;
        row += static_cast<int64_t>(variable.getFrom());
        name = variable.getStorageAttr();
      }
    }
  }

  static bool isMadeBefore(Value a, Value b) {
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    return first && second ? first->isBeforeInBlock(second) : !first && second;
  }

  static Attribute stateOf(StepOpInterface update) {
    return update.getStates().front().first.getDefiningOp<ReadOp>().getVariableAttr();
  }

  /// Returns the update if it is the optimizer's only use of a gradient, otherwise null.
  StepOpInterface onlyUpdate(Value gradient) {
    StepOpInterface update;
    for (OpOperand &use : gradient.getUses()) {
      if (!isOfOptimizer(use))
        continue;
      auto user = dyn_cast<StepOpInterface>(use.getOwner());
      if (update || !user || &use != &user.getGradientMutable())
        return {};
      update = user;
    }
    for (auto [part, from] : partsOf(gradient))
      if (llvm::any_of(part.getUses(), [&](OpOperand &use) { return isOfOptimizer(use); }))
        return {};
    return update;
  }

  /// Sums a bucket up over the ranks and returns the sums. They replace the gradients in all uses outside of the
  /// backward pass. `rest`: further arguments of the collective op.
  template <typename CollectiveOp, typename... Rest> SmallVector<Value> reduce(ArrayRef<Value> bucket, Rest... rest) {
    OpBuilder builder(block.getParent());
    if (Operation *last = bucket.back().getDefiningOp())
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(&block);
    SmallVector<Location> places;
    for (Value gradient : bucket)
      places.push_back(gradient.getLoc());
    auto sums = CollectiveOp::create(builder, builder.getFusedLoc(places), bucket, rest...);
    Operation *last = sums;
    for (auto [gradient, sum] : llvm::zip_equal(bucket, sums.getResults())) {
      replace(gradient, sum, last);
      for (auto [part, from] : partsOf(gradient))
        if (llvm::any_of(part.getUses(), [&](OpOperand &use) { return isOfOptimizer(use); })) {
          auto slice = SliceOp::create(builder, part.getLoc(), part.getType(), sum, from);
          replace(part, slice, slice);
        }
    }
    return llvm::to_vector_of<Value>(sums.getResults());
  }

  /// Marks the updates that use the bucket's `sums` as sharded, if `canShard` accepts them, and adds the exchange of
  /// their weights behind them.
  void shard(ArrayRef<Value> sums, function_ref<bool(StepOpInterface)> canShard) {
    SmallVector<StepOpInterface> updates;
    for (Value sum : sums)
      for (Operation *user : sum.getUsers())
        if (auto update = dyn_cast<StepOpInterface>(user); update && canShard(update))
          updates.push_back(update);
    if (updates.empty())
      return;
    llvm::sort(updates, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    OpBuilder builder(block.getParent());
    builder.setInsertionPointAfter(updates.back());
    SmallVector<Location> places;
    SmallVector<Value> weights;
    SmallVector<Attribute> like;
    for (StepOpInterface update : updates) {
      update.setSharded(true);
      weights.push_back(update.getNewWeight());
      places.push_back(update.getLoc());
      like.push_back(stateOf(update));
    }
    auto whole = AllGatherOp::create(builder, builder.getFusedLoc(places), weights, builder.getArrayAttr(like));
    Operation *last = whole;
    for (auto [weight, result] : llvm::zip_equal(weights, whole.getResults()))
      for (OpOperand &use : llvm::make_early_inc_range(weight.getUses())) {
        if (use.getOwner() == whole)
          continue;
        if (use.getOwner()->isBeforeInBlock(whole)) { // a write, which may come later
          use.getOwner()->moveAfter(last);
          last = use.getOwner();
        }
        use.set(result);
      }
  }

  /// Returns the values that are rows of the gradient, each with its first row there: the parts of a concatenation, or
  /// the views of the variable in which the gradient was accumulated.
  SmallVector<std::pair<Value, int64_t>> partsOf(Value gradient) {
    SmallVector<std::pair<Value, int64_t>> parts;
    int64_t from = 0;
    if (auto whole = gradient.getDefiningOp<ConcatOp>())
      for (Value part : whole.getParts()) {
        parts.push_back({part, from});
        from += cast<RankedTensorType>(part.getType()).getDimSize(0);
      }
    if (auto summed = gradient.getDefiningOp<ReadOp>())
      for (auto [read, row] : views.lookup(summed.getVariableAttr()))
        if (read != summed)
          parts.push_back({read, row});
    return parts;
  }

  bool isOfOptimizer(OpOperand &use) {
    return !backward.contains(inBlock(use.getOwner(), block)) && !isa<AllReduceOp, ReduceScatterOp>(use.getOwner());
  }

  void replace(Value gradient, Value sum, Operation *behind) {
    gradient.replaceUsesWithIf(sum, [&](OpOperand &use) {
      if (!isOfOptimizer(use))
        return false;
      bool isThere = behind->isBeforeInBlock(inBlock(use.getOwner(), block));
      if (!isThere && !isTooEarly)
        use.getOwner()->emitOpError(
            "uses a gradient before the ranks have summed it up: move it behind the backward pass");
      isTooEarly |= !isThere;
      return isThere;
    });
  }

  /// Fails if an entry writes a value that differs between ranks: variables must be the same on all ranks.
  LogicalResult verifyWrites() {
    DenseSet<Value> own; // values that may differ between ranks
    for (Value argument : block.getArguments())
      own.insert(argument);
    for (Operation &op : block) {
      bool isOwn = false;
      if (auto read = dyn_cast<ReadOp>(op)) {
        auto variable = symbols.lookup<VariableOp>(read.getVariable());
        isOwn = variable && variable.getRole() == VariableRole::Gradient;
      }
      if (!isa<AllReduceOp, ReduceScatterOp>(op)) // a rank uses only the rows that are sums
        forEachTaken(&op, [&](Value value) { isOwn |= own.contains(value); });
      if (auto write = dyn_cast<WriteOp>(op); write && isOwn)
        return write.emitOpError()
               << "gives variable '" << write.getVariable()
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
  /// For each variable, the reads of it and of its views, with the row of the variable where each begins.
  DenseMap<Attribute, SmallVector<std::pair<ReadOp, int64_t>>> views;
  DenseSet<Operation *> backward;
  bool isTooEarly = false; // set after an error: an op of the optimizer is too early
};

/// Finds the variables of which each rank may keep a part: moments and averages that begin as zeros, and that an update
/// reads and writes in every entry of several ranks.
class Shards {
public:
  Shards(ModuleOp module, SymbolTable &symbols) : symbols(symbols) {
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](ReadOp read) { reads[{read->getBlock(), read.getVariableAttr()}].push_back(read); });
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        bool isOfRanks = function->hasAttr(kRanksAttrName);
        if (auto read = dyn_cast<ReadOp>(op); read && isOfRanks)
          note(read.getVariable(), llvm::all_of(read->getUsers(), llvm::IsaPred<StepOpInterface>) ? op : nullptr);
        else if (auto write = dyn_cast<WriteOp>(op))
          note(write.getVariable(),
               isUpdate(write) || isBegin(write) || (!isOfRanks && isReadBeside(write)) ? op : nullptr);
      });
    // Ranks share out an update only if they can share out all updates of the same states in entries of several ranks.
    llvm::StringMap<bool> all;
    SmallVector<StepOpInterface> updates;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(kRanksAttrName))
        function.walk([&](StepOpInterface update) { updates.push_back(update); });
    auto forEachState = [&](StepOpInterface update, function_ref<void(bool &)> visit) {
      for (auto [old, updated] : update.getStates())
        if (auto read = old.getDefiningOp<ReadOp>())
          visit(all.try_emplace(read.getVariable(), true).first->second);
    };
    for (StepOpInterface update : updates)
      forEachState(update, [can = fits(update)](bool &state) { state &= can; });
    for (StepOpInterface update : updates) {
      bool can = fits(update);
      forEachState(update, [&](bool &state) { can &= state; });
      if (can)
        shareable.insert(update);
    }
  }

  bool canShard(StepOpInterface update) const { return shareable.contains(update); }

  void shard(StepOpInterface update) {
    for (auto [old, updated] : update.getStates()) {
      auto variable = symbols.lookup<VariableOp>(old.getDefiningOp<ReadOp>().getVariable());
      variable.setSharded(true);
      for (Operation *use : uses.lookup(variable.getSymName()))
        if (auto write = dyn_cast<WriteOp>(use); write && isBegin(write))
          zeros.insert(write);
    }
  }

  /// Erases the writes of zeros: the runtime makes zeros for the rows that a rank keeps.
  void eraseZeros() {
    for (WriteOp write : zeros) {
      Operation *fill = write.getValue().getDefiningOp();
      write.erase();
      if (fill->use_empty())
        fill->erase();
    }
  }

private:
  bool fits(StepOpInterface update) const {
    auto type = cast<RankedTensorType>(update.getWeight().getType());
    auto states = update.getStates();
    if (type.getRank() > 2 || type.getDimSize(0) < 2 ||
        type.getNumElements() % getShardElements(type.getElementType()) != 0 || states.empty() ||
        !update.isRowwiseStep())
      return false;
    for (auto [old, updated] : states)
      if (!isOwn(old, updated) || cast<RankedTensorType>(old.getType()).getShape() != type.getShape())
        return false;
    // The new weight may only be written to its variable, and after that variable's last read.
    return llvm::all_of(update.getNewWeight().getUsers(), [&](Operation *user) {
      auto write = dyn_cast<WriteOp>(user);
      return write && llvm::none_of(reads.lookup({update->getBlock(), write.getVariableAttr()}),
                                    [&](ReadOp read) { return write->isBeforeInBlock(read); });
    });
  }

  /// Returns true if the write stores the zeros of `init`.
  static bool isBegin(WriteOp write) {
    auto fill = write.getValue().getDefiningOp<FillOp>();
    auto number = fill ? dyn_cast<FloatAttr>(fill.getValue()) : FloatAttr();
    return number && number.getValue().isPosZero() && write->getParentOfType<func::FuncOp>().getSymName() == "init";
  }
  static bool isUpdate(WriteOp write) { return write.getValue().getDefiningOp<StepOpInterface>() != nullptr; }
  /// Returns true if the entry also reads the variable: an entry of one rank computes the new value from the old one.
  bool isReadBeside(WriteOp write) const { return reads.contains({write->getBlock(), write.getVariableAttr()}); }

  /// Records a use of a variable. A null `use` stands for a use that needs all rows.
  void note(StringRef name, Operation *use) {
    auto variable = symbols.lookup<VariableOp>(name);
    uses[name].push_back(use);
    auto write = dyn_cast_if_present<WriteOp>(use);
    bool isBegun = write && isBegin(write);
    while (variable && variable.getStorage()) { // a view's rows may belong to several ranks
      uses[*variable.getStorage()].push_back(isBegun ? use : nullptr);
      variable = symbols.lookup<VariableOp>(*variable.getStorage());
    }
  }

  bool isOwn(Value old, Value updated) const {
    auto read = old.getDefiningOp<ReadOp>();
    auto variable = read ? symbols.lookup<VariableOp>(read.getVariable()) : VariableOp();
    return variable && !variable.getStorage() && !llvm::is_contained(uses.lookup(read.getVariable()), nullptr) &&
           old.hasOneUse() && llvm::all_of(updated.getUsers(), [&](Operation *user) {
             auto write = dyn_cast<WriteOp>(user);
             return write && write.getVariable() == read.getVariable();
           });
  }

  SymbolTable &symbols;
  DenseMap<std::pair<Block *, Attribute>, SmallVector<ReadOp>> reads; // of a block, by variable
  llvm::StringMap<SmallVector<Operation *>> uses;                     // by variable; null: a use that needs all rows
  llvm::SetVector<WriteOp> zeros;
  DenseSet<Operation *> shareable;
};

/// Warns if ranks keep the states of matrices whole, although the optimizer's state is sharded.
static void warnOfWholeStates(ModuleOp module) {
  int64_t whole = 0, all = 0;
  module.walk([&](UpdateOp update) {
    if (!update->getParentOp()->hasAttr(kRanksAttrName) || update.getNewStates().empty() ||
        cast<RankedTensorType>(update.getWeight().getType()).getRank() < 2)
      return;
    ++all;
    whole += !update.getSharded();
  });
  if (whole > 0)
    module.emitWarning() << "each rank keeps all states of " << whole << " of the " << all
                         << " matrices: ranks share out a matrix only if the optimizer's text computes each of its "
                            "elements separately, and if its rows can be divided";
}

void DistributePass::runOnOperation() {
  SymbolTable symbols(getOperation());
  Shards sharding(getOperation(), symbols);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function->hasAttr(kRanksAttrName))
      continue;
    if (!llvm::hasSingleElement(function.getBody())) {
      function.emitError() << "several ranks run '" << function.getSymName() << "', which should be a single block";
      return signalPassFailure();
    }
    auto canShard = [&](StepOpInterface update) {
      bool can = shards && sharding.canShard(update);
      if (can)
        sharding.shard(update);
      return can;
    };
    if (failed(Entry(function, symbols).distribute(canShard)))
      return signalPassFailure();
  }
  sharding.eraseZeros();
  if (shards)
    warnOfWholeStates(getOperation());
}

} // namespace
