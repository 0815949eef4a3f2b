// Cuts an entry into kernels. Each has at most one anchor (an op that decides a grid and loops); elementwise work joins
//  - the anchor that produces its operand, as an epilogue, where the anchor allows it,
//  - the anchor that alone consumes it, as a prologue, where the anchor allows it,
//  - or else a kernel of elementwise ops over the same matrix.
// An anchor that reads what another one reads too may compute that one's result on the way, as its companion.
// Ops that cost nothing but a register (fills, broadcasts, index columns, comparisons) are copied into every kernel
// that uses them.
#include "compiler/Fusion/Passes.h"

#include "compiler/Cost/Cost.h"
#include "compiler/Fusion/HoistForFusion.h"
#include "compiler/Fusion/Remarks.h"
#include "compiler/Kernels/Fragments.h"
#include "compiler/Kernels/KernelInterfaces.h"
#include "compiler/Locations/Locations.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Operands and results of a kernel are passed as addresses, of which targets take 16, sizes included: a kernel of
/// elementwise work, or of lone queries, takes the number of its rows.
constexpr size_t kMaxOperands = 13;
constexpr size_t kMaxOperandsOfRows = 15;
constexpr StringLiteral kTooManyOperands = "the kernel would have more operands and results than fit its addresses";

/// Where the queries of a sequence begin or how many they are, by its number alone: a kernel on pairs needs no memory
/// for that.
bool isNumberOfSequence(OpOperand &operand) {
  return isa<PairsOpInterface>(operand.getOwner()) && isa_and_nonnull<IotaOp, FillOp>(operand.get().getDefiningOp()) &&
         getElementTypeOrSelf(operand.get()).isInteger(32);
}

/// The queries that a kernel of lone queries has one of, read column by column.
bool isOwnQuery(OpOperand &operand) {
  auto grad = dyn_cast<ScoresGradQueryOp>(operand.getOwner());
  return grad && operand.get() == grad.getQuery();
}

/// Weights that the op unpacks where it reads them.
bool isUnpacked(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto product = dyn_cast<MatmulOp>(op);
  auto rows = dyn_cast<EmbeddingOp>(op);
  return operand.get().getDefiningOp<DequantizeOp>() &&
         (product ? operand.get() == product.getRhs() : rows && operand.get() == rows.getTable());
}

/// The rows of a product that stand elsewhere in memory, and that it reads there; tensor cores cannot.
bool isMovedOperand(OpOperand &operand) {
  auto product = dyn_cast<MatmulOp>(operand.getOwner());
  return product && operand.get() == product.getLhs() && operand.get() != product.getRhs() &&
         isa_and_nonnull<UnfoldOp>(operand.get().getDefiningOp()) && !hasTensorOperands(product, operand.get());
}

/// Ops that could have been in one kernel and are not.
struct Missed {
  Operation *op, *with; // the latter in the kernel that `op` would have joined
  StringRef role;       // that it would have had there
  StringRef reason;
};

struct Group {
  SmallVector<Operation *> ops; // in program order, without copied ones
  KernelOpInterface anchor;
  bool isChain = false;       // of anchors, of which the last decides
  SmallVector<int64_t> shape; // of the elementwise ops in it
  Attribute encoding;
};

class FuseKernelsPass : public mlir::heddle::impl::FuseKernelsPassBase<FuseKernelsPass> {
public:
  using Base::Base;
  FuseKernelsPass(const FuseKernelsPass &other) : Base(other) {} // the state below is one run's

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (!llvm::hasSingleElement(getOperation().getBody())) {
      getOperation().emitError("an entry is straight-line code; expects a single block");
      return signalPassFailure();
    }
    for (Operation &op : getOperation().getBody().front())
      if (!llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>)) {
        op.emitError() << "'" << op.getName() << "' computes no tensor: kernels do not pass single numbers";
        return signalPassFailure();
      }
    SmallVector<Block *> blocks;
    getOperation().walk([&](RepeatOp repeat) { blocks.push_back(&repeat.getBody().front()); });
    blocks.push_back(&getOperation().getBody().front());
    for (Block *next : blocks)
      if (failed(cut(*next)))
        return signalPassFailure();
  }

private:
  LogicalResult cut(Block &next) {
    block = &next;
    groups.clear();
    groupOf.clear();
    materialized.clear();
    missed.clear();
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
    if (fuse && wantsRemarks(&getContext()))
      emitRemarks();
    SmallVector<std::unique_ptr<Group>> done = std::move(groups);
    for (auto &group : done)
      outline(*group);
    eraseDead();
    return success();
  }

  /// Copied ops whose value is needed in memory (written, returned, or an operand that is read as a matrix or number by
  /// number) get a copy of their own that is computed like any other op.
  void materialize() {
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      auto anchor = dyn_cast<KernelOpInterface>(op);
      Group *group = groupOf.lookup(&op);
      bool isOfChain = group && group->anchor != anchor && !isa<ScoresOp>(op);
      bool computesOperands = isElementwise(&op) || isOfChain || (anchor && anchor.takesPrologue());
      for (OpOperand &operand : op.getOpOperands())
        if (isCopied(operand.get().getDefiningOp()) && (!computesOperands || isReadElsewhere(operand)) &&
            !isNumberOfSequence(operand) && !(group && isOwnQuery(operand)) && !isUnpacked(operand) &&
            !isMovedOperand(operand)) {
          OpBuilder builder(&op);
          Operation *copy = builder.clone(*operand.get().getDefiningOp());
          operand.set(copy->getResult(0));
          materialized.insert(copy);
        }
    }
  }

  bool isInlined(Operation *op) { return isCopied(op) && !materialized.contains(op); }

  /// The addresses that `op` needs for its operands, at most.
  size_t countOperands(Operation *op) {
    size_t count = 0;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      count += producer && isInlined(producer) ? countOperands(producer) : 1;
    }
    return count;
  }

  /// Anchors take along what they compute on the way to an operand.
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
      Group &group = *groups.emplace_back(std::make_unique<Group>());
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

  /// Elementwise ops that only one anchor uses, and that it can compute where it reads them, join it.
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
          size_t after = operands - 1 + countOperands(producer); // instead of its own address those of its operands
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
      Group &group = *groups.emplace_back(std::make_unique<Group>());
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

  /// Why the anchor's kernel cannot compute an elementwise operand where it reads it, if it cannot.
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

  /// Each anchor may take earlier ones along that read what its kernel reads anyway.
  void absorbCompanions() {
    auto anchors = llvm::to_vector(block->getOps<KernelOpInterface>());
    for (KernelOpInterface anchor : llvm::reverse(anchors)) {
      if (Group *group = groupOf.lookup(anchor); group && group->anchor != anchor)
        continue;
      SetVector<Operation *> candidates;
      for (Value input : inputsOf(anchor))
        for (Operation *user : input.getUsers()) {
          Group *group = groupOf.lookup(user);
          Operation *candidate = group ? group->anchor.getOperation() : user;
          if (candidate && candidate != anchor && isa<KernelOpInterface>(candidate) && canAccompany(candidate, anchor))
            candidates.insert(candidate);
        }
      for (Operation *candidate : candidates)
        accompany(candidate, anchor);
    }
  }

  SetVector<Value> inputsOf(KernelOpInterface anchor) {
    Group *group = groupOf.lookup(anchor);
    SetVector<Value> inputs;
    for (Operation *op : group ? group->ops : SmallVector<Operation *>{anchor})
      for (Value operand : op->getOperands())
        if (!group || groupOf.lookup(operand.getDefiningOp()) != group)
          inputs.insert(operand);
    return inputs;
  }

  /// The kernel stands where the anchor does: what the candidate needs is there by then if the candidate stands before
  /// it, and nobody may need its result earlier.
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
    Group *group = groupOf.lookup(anchor);
    if (!group)
      group = &start(anchor);
    Group *other = groupOf.lookup(candidate);
    SmallVector<Operation *> joining = other ? other->ops : SmallVector<Operation *>{candidate};
    if (other)
      other->ops.clear();
    llvm::append_range(group->ops, joining);
    for (Operation *op : joining)
      groupOf[op] = group;
    llvm::sort(group->ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  static bool sameMatrix(Type a, Type b) {
    auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
    return x.getShape() == y.getShape() && x.getEncoding() == y.getEncoding();
  }

  /// Ops join groups while their own users are not placed yet, so a group may have more results in the end than were
  /// counted: its last op is then refused, and all ops are assigned anew.
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
      Group *crowded = nullptr;
      for (auto [index, group] : llvm::enumerate(groups))
        if (group->ops.size() > (index < begun.size() ? begun[index].size() : 1) && isCrowded(*group))
          crowded = group.get();
      if (!crowded)
        return success();
      refused.insert({placeOf(*crowded), crowded->ops.back()});
      groups.resize(begun.size());
      groupOf.clear();
      for (auto [group, ops] : llvm::zip(groups, begun)) {
        group->ops = ops;
        for (Operation *op : ops)
          groupOf[op] = group.get();
      }
    }
  }

  /// Products that are added to another one are computed with it, one loop after the other on the same sums. Of those
  /// by tokens operands would have to be kept for longer.
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
          if (Group *other = groupOf.lookup(addend);
              other && other != group.get() && isa_and_nonnull<MatmulOp>(other->anchor.getOperation()))
            miss(addend, last, "addend", obstacle);
          break;
        }
        sum = add;
      }
    }
  }

  static bool mayBeAdded(MatmulOp product) { return !product.getTransposeLhs(); }

  /// Whether loops of one kernel can make all of these: from operands of one kind; or by lanes, as packed numbers are
  /// multiplied. Beside those, lanes may do what tensor cores could of a few columns: the matrices of an adapter.
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

  /// The group takes the kernel that makes `addend`, if that is all it does; else the reason why it does not.
  StringRef absorb(Group &group, MatmulOp last, Operation *addend) {
    Group *other = groupOf.lookup(addend);
    // A sum may have a product that another kernel makes, for other kernels too.
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

  bool isCrowded(Group &group) {
    SetVector<Operation *> body;
    SetVector<Value> inputs;
    size_t results = 0; // of which an update has up to four
    for (Operation *op : group.ops) {
      gather(op, group, body, inputs);
      results += llvm::count_if(op->getResults(), [&](Value result) { return isUsedOutside(result, group); });
    }
    return inputs.size() + results > kMaxOperandsOfRows;
  }

  LogicalResult assign(Operation *op) {
    if (isa<ReadOp, WriteOp, SliceOp, ReshapeOp, ConcatOp, EmptyOp, RepeatOp, ReplaceFirstOp, YieldOp, func::ReturnOp>(
            op) ||
        isCollective(op) || groupOf.contains(op) || isInlined(op))
      return success();
    if (isa<KernelOpInterface>(op)) {
      start(op);
      return success();
    }
    if (!isElementwise(op))
      return op->emitError() << "'" << op->getName() << "' belongs to no kernel: the op is not elementwise and does "
                             << "not anchor a kernel";
    SetVector<Group *> candidates;
    if (fuse)
      findProducers(op, candidates);
    SmallVector<StringRef> obstacles;
    for (Group *group : candidates) {
      StringRef obstacle = findObstacle(op, *group);
      if (obstacle.empty()) {
        group->ops.push_back(op);
        groupOf[op] = group;
        return success();
      }
      obstacles.push_back(obstacle);
    }
    // A launch costs a step more than the arithmetic on its few rows: all that computes on rows alike is one kernel.
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

  /// The groups that make what `op` takes, and those that make numbers of their rows which it takes repeated.
  void findProducers(Operation *op, SetVector<Group *> &producers) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto repeated = dyn_cast_or_null<BroadcastOp>(producer);
      if (Group *group = groupOf.lookup(producer))
        producers.insert(group);
      else if (Group *group = repeated ? groupOf.lookup(repeated.getInput().getDefiningOp()) : nullptr;
               group && group->anchor && group->anchor.ownsRows())
        producers.insert(group);
    }
  }

  Group &start(Operation *op) {
    Group &group = *groups.emplace_back(std::make_unique<Group>());
    initialise(group, op);
    groupOf[op] = &group;
    return group;
  }

  /// The matrix that `op` computes on in the group's kernel, or in one of its own. Joined columns that another kernel
  /// makes are a matrix like any other.
  RankedTensorType computedTypeIn(Operation *op, const Group *group) {
    auto insert = dyn_cast<InsertRowsOp>(op);
    Operation *rows = insert ? insert.getRows().getDefiningOp() : nullptr;
    return rows && (!group || groupOf.lookup(rows) != group) ? cast<RankedTensorType>(insert.getRows().getType())
                                                             : getComputedType(op);
  }

  void initialise(Group &group, Operation *op) {
    group.ops.push_back(op);
    auto anchor = dyn_cast<KernelOpInterface>(op);
    group.anchor = anchor;
    auto type = anchor ? anchor.getEpilogueType() : computedTypeIn(op, nullptr);
    group.shape = llvm::to_vector(type.getShape());
    group.encoding = type.getEncoding();
  }

  /// Where a group's kernel runs: all that it needs from elsewhere must be there by then.
  static Operation *placeOf(Group &group) { return group.anchor ? group.anchor.getOperation() : group.ops.front(); }

  /// Whether a number for each of the rows, or of the parts of rows, that the kernel's workgroups own.
  static bool isColumnOfRows(RankedTensorType type, Group &group) {
    if (!group.anchor || !group.anchor.ownsRows())
      return false;
    auto made = cast<RankedTensorType>(group.anchor->getResult(0).getType());
    if (group.anchor.getEpilogueType().getRank() == 3)
      return made.getRank() == 2 && sameMatrix(type, made);
    return isColumn(type) && getSizeName(type, 0) == getSizeName(group.anchor.getEpilogueType(), 0);
  }

  /// Why `op` cannot join, if it cannot: all that it needs must be there where the kernel runs, or in the kernel.
  StringRef findObstacle(Operation *op, Group &group) {
    RankedTensorType type = computedTypeIn(op, &group);
    bool isOfMatrix = type.getShape() == ArrayRef<int64_t>(group.shape) && type.getEncoding() == group.encoding;
    if (!isOfMatrix && !isColumnOfRows(type, group))
      return "it computes on another matrix than the kernel";
    if (refused.contains({placeOf(group), op}))
      return kTooManyOperands;
    if (group.anchor && !group.anchor.takesEpilogue())
      return "the anchor takes no epilogue";
    // What is computed again where it is needed would be kept all the way from here.
    if (op->hasAttr(kRecomputedAttrName) && !placeOf(group)->hasAttr(kRecomputedAttrName))
      return "it is recomputed later than the kernel runs";
    SetVector<Value> outside;
    for (Operation *member : group.ops)
      if (StringRef obstacle = collectOperands(member, group, outside); !obstacle.empty())
        return obstacle;
    if (StringRef obstacle = collectOperands(op, group, outside); !obstacle.empty())
      return obstacle;
    if (readsWhatIsOverwritten(op, group))
      return "the kernel would read rows that it replaces";
    bool takesRowsAlone = isa<RepeatOp>(block->getParentOp()) && (!group.anchor || group.isChain);
    if (outside.size() + countResults(group, op) > (takesRowsAlone ? kMaxOperandsOfRows : kMaxOperands - 1))
      return kTooManyOperands;
    return "";
  }

  /// Whether the kernel would read rows that it replaces: others of its workgroups may have replaced them before.
  bool readsWhatIsOverwritten(Operation *next, Group &group) {
    auto isRead = [&](Operation *op) {
      auto scatter = dyn_cast<ScatterRowsOp>(op);
      return scatter && llvm::any_of(scatter.getDestination().getUsers(), [&](Operation *user) {
               return user != op && (user == next || groupOf.lookup(user) == &group);
             });
    };
    return isRead(next) || llvm::any_of(group.ops, isRead);
  }

  /// What a kernel hands on at most, with `next` in it. Within a repetition, where a step is a few kernels of much
  /// arithmetic, it is counted: elementwise work on the same matrix will join.
  size_t countResults(const Group &group, Operation *next) {
    if (!isa<RepeatOp>(block->getParentOp()))
      return group.ops.size();
    auto isHandedOn = [&](Operation *op) {
      return llvm::any_of(op->getUsers(), [&](Operation *user) {
        Group *other = groupOf.lookup(user);
        if (other == &group || user == next)
          return false;
        return other || group.isChain || !isElementwise(user) ||
               !sameMatrix(getComputedType(user), getComputedType(next));
      });
    };
    auto isStored = [&](Operation *op) { return isa<InsertRowsOp>(op) || isHandedOn(op); };
    return llvm::count_if(group.ops, isStored) + isStored(next);
  }

  /// Adds what `op` takes from outside of the group. The reason is returned where it cannot: an operand is not there
  /// yet where the group runs, or the group itself computes it and it is a vector, or a matrix read in other places
  /// too.
  StringRef collectOperands(Operation *op, Group &group, SetVector<Value> &outside) {
    for (OpOperand &use : op->getOpOperands()) {
      Value operand = use.get();
      Operation *producer = operand.getDefiningOp();
      if (producer && groupOf.lookup(producer) == &group) {
        if (isReadElsewhere(use))
          return "it reads what the kernel makes at other places than the one that is computed";
        if (!isThere(operand, op, group))
          return "a workgroup of the kernel makes another part of what it reads";
        continue;
      }
      if (producer && isInlined(producer)) {
        if (StringRef obstacle = collectOperands(producer, group, outside); !obstacle.empty())
          return obstacle;
        continue;
      }
      // What another kernel makes is there where that kernel is.
      Group *other = groupOf.lookup(producer);
      if (producer && !(other ? placeOf(*other) : producer)->isBeforeInBlock(placeOf(group)))
        return "an operand of it is made after the kernel";
      outside.insert(operand);
    }
    return "";
  }

  /// Whether the kernel has the part of `operand`, which it computes, that goes with an element of `op`.
  static bool isThere(Value operand, Operation *op, Group &group) {
    if (op == group.anchor.getOperation()) // which computes it on the way
      return true;
    if (isColumnOfRows(cast<RankedTensorType>(operand.getType()), group))
      return true;
    bool isSideResult = group.anchor && operand.getDefiningOp() == group.anchor.getOperation() &&
                        operand != operand.getDefiningOp()->getResult(0);
    if (isSideResult && !sameMatrix(operand.getType(), group.anchor.getEpilogueType()))
      return false;
    return sameMatrix(operand.getType(), getComputedType(op)) ||
           (isa<InsertRowsOp>(op) && isa_and_nonnull<JoinOp>(operand.getDefiningOp()));
  }

  void outline(Group &group) {
    if (group.ops.empty()) // they have joined another group
      return;
    llvm::SetVector<Value> inputs, outputs;
    SetVector<Operation *> body;
    for (Operation *op : group.ops)
      gather(op, group, body, inputs);
    for (Operation *op : group.ops)
      for (Value result : op->getResults())
        if (isUsedOutside(result, group))
          outputs.insert(result);
    if (outputs.empty()) // an anchor that nothing uses
      return;

    Operation *place = placeOf(group);
    OpBuilder builder(place);
    SmallVector<Operation *> placed{place};
    llvm::copy_if(group.ops, std::back_inserter(placed), [&](Operation *op) { return op != place; });
    auto kernel = KernelOp::create(builder, locationOfKernel(placed), ValueRange(outputs.getArrayRef()).getTypes(),
                                   nameOf(group), inputs.getArrayRef());
    Block *block = builder.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
    for (Operation *op : body)
      builder.clone(*op, mapping);
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(mapping.lookup(output));
    YieldOp::create(builder, place->getLoc(), yielded);
    for (auto [output, result] : llvm::zip(outputs.takeVector(), kernel.getResults()))
      output.replaceUsesWithIf(result, [&](OpOperand &use) { return groupOf.lookup(use.getOwner()) != &group; });
  }

  /// Whether a kernel's value is needed outside of it. A copied op is wherever its users are.
  bool isUsedOutside(Value value, Group &group) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isInlined(user))
        return llvm::any_of(user->getResults(), [&](Value copied) { return isUsedOutside(copied, group); });
      return groupOf.lookup(user) != &group;
    });
  }

  /// `op`, after the copied ops that it needs; what comes from elsewhere is an input.
  void gather(Operation *op, Group &group, SetVector<Operation *> &body, SetVector<Value> &inputs) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && groupOf.lookup(producer) == &group)
        continue;
      if (producer && isInlined(producer))
        gather(producer, group, body, inputs);
      else
        inputs.insert(operand);
    }
    body.insert(op);
  }

  /// The anchor's name, then those of its epilogue's arithmetic: "matmul_addf_maximumf".
  static std::string nameOf(const Group &group) {
    constexpr size_t maximum = 4;
    SmallVector<StringRef> names;
    Operation *anchor = group.anchor;
    if (anchor)
      names.push_back(anchor->getName().stripDialect());
    for (Operation *op : group.ops)
      if (op != anchor && names.size() < maximum)
        names.push_back(op->getName().stripDialect());
    return llvm::join(names, "_");
  }

  void miss(Operation *op, Operation *with, StringRef role, StringRef reason) {
    if (wantsRemarks(&getContext()))
      missed.push_back({op, with, role, reason});
  }

  /// For each kernel of several ops which those are, and which others could not be in it.
  void emitRemarks() {
    constexpr StringLiteral pass = "fuse-kernels";
    for (auto &group : groups)
      if (group->ops.size() > 1) {
        SmallVector<StringRef> names;
        for (Operation *op : group->ops)
          names.push_back(op->getName().stripDialect());
        remarkFused(pass, placeOf(*group), llvm::join(names, ", "), "kernel " + nameOf(*group));
      }
    DenseSet<std::tuple<Operation *, Operation *, StringRef>> said; // an operand may be used twice
    for (const Missed &miss : missed) {
      Group *own = groupOf.lookup(miss.op), *other = groupOf.lookup(miss.with);
      bool isApart = other && own != other; // it may have come there another way
      if (isApart && said.insert({miss.op, miss.with, miss.role}).second)
        remarkMissed(pass, miss.op,
                     Twine(miss.op->getName().stripDialect()) + " as " + miss.role + " of kernel " + nameOf(*other),
                     miss.reason);
    }
  }

  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  Block *block = nullptr; // that is being cut: the entry's, or that of a repetition
  SmallVector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
  DenseSet<Operation *> materialized;
  SmallVector<Missed> missed;                            // where remarks are wanted
  DenseSet<std::pair<Operation *, Operation *>> refused; // a group's place, and an op that would be too much for it
};

} // namespace
