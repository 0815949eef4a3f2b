// Cuts an entry into kernels. Each has at most one anchor (an op that decides a grid and loops); elementwise work joins
//  - the anchor that produces its operand, as an epilogue, if the anchor allows it,
//  - the only anchor that consumes it, as a prologue, if the anchor allows it,
//  - or else a kernel of elementwise ops over the same matrix.
// If two anchors read the same operand, one may compute the other's result as well, which is then its companion.
// Ops that cost only a register (fills, broadcasts, index columns, comparisons) are copied into every kernel that uses
// them.
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Fusion/HoistForFusion.h"
#include "compiler/Kernel/Fusion/KernelGroups.h"
#include "compiler/Kernel/Fusion/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Decides which op joins which group.
class KernelCutter : public KernelGroups {
public:
  KernelCutter(Block &block, bool fuse)
      : KernelGroups(block, fuse && wantsRemarks(block.getParentOp()->getContext())), fuse(fuse) {}

  LogicalResult cut() {
    eraseDeadOps(); // or they would take companions
    if (fuse) {
      addProductsFirst(*block);
      repeatNorms(*block);
    }
    hoistForFusion(*block);
    if (fuse)
      absorbChains();
    materialize();
    if (fuse) {
      absorbPrologues();
      absorbCompanions();
    }
    if (failed(assignAll()))
      return failure();
    if (fuse)
      absorbAddends();
    emitRemarks();
    outline();
    eraseDeadOps();
    return success();
  }

private:
  /// Erases what nothing uses: originals of recomputed ops, and at the end the ops that kernels compute.
  void eraseDeadOps() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// Each anchor absorbs the ops that it computes on the way to an operand (`getChain`).
  void absorbChains() {
    for (auto anchor : llvm::to_vector(block->getOps<KernelOpInterface>())) {
      SmallVector<Operation *> chain = anchor.getChain();
      auto isThere = [&](Operation *op) {
        return llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return !producer || producer->getBlock() != block || llvm::is_contained(chain, producer) ||
                 producer->isBeforeInBlock(anchor);
        });
      };
      auto isTaken = [&](Operation *op) { return groupOf.contains(op); };
      if (chain.empty())
        continue;
      if (llvm::any_of(chain, isTaken)) {
        miss(chain.front(), anchor, "chain", "another kernel has it already");
        continue;
      }
      if (!llvm::all_of(chain, isThere)) {
        miss(chain.front(), anchor, "chain", "an operand of it is made after the kernel");
        continue;
      }
      KernelGroup &group = *groups.emplace_back(std::make_unique<KernelGroup>());
      initialise(group, anchor);
      group.isChain = true;
      llvm::append_range(group.ops, chain);
      llvm::sort(group.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      for (Operation *op : group.ops)
        groupOf[op] = &group;
      SetVector<Value> outside;
      StringRef obstacle;
      for (Operation *op : group.ops)
        if (obstacle = collectOperands(op, group, outside); !obstacle.empty())
          break;
      auto isResult = [&](Operation *op) { return isUsedOutside(op->getResult(0), group); };
      if (obstacle.empty() && outside.size() + llvm::count_if(group.ops, isResult) > kMaxOperandsOfRows)
        obstacle = kTooManyOperands;
      if (obstacle.empty())
        continue;
      miss(chain.front(), anchor, "chain", obstacle);
      for (Operation *op : group.ops)
        groupOf.erase(op);
      groups.pop_back();
    }
  }

  /// An elementwise op joins an anchor if only this anchor uses it, and can compute it where it reads it.
  void absorbPrologues() {
    for (auto anchor : block->getOps<KernelOpInterface>()) {
      if (groupOf.contains(anchor))
        continue;
      if (!anchor.takesPrologue()) {
        for (OpOperand &operand : anchor->getOpOperands())
          if (mayBePrologue(operand.get().getDefiningOp()))
            miss(operand.get().getDefiningOp(), anchor, "prologue",
                 "the anchor takes none: it reads elements of its operands more than once");
        continue;
      }
      SetVector<Operation *> members;
      SmallVector<Operation *> worklist{anchor};
      size_t operands = countOperands(anchor);
      while (!worklist.empty() && members.size() < kMaxOperands) {
        Operation *op = worklist.pop_back_val();
        for (OpOperand &operand : op->getOpOperands()) {
          Operation *producer = operand.get().getDefiningOp();
          if (!mayBePrologue(producer))
            continue;
          size_t after = operands - 1 + countOperands(producer); // its operands' addresses instead of its own
          StringRef obstacle = findPrologueObstacle(operand, anchor);
          if (obstacle.empty() && after > kMaxOperands)
            obstacle = kTooManyOperands;
          if (!obstacle.empty()) {
            miss(producer, anchor, "prologue", obstacle);
            continue;
          }
          operands = after;
          members.insert(producer);
          worklist.push_back(producer);
        }
      }
      if (members.empty())
        continue;
      KernelGroup &group = *groups.emplace_back(std::make_unique<KernelGroup>());
      initialise(group, anchor);
      llvm::append_range(group.ops, members);
      llvm::sort(group.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      for (Operation *op : group.ops)
        groupOf[op] = &group;
    }
  }

  static bool mayBePrologue(Operation *producer) {
    return producer && isElementwise(producer) && !isCopied(producer) && !isMadeInMemory(producer);
  }

  /// Returns why the anchor's kernel cannot compute an elementwise operand where it reads it, or an empty string if it
  /// can.
  static StringRef findPrologueObstacle(OpOperand &operand, KernelOpInterface anchor) {
    if (!operand.get().getDefiningOp()->hasOneUse())
      return "its result has other uses";
    if (operand.get().getDefiningOp()->getNumResults() != 1)
      return "it has several results";
    if (isReadElsewhere(operand))
      return "it is read at other places than the one that is computed";
    if (!sameMatrix(anchor->getOperand(0).getType(), operand.get().getType()))
      return "it computes on another matrix than the anchor's first operand";
    return "";
  }

  /// Each anchor may absorb earlier anchors if they read operands that its kernel reads anyway.
  void absorbCompanions() {
    auto anchors = llvm::to_vector(block->getOps<KernelOpInterface>());
    for (KernelOpInterface anchor : llvm::reverse(anchors)) {
      if (KernelGroup *group = groupOf.lookup(anchor); group && group->anchor != anchor)
        continue;
      SetVector<Operation *> candidates;
      for (Value input : inputsOf(anchor))
        for (Operation *user : input.getUsers()) {
          KernelGroup *group = groupOf.lookup(user);
          Operation *candidate = group ? group->anchor.getOperation() : user;
          if (candidate && candidate != anchor && isa<KernelOpInterface>(candidate) && canAccompany(candidate, anchor))
            candidates.insert(candidate);
        }
      for (Operation *candidate : candidates)
        accompany(candidate, anchor);
    }
  }

  /// The kernel runs at the anchor's place. The candidate must stand before the anchor, so that its operands are
  /// computed by then, and no op before the anchor may need its result.
  bool canAccompany(Operation *candidate, KernelOpInterface anchor) {
    if (candidate->getBlock() != anchor->getBlock() || !candidate->isBeforeInBlock(anchor) ||
        !anchor.takesCompanion(candidate))
      return false;
    if (llvm::all_of(candidate->getUsers(), [&](Operation *user) { return anchor->isBeforeInBlock(user); }))
      return true;
    miss(candidate, anchor, "companion", "its result is needed before the anchor");
    return false;
  }

  void accompany(Operation *candidate, KernelOpInterface anchor) {
    SetVector<Value> inputs = inputsOf(anchor);
    for (Value input : inputsOf(cast<KernelOpInterface>(candidate)))
      inputs.insert(input);
    if (inputs.size() + 2 > kMaxOperands)
      return miss(candidate, anchor, "companion", kTooManyOperands);
    KernelGroup *group = groupOf.lookup(anchor);
    if (!group)
      group = &start(anchor);
    KernelGroup *other = groupOf.lookup(candidate);
    SmallVector<Operation *> joining = other ? other->ops : SmallVector<Operation *>{candidate};
    if (other)
      other->ops.clear();
    llvm::append_range(group->ops, joining);
    for (Operation *op : joining)
      groupOf[op] = group;
    llvm::sort(group->ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  /// Ops join groups before their own users are placed, so a group may end up with more results than were counted. Its
  /// last op is then refused, and all ops are assigned again.
  LogicalResult assignAll() {
    SmallVector<SmallVector<Operation *>> begun;
    for (auto &group : groups)
      begun.push_back(group->ops);
    refused.clear();
    const size_t before = missed.size();
    while (true) {
      missed.resize(before);
      for (Operation &op : *block)
        if (failed(assign(&op)))
          return failure();
      bool isDone = true;
      for (auto [index, group] : llvm::enumerate(groups))
        if (group->ops.size() > (index < begun.size() ? begun[index].size() : 1) && isCrowded(*group)) {
          refused.insert({placeOf(*group), group->ops.back()});
          isDone = false;
        }
      if (isDone)
        return success();
      groups.resize(begun.size());
      groupOf.clear();
      for (auto [group, ops] : llvm::zip(groups, begun)) {
        group->ops = ops;
        for (Operation *op : ops)
          groupOf[op] = group.get();
      }
    }
  }

  /// Matmuls whose results are added become one kernel: one K loop after the other adds to the same accumulator.
  /// Matmuls that contract over tokens are left out: their operands would have to be kept for longer.
  void absorbAddends() {
    for (auto &group : groups) {
      auto last = dyn_cast_or_null<MatmulOp>(group->anchor.getOperation());
      if (group->ops.empty() || !last || !mayBeAdded(last))
        continue;
      Value sum = last.getResult();
      while (sum.hasOneUse()) {
        auto add = dyn_cast<arith::AddFOp>(*sum.user_begin());
        if (!add || groupOf.lookup(add) != group.get())
          break;
        Operation *addend = (add.getLhs() == sum ? add.getRhs() : add.getLhs()).getDefiningOp();
        if (!addend)
          break;
        if (StringRef obstacle = absorb(*group, last, addend); !obstacle.empty()) {
          if (KernelGroup *other = groupOf.lookup(addend);
              other && other != group.get() && isa_and_nonnull<MatmulOp>(other->anchor.getOperation()))
            miss(addend, last, "addend", obstacle);
          break;
        }
        sum = add;
      }
    }
  }

  static bool mayBeAdded(MatmulOp product) { return !product.getTransposeLhs(); }

  /// Returns true if the loops of one kernel can compute all of these matmuls: their operands are of one kind, or all
  /// are computed without tensor cores, as matmuls of packed weights are. Beside packed weights, lanes also compute a
  /// matmul meant for tensor cores if its left operand has few columns, as in an adapter.
  static bool haveOneKernel(ArrayRef<MatmulOp> products) {
    constexpr int64_t fewColumns = 64;
    auto isPacked = [](MatmulOp product) { return isa_and_nonnull<DequantizeOp>(product.getRhs().getDefiningOp()); };
    auto isTensor = [](MatmulOp product) { return hasTensorOperands(product, product.getLhs()); };
    auto kindOf = [&](MatmulOp product) {
      return std::tuple(getElementTypeOrSelf(product.getLhs()), getElementTypeOrSelf(product.getRhs()),
                        isTensor(product));
    };
    if (llvm::any_of(products, isPacked))
      return llvm::all_of(products, [&](MatmulOp product) {
        return !isTensor(product) || cast<RankedTensorType>(product.getLhs().getType()).getDimSize(1) <= fewColumns;
      });
    return llvm::all_of(products, [&](MatmulOp product) { return kindOf(product) == kindOf(products.front()); });
  }

  /// If the kernel that computes `addend` does nothing else, the group absorbs it. Otherwise returns the reason why
  /// not.
  StringRef absorb(KernelGroup &group, MatmulOp last, Operation *addend) {
    KernelGroup *other = groupOf.lookup(addend);
    // A sum may add a matmul of another kernel, which other kernels use, too.
    auto isOwn = [&](Value product) { return groupOf.lookup(product.getDefiningOp()) == other; };
    auto isAlike = [&](Operation *op) {
      auto product = dyn_cast<MatmulOp>(op);
      return op->hasOneUse() && op->hasAttr(kRecomputedAttrName) == last->hasAttr(kRecomputedAttrName) &&
             (product ? mayBeAdded(product) && product.getTransposeRhs() == last.getTransposeRhs()
                      : isSumOfProducts(op) && llvm::all_of(op->getOperands(), isOwn));
    };
    if (!other || other == &group)
      return "no other kernel makes it";
    if (!addend->hasOneUse() || other->ops.back() != addend)
      return "its kernel makes it for others too";
    if (!llvm::all_of(other->ops, isAlike))
      return "its kernel does more than products that are read alike";
    SmallVector<MatmulOp> products;
    for (Operation *op : llvm::concat<Operation *>(group.ops, other->ops))
      if (auto product = dyn_cast<MatmulOp>(op))
        products.push_back(product);
    if (!haveOneKernel(products))
      return "their operands are not of one kind";
    SmallVector<Operation *> before = group.ops;
    group.ops.insert(group.ops.begin(), other->ops.begin(), other->ops.end());
    for (Operation *op : other->ops)
      groupOf[op] = &group;
    if (isCrowded(group)) {
      group.ops = before;
      for (Operation *op : other->ops)
        groupOf[op] = other;
      return kTooManyOperands;
    }
    other->ops.clear();
    return "";
  }

  LogicalResult assign(Operation *op) {
    if (isa<ReadOp, WriteOp, SliceOp, ReshapeOp, ConcatOp, EmptyOp, RepeatOp, ReplaceFirstOp, YieldOp, KernelOp,
            func::ReturnOp>(op) ||
        isCollective(op) || groupOf.contains(op) || isInlined(op))
      return success();
    if (isa<KernelOpInterface>(op)) {
      start(op);
      return success();
    }
    if (!isElementwise(op))
      return op->emitError() << "'" << op->getName() << "' belongs to no kernel: the op is not elementwise and does "
                             << "not anchor a kernel";
    SetVector<KernelGroup *> candidates;
    if (fuse)
      findProducers(op, candidates);
    SmallVector<StringRef> obstacles;
    for (KernelGroup *group : candidates) {
      StringRef obstacle = findObstacle(op, *group);
      if (obstacle.empty()) {
        group->ops.push_back(op);
        groupOf[op] = group;
        return success();
      }
      obstacles.push_back(obstacle);
    }
    // For a step's few rows a launch costs more than the arithmetic, so elementwise ops on the same rows share one
    // kernel.
    if (fuse && isa<RepeatOp>(block->getParentOp()))
      for (auto &group : llvm::reverse(groups))
        if (!group->ops.empty() && !group->anchor && findObstacle(op, *group).empty()) {
          group->ops.push_back(op);
          groupOf[op] = group.get();
          return success();
        }
    for (auto [group, obstacle] : llvm::zip(candidates, obstacles))
      miss(op, placeOf(*group), group->anchor ? "epilogue" : "elementwise op", obstacle);
    start(op);
    return success();
  }

  /// Finds the groups that compute operands of `op`, and those that own rows and compute one number per row that `op`
  /// takes as a broadcast.
  void findProducers(Operation *op, SetVector<KernelGroup *> &producers) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto repeated = dyn_cast_or_null<BroadcastOp>(producer);
      if (KernelGroup *group = groupOf.lookup(producer))
        producers.insert(group);
      else if (KernelGroup *group = repeated ? groupOf.lookup(repeated.getInput().getDefiningOp()) : nullptr;
               group && group->anchor && group->anchor.ownsRows())
        producers.insert(group);
    }
  }

  bool fuse;
};

class FuseKernelsPass : public mlir::heddle::impl::FuseKernelsPassBase<FuseKernelsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (!llvm::hasSingleElement(getOperation().getBody())) {
      getOperation().emitError("an entry is straight-line code; expects a single block");
      return signalPassFailure();
    }
    if (failed(verifyTensors(getOperation())))
      return signalPassFailure();
    SmallVector<Block *> blocks;
    getOperation().walk([&](RepeatOp repeat) { blocks.push_back(&repeat.getBody().front()); });
    blocks.push_back(&getOperation().getBody().front());
    for (Block *next : blocks)
      if (failed(KernelCutter(*next, fuse).cut()))
        return signalPassFailure();
  }
};

} // namespace
