// This pass does not distinguish forward and backward pass. At one moment, the peak, an entry holds the most memory (in
// a training step, around the loss). A value that lives across the peak is kept for a later use. If it can be computed
// again at that use, from values that are kept until then anyway, it is recomputed instead.
#include "compiler/Kernel/Fusion/Recompute.h"
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Kernel/Fusion/KernelGroups.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

static constexpr std::pair<StringLiteral, Recomputation> kNames[] = {{"none", Recomputation::None},
                                                                     {"cheap", Recomputation::Cheap},
                                                                     {"products", Recomputation::Products},
                                                                     {"auto", Recomputation::Auto}};

StringRef heddle::toString(Recomputation policy) { return kNames[static_cast<size_t>(policy)].first; }

std::optional<Recomputation> heddle::parseRecomputation(StringRef name) {
  for (auto [known, policy] : kNames)
    if (known == name)
      return policy;
  return std::nullopt;
}

namespace {

/// An op is cheap if it takes at most this many operations per element of its largest operand or result. Norms take
/// seven, a sum one, a matmul twice its shortest side.
constexpr int64_t kCheapFlops = 16;

/// Values smaller than the peak's memory divided by this number are kept: recomputing one costs a launch.
constexpr int64_t kSmallFraction = 1024;

/// The number of ops by which a value's lifetime may be extended so that others can be computed from it: about one
/// layer's backward pass, so that values are not kept for layers further back.
constexpr int64_t kHeldLonger = 32;

class Recomputer {
public:
  Recomputer(func::FuncOp function, CostCounter &counter, Recomputation policy)
      : block(function.getBody().front()), counter(counter), mostProducts(policy == Recomputation::Products ? 1 : 0),
        symbols(function->getParentOp()) {
    sinkReshapes();
    for (Operation &op : block) {
      places[&op] = static_cast<int64_t>(order.size()), order.push_back(&op);
      if (auto write = dyn_cast<WriteOp>(op))
        writes[storageOf(write.getVariable())].push_back(places[&op]);
    }
  }

  /// Recomputes values unless the function's tensors take at most `enough` bytes together at the peak.
  void run(int64_t enough) {
    findPeak();
    if (peakBytes > enough) {
      choose();
      rewrite();
    }
    joinReshapes();
  }

private:
  /// The ops that recompute an op's results at a place.
  struct Chain {
    int64_t products = 0;
    DenseSet<Operation *> ops;
    llvm::SetVector<Operation *> starts; // their results are kept
  };

  int64_t placeOf(Operation *op) const { return places.lookup(block.findAncestorOpInBlock(*op)); }
  int64_t lastUse(Value value) const;
  std::optional<int64_t> firstUseAfterPeak(Operation *op) const;
  int64_t bytesInMemory(Value value, bool acrossPeak = false);
  int64_t flopsOf(Operation *op);
  bool mayRepeat(Operation *op) const {
    return isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<SliceOp, ConcatOp>(op) && !changesInPlace(op);
  }
  /// Returns true if the op overwrites an operand, so that its result cannot be computed a second time.
  static bool changesInPlace(Operation *op) {
    auto anchor = dyn_cast<KernelOpInterface>(op);
    return isa<ScatterRowsOp, InsertRowsOp>(op) || (anchor && anchor.worksInPlace());
  }
  bool isProduct(Operation *op) {
    if (isElementwise(op))
      return false;
    int64_t elements = 0;
    for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
      elements = std::max(elements, counter.maximumOf(Amount::elements(type)));
    return flopsOf(op) > kCheapFlops * elements;
  }
  /// Returns true if a value can be read at `place` after the peak: an argument, a variable's value that is not
  /// overwritten by then, or a value that is kept until then or shortly before.
  bool isThere(Value value, int64_t place) const {
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return true;
    if (auto read = dyn_cast<ReadOp>(producer))
      return !isOverwritten(read.getVariable(), read, place);
    if (chosen.contains(producer))
      return false;
    for (Operation *user : value.getUsers())
      if (auto write = dyn_cast<WriteOp>(user); write && !isOverwritten(write.getVariable(), write, place))
        return true;
    int64_t last = lastUse(value);
    return last > peak && last + kHeldLonger >= place;
  }
  /// Returns true if the variable is overwritten between `op`, which reads or writes it, and `place`.
  bool isOverwritten(StringRef variable, Operation *op, int64_t place) const {
    auto found = writes.find(storageOf(variable));
    return found != writes.end() &&
           llvm::any_of(found->second, [&](int64_t write) { return placeOf(op) < write && write < place; });
  }
  /// Returns the variable whose memory this one uses: the one that it is a view of, or itself.
  StringRef storageOf(StringRef name) const {
    auto variable = symbols.lookup<VariableOp>(name);
    FlatSymbolRefAttr whole = variable ? variable.getStorageAttr() : FlatSymbolRefAttr();
    return whole ? whole.getValue() : name;
  }

  void sinkReshapes();
  void joinReshapes();
  void findPeak();
  void choose();
  void choose(Operation *op);
  bool follow(Operation *op, Chain &chain) { return follow(op, *firstUseAfterPeak(op), chain); }
  bool follow(Operation *op, int64_t place, Chain &chain);
  void rewrite();
  Operation *repeat(Operation *op, Operation *user);

  Block &block;
  CostCounter &counter;
  int64_t mostProducts;
  SymbolTable symbols;
  llvm::StringMap<SmallVector<int64_t>> writes; // the places of writes to a variable's memory
  SmallVector<Operation *> order;
  DenseMap<Operation *, int64_t> places;
  int64_t peak = 0, peakBytes = 0;
  DenseSet<Operation *> chosen; // to be recomputed: their results are not kept
  DenseMap<Operation *, llvm::SetVector<Operation *>>
      madeFrom;                               // by kept op: the chosen ops that are recomputed from it
  DenseMap<Operation *, Operation *> repeats; // by original
};

/// A reshape shares its input's memory. Gives each user its own reshape, so that the input counts as used there.
void Recomputer::sinkReshapes() {
  for (auto reshape : llvm::to_vector(block.getOps<ReshapeOp>())) { // without the clones that the loop adds
    for (OpOperand &use : llvm::make_early_inc_range(reshape->getUses())) {
      OpBuilder builder(block.findAncestorOpInBlock(*use.getOwner()));
      use.set(builder.clone(*reshape)->getResult(0));
    }
    reshape.erase();
  }
}

/// Undoes `sinkReshapes`: a value has one reshape per type again, right after its producer, whose kernel may go on with
/// the new shape.
void Recomputer::joinReshapes() {
  for (auto reshape : llvm::to_vector(block.getOps<ReshapeOp>()))
    if (Operation *producer = reshape.getInput().getDefiningOp())
      reshape->moveAfter(producer);
    else
      reshape->moveBefore(&block, block.begin());
  DenseMap<std::pair<Value, Type>, Value> known;
  for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>())) {
    auto [first, isNew] = known.try_emplace({reshape.getInput(), reshape.getType()}, reshape);
    if (isNew)
      continue;
    reshape.replaceAllUsesWith(first->second);
    reshape.erase();
  }
}

int64_t Recomputer::lastUse(Value value) const {
  int64_t last = value.getDefiningOp() ? placeOf(value.getDefiningOp()) : 0;
  for (Operation *user : value.getUsers())
    last = std::max(last, placeOf(user));
  return last;
}

std::optional<int64_t> Recomputer::firstUseAfterPeak(Operation *op) const {
  std::optional<int64_t> first;
  for (Operation *user : op->getUsers())
    if (int64_t place = placeOf(user); place > peak && (!first || place < *first))
      first = place;
  return first;
}

int64_t Recomputer::flopsOf(Operation *op) {
  if (auto costly = dyn_cast<CostOpInterface>(op))
    return counter.maximumOf(costly.countFlops(counter));
  int64_t flops = 0;
  for (Value result : op->getResults())
    flops += counter.maximumOf(Amount::elements(result.getType()));
  return flops;
}

/// Returns 0 if a value needs no memory of its own: it is copied into each kernel, it is a variable's new value, or
/// only one elementwise op uses it, so that it stays in registers. With `acrossPeak`, the last case does not count.
int64_t Recomputer::bytesInMemory(Value value, bool acrossPeak) {
  Operation *producer = value.getDefiningOp();
  if (isa<ReadOp, SliceOp, ReshapeOp, ConcatOp, FillOp, BroadcastOp, IotaOp, arith::ExtFOp, DequantizeOp, JoinPanelsOp>(
          producer))
    return 0;
  if (!acrossPeak && value.hasOneUse() && isElementwise(*value.user_begin()))
    return 0;
  if (llvm::any_of(value.getUsers(), llvm::IsaPred<WriteOp>))
    return 0;
  return counter.maximumOf(Amount::bytes(value.getType()));
}

void Recomputer::findPeak() {
  SmallVector<int64_t> change(order.size() + 1);
  for (Operation *op : order)
    for (Value result : op->getResults()) {
      int64_t bytes = bytesInMemory(result);
      change[placeOf(op)] += bytes;
      change[lastUse(result) + 1] -= bytes;
    }
  int64_t held = 0;
  for (auto [place, delta] : llvm::enumerate(change)) {
    held += delta;
    if (held > peakBytes)
      peak = static_cast<int64_t>(place), peakBytes = held;
  }
}

/// Adds the ops that recompute `op`'s results at `place` to the chain. Returns false if that cannot be done.
bool Recomputer::follow(Operation *op, int64_t place, Chain &chain) {
  if (!mayRepeat(op))
    return false;
  if (!chain.ops.insert(op).second)
    return true;
  chain.products += isProduct(op);
  if (chain.products > mostProducts)
    return false;
  for (Value operand : op->getOperands()) {
    if (!isThere(operand, place)) {
      if (!follow(operand.getDefiningOp(), place, chain))
        return false;
    } else if (Operation *producer = operand.getDefiningOp()) {
      chain.starts.insert(producer);
    }
  }
  return true;
}

/// Values that take no matmul come first: they are nearly free. Within each kind the largest come first. Among values
/// of one size a producer comes before its users, which can then be recomputed after it.
void Recomputer::choose() {
  struct Candidate {
    Operation *op;
    int64_t bytes; // saved if it is not kept
    bool isCheap;
  };
  SmallVector<Candidate> candidates;
  for (Operation *op : ArrayRef(order).take_front(peak)) {
    Chain chain;
    int64_t bytes = 0;
    for (Value result : op->getResults())
      if (lastUse(result) > peak)
        bytes += bytesInMemory(result, /*acrossPeak=*/true);
    bool isResult = llvm::is_contained(op->getUsers(), block.getTerminator()); // of the entry: computed once
    if (!isResult && firstUseAfterPeak(op) && bytes > peakBytes / kSmallFraction && follow(op, chain))
      candidates.push_back({op, bytes, chain.products == 0});
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.isCheap != b.isCheap ? a.isCheap : a.bytes > b.bytes;
  });
  for (const Candidate &candidate : candidates)
    choose(candidate.op);
}

/// Marks `op` as recomputed. Values that are recomputed from its results must then be recomputed from its operands; if
/// that is impossible or takes too many matmuls, its results are kept.
void Recomputer::choose(Operation *op) {
  llvm::SetVector<Operation *> made = madeFrom.lookup(op);
  made.insert(op);
  SmallVector<Chain> chains(made.size());
  chosen.insert(op);
  for (auto [again, chain] : llvm::zip_equal(made, chains))
    if (!follow(again, chain)) {
      chosen.erase(op);
      return;
    }
  for (auto [again, chain] : llvm::zip_equal(made, chains))
    for (Operation *start : chain.starts)
      madeFrom[start].insert(again);
}

void Recomputer::rewrite() {
  for (Operation *user : ArrayRef(order).drop_front(peak + 1))
    for (OpOperand &operand : user->getOpOperands())
      if (Operation *producer = operand.get().getDefiningOp(); producer && chosen.contains(producer))
        operand.set(repeat(producer, user)->getResult(cast<OpResult>(operand.get()).getResultNumber()));
}

Operation *Recomputer::repeat(Operation *op, Operation *user) {
  Operation *&known = repeats[op];
  if (known)
    return known;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!isThere(operand, placeOf(user))) {
      auto result = cast<OpResult>(operand);
      mapping.map(operand, repeat(result.getOwner(), user)->getResult(result.getResultNumber()));
    }
  OpBuilder builder(user);
  Operation *copy = builder.clone(*op, mapping);
  copy->setAttr(kRecomputedAttrName, builder.getUnitAttr());
  return repeats[op] = copy;
}

struct RecomputePass : mlir::heddle::impl::RecomputePassBase<RecomputePass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<Recomputation> policy = parseRecomputation(name);
    if (!policy) {
      getOperation().emitError() << "there is no policy of recomputation '" << name
                                 << "'; the policies are none, cheap, products and auto";
      return signalPassFailure();
    }
    CostCounter counter(getOperation());
    if (*policy == Recomputation::None)
      return;
    int64_t enough = *policy == Recomputation::Auto ? memory / 2 - bytesOfVariables() : 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
        continue;
      if (failed(verifyTensors(function)))
        return signalPassFailure();
      Recomputer(function, counter, *policy).run(enough);
    }
  }

  int64_t bytesOfVariables() {
    int64_t bytes = 0;
    for (auto variable : getOperation().getOps<VariableOp>())
      if (!variable.getStorageAttr()) // counted with its storage
        bytes += variable.getTensorType().getNumElements() * variable.getTensorType().getElementTypeBitWidth() / 8;
    return bytes;
  }
};

} // namespace
