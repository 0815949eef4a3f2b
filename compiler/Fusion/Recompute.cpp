// Nothing here knows of a forward or a backward pass. There is a moment at which an entry holds the most memory (in a
// training step, around the loss). What lives across it is held for a use that comes later; where it can be made again
// then, from values that are held until then in any case, it is.
#include "compiler/Fusion/Recompute.h"

#include "compiler/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr std::pair<StringLiteral, Recomputation> kNames[] = {
    {"none", Recomputation::None}, {"cheap", Recomputation::Cheap}, {"products", Recomputation::Products}};

StringRef heddle::toString(Recomputation policy) { return kNames[static_cast<size_t>(policy)].first; }

std::optional<Recomputation> heddle::parseRecomputation(StringRef name) {
  for (auto [known, policy] : kNames)
    if (known == name)
      return policy;
  return std::nullopt;
}

namespace {

/// Operations an element up to which an op is cheap. Norms take seven, the shallowest product of a model twice its
/// depth.
constexpr int64_t kCheapFlops = 16;

/// Values smaller than this fraction of the most memory are kept: a recomputation is a launch.
constexpr int64_t kSmallFraction = 1024;

class Recomputer {
public:
  Recomputer(func::FuncOp function, CostCounter &counter, Recomputation policy)
      : block(function.getBody().front()), counter(counter), mostProducts(policy == Recomputation::Products ? 1 : 0) {
    for (Operation &op : block)
      places[&op] = static_cast<int64_t>(order.size()), order.push_back(&op);
  }

  void run() {
    findPeak();
    choose();
    rewrite();
  }

private:
  /// What an op's results take to be made again at a place.
  struct Chain {
    int64_t flops = 0, products = 0;
    SmallVector<Operation *> kept; // whose results it starts from
  };
  struct Candidate {
    Operation *op;
    int64_t bytes; // that need not be held
    int64_t flops;
  };

  int64_t placeOf(Operation *op) const { return places.lookup(block.findAncestorOpInBlock(*op)); }
  int64_t lastUse(Value value) const;
  std::optional<int64_t> firstUseAfterPeak(Operation *op) const;
  int64_t bytesInMemory(Value value);
  int64_t flopsOf(Operation *op);
  bool mayRepeat(Operation *op) const {
    return isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<SliceOp, ConcatOp>(op);
  }
  bool isProduct(Operation *op) {
    int64_t elements = 0;
    for (Value result : op->getResults())
      elements += counter.maximumOf(Amount::elements(result.getType()));
    return flopsOf(op) > kCheapFlops * elements;
  }
  /// Whether a value can be read at `place`: a variable's, an argument, or one that is held until then.
  bool isThere(Value value, int64_t place) const {
    Operation *producer = value.getDefiningOp();
    return !producer || isa<ReadOp>(producer) || (!chosen.contains(producer) && lastUse(value) >= place);
  }

  void findPeak();
  void choose();
  bool follow(Operation *op, int64_t place, Chain &chain);
  void rewrite();
  Operation *repeat(Operation *op, Operation *user);

  Block &block;
  CostCounter &counter;
  int64_t mostProducts;
  SmallVector<Operation *> order;
  DenseMap<Operation *, int64_t> places;
  int64_t peak = 0, peakBytes = 0;
  DenseSet<Operation *> chosen;               // their results are not held
  DenseSet<Operation *> kept;                 // and must not be chosen, since others start from them
  DenseMap<Operation *, Operation *> repeats; // by original
};

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

/// What only the next elementwise op needs stays in a kernel's registers, and so does what is copied into each kernel.
/// A variable's new value lies in the variable.
int64_t Recomputer::bytesInMemory(Value value) {
  Operation *producer = value.getDefiningOp();
  if (isa<ReadOp, SliceOp, ConcatOp, FillOp, BroadcastOp, IotaOp, arith::ExtFOp>(producer))
    return 0;
  if (value.hasOneUse() && isElementwise(*value.user_begin()))
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

/// Adds what it takes to make `op`'s results again at `place`; false where that cannot be done.
bool Recomputer::follow(Operation *op, int64_t place, Chain &chain) {
  if (!mayRepeat(op))
    return false;
  chain.flops += flopsOf(op);
  chain.products += isProduct(op);
  if (chain.products > mostProducts)
    return false;
  for (Value operand : op->getOperands()) {
    if (!isThere(operand, place)) {
      if (!follow(operand.getDefiningOp(), place, chain))
        return false;
    } else if (Operation *producer = operand.getDefiningOp()) {
      chain.kept.push_back(producer);
    }
  }
  return true;
}

/// The largest gain for the least work comes first; what it starts from is kept from then on.
void Recomputer::choose() {
  SmallVector<Candidate> candidates;
  for (Operation *op : ArrayRef(order).take_front(peak)) {
    std::optional<int64_t> place = firstUseAfterPeak(op);
    Chain chain;
    int64_t bytes = 0;
    for (Value result : op->getResults())
      if (lastUse(result) > peak)
        bytes += bytesInMemory(result);
    if (place && bytes > peakBytes / kSmallFraction && follow(op, *place, chain))
      candidates.push_back({op, bytes, chain.flops});
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    double x = double(a.flops) / double(a.bytes), y = double(b.flops) / double(b.bytes);
    return x != y ? x < y : a.bytes > b.bytes;
  });
  for (const Candidate &candidate : candidates) {
    Chain chain;
    if (kept.contains(candidate.op) || !follow(candidate.op, *firstUseAfterPeak(candidate.op), chain))
      continue;
    chosen.insert(candidate.op);
    kept.insert(chain.kept.begin(), chain.kept.end());
  }
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

struct RecomputePass : PassWrapper<RecomputePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RecomputePass)

  RecomputePass() = default;
  RecomputePass(const RecomputePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "heddle-recompute"; }
  StringRef getDescription() const override {
    return "Compute values again that are cheaper to make than to hold (rematerialisation)";
  }

  void runOnOperation() override {
    std::optional<Recomputation> policy = parseRecomputation(name);
    if (!policy) {
      getOperation().emitError() << "there is no policy of recomputation '" << name
                                 << "'; the policies are none, cheap and products";
      return signalPassFailure();
    }
    CostCounter counter(getOperation());
    if (*policy != Recomputation::None)
      for (auto function : getOperation().getOps<func::FuncOp>())
        if (!function.isExternal() && llvm::hasSingleElement(function.getBody()))
          Recomputer(function, counter, *policy).run();
  }

  Option<std::string> name{*this, "policy", llvm::cl::init("cheap"), llvm::cl::desc("none, cheap or products")};
  friend std::unique_ptr<Pass> heddle::createRecomputePass(Recomputation);
};

} // namespace

std::unique_ptr<Pass> heddle::createRecomputePass(Recomputation policy) {
  auto pass = std::make_unique<RecomputePass>();
  pass->name = toString(policy).str();
  return pass;
}
void heddle::registerRecomputePass() { PassRegistration<RecomputePass>(); }
