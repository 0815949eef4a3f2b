#include "compiler/Kernel/Fusion/KernelGroups.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Fusion/HoistForFusion.h"
#include "compiler/Kernel/Fusion/Passes.h"
#include "dialects/Heddle/Limits.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true if the operand is the first query or the number of queries of each sequence and follows from the
/// sequence's number. A kernel on pairs needs no memory for it.
bool isNumberOfSequence(OpOperand &operand) {
  return isa<PairsOpInterface>(operand.getOwner()) && isa_and_nonnull<IotaOp, FillOp>(operand.get().getDefiningOp()) &&
         getElementTypeOrSelf(operand.get()).isInteger(32);
}

/// Returns true if the operand is the queries of a ScoresGradQueryOp. A workgroup of a kernel of lone queries has a
/// single query, and reads it column by column.
bool isOwnQuery(OpOperand &operand) {
  auto grad = dyn_cast<ScoresGradQueryOp>(operand.getOwner());
  return grad && operand.get() == grad.getQuery();
}

/// Returns true for weights that the op unpacks as it reads them, and for scales that are packed or 16-bit.
bool isUnpacked(OpOperand &operand) {
  Operation *op = operand.getOwner();
  Operation *unpacking = operand.get().getDefiningOp();
  if (isa<DequantizeOp>(op))
    return isa_and_nonnull<DequantizeOp, arith::ExtFOp>(unpacking);
  auto product = dyn_cast<MatmulOp>(op);
  auto grouped = dyn_cast<GroupedMatmulOp>(op);
  auto rows = dyn_cast<EmbeddingOp>(op);
  auto widened = dyn_cast_or_null<arith::ExtFOp>(unpacking);
  return (isa_and_nonnull<DequantizeOp, JoinPanelsOp>(unpacking) ||
          (widened && isa_and_nonnull<ReadOp, JoinPanelsOp>(widened.getIn().getDefiningOp()))) &&
         (product   ? operand.get() == product.getRhs()
          : grouped ? operand.get() == grouped.getRhs()
                    : rows && operand.get() == rows.getTable());
}

/// Returns true if the operand is shifted rows, which the matmul reads in place. Tensor cores cannot read shifted rows.
bool isMovedOperand(OpOperand &operand) {
  auto product = dyn_cast<MatmulOp>(operand.getOwner());
  return product && operand.get() == product.getLhs() && operand.get() != product.getRhs() &&
         isa_and_nonnull<UnfoldOp>(operand.get().getDefiningOp()) && !hasTensorOperands(product, operand.get());
}

/// Returns true if the operand is logits in 16 bits, which the cross entropy widens as it reads them.
bool isRoundedLogits(OpOperand &operand) {
  auto entropy = dyn_cast<CrossEntropyOp>(operand.getOwner());
  return entropy && operand.get() == entropy.getLogits() &&
         isa_and_nonnull<arith::ExtFOp>(operand.get().getDefiningOp());
}

} // namespace

LogicalResult heddle::verifyTensors(func::FuncOp entry) {
  auto isTaken = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isTensorOfKernels(tensor);
  };
  for (Operation &op : entry.getBody().front())
    for (Type type : op.getResultTypes())
      if (!isa<RankedTensorType>(type))
        return op.emitError() << "'" << op.getName() << "' computes no tensor: kernels do not pass single numbers";
      else if (!isTaken(type))
        return op.emitError() << "kernels take " << kTensorsOfKernels << ", and '" << op.getName() << "' makes a "
                              << type;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (!isTaken(type))
      return entry.emitError() << "kernels take " << kTensorsOfKernels << ", and argument " << i << " is a " << type;
  return success();
}

void KernelGroups::materialize() {
  for (Operation &op : llvm::make_early_inc_range(*block)) {
    auto anchor = dyn_cast<KernelOpInterface>(op);
    KernelGroup *group = groupOf.lookup(&op);
    bool isOfChain = group && group->anchor != anchor && !isa<ScoresOp>(op);
    bool computesOperands = isElementwise(&op) || isOfChain || (anchor && anchor.takesPrologue());
    for (OpOperand &operand : op.getOpOperands())
      if (isCopied(operand.get().getDefiningOp()) && (!computesOperands || isReadElsewhere(operand)) &&
          !isNumberOfSequence(operand) && !(group && isOwnQuery(operand)) && !isUnpacked(operand) &&
          !isMovedOperand(operand) && !isRoundedLogits(operand)) {
        OpBuilder builder(&op);
        Operation *copy = builder.clone(*operand.get().getDefiningOp());
        operand.set(copy->getResult(0));
        materialized.insert(copy);
      }
  }
}

bool KernelGroups::isInlined(Operation *op) { return isCopied(op) && !materialized.contains(op); }

size_t KernelGroups::countOperands(Operation *op) {
  size_t count = 0;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    count += producer && isInlined(producer) ? countOperands(producer) : 1;
  }
  return count;
}

SetVector<Value> KernelGroups::inputsOf(KernelOpInterface anchor) {
  KernelGroup *group = groupOf.lookup(anchor);
  SetVector<Value> inputs;
  for (Operation *op : group ? group->ops : SmallVector<Operation *>{anchor})
    for (Value operand : op->getOperands())
      if (!group || groupOf.lookup(operand.getDefiningOp()) != group)
        inputs.insert(operand);
  return inputs;
}

KernelGroup &KernelGroups::start(Operation *op) {
  KernelGroup &group = *groups.emplace_back(std::make_unique<KernelGroup>());
  initialise(group, op);
  groupOf[op] = &group;
  return group;
}

void KernelGroups::initialise(KernelGroup &group, Operation *op) {
  group.ops.push_back(op);
  auto anchor = dyn_cast<KernelOpInterface>(op);
  group.anchor = anchor;
  auto type = anchor ? anchor.getEpilogueType() : computedTypeIn(op, nullptr);
  group.shape = llvm::to_vector(type.getShape());
  group.encoding = type.getEncoding();
}

Operation *KernelGroups::placeOf(KernelGroup &group) {
  return group.anchor ? group.anchor.getOperation() : group.ops.front();
}

bool KernelGroups::sameMatrix(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getShape() == y.getShape() && x.getEncoding() == y.getEncoding();
}

StringRef KernelGroups::findObstacle(Operation *op, KernelGroup &group) {
  RankedTensorType type = computedTypeIn(op, &group);
  bool isOfMatrix = type.getShape() == ArrayRef<int64_t>(group.shape) && type.getEncoding() == group.encoding;
  if (!isOfMatrix && !isColumnOfRows(type, group))
    return "it computes on another matrix than the kernel";
  if (refused.contains({placeOf(group), op}))
    return kTooManyOperands;
  if (group.anchor && !group.anchor.takesEpilogue())
    return "the anchor takes no epilogue";
  // The kernel runs early. It would keep in memory a value that is to be recomputed later.
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

StringRef KernelGroups::collectOperands(Operation *op, KernelGroup &group, SetVector<Value> &outside) {
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
    // Another kernel's value is computed at that kernel's place.
    KernelGroup *other = groupOf.lookup(producer);
    if (producer && !(other ? placeOf(*other) : producer)->isBeforeInBlock(placeOf(group)))
      return "an operand of it is made after the kernel";
    outside.insert(operand);
  }
  return "";
}

bool KernelGroups::isUsedOutside(Value value, KernelGroup &group) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isInlined(user))
      return llvm::any_of(user->getResults(), [&](Value copied) { return isUsedOutside(copied, group); });
    return groupOf.lookup(user) != &group;
  });
}

bool KernelGroups::isCrowded(KernelGroup &group) {
  SetVector<Operation *> body;
  SetVector<Value> inputs;
  size_t results = 0; // an update has up to four
  for (Operation *op : group.ops) {
    gather(op, group, body, inputs);
    results += llvm::count_if(op->getResults(), [&](Value result) { return isUsedOutside(result, group); });
  }
  return inputs.size() + results > kMaxOperandsOfRows;
}

void KernelGroups::miss(Operation *op, Operation *with, StringRef role, StringRef reason) {
  if (remarks)
    missed.push_back({op, with, role, reason});
}

RankedTensorType KernelGroups::computedTypeIn(Operation *op, const KernelGroup *group) {
  auto insert = dyn_cast<InsertRowsOp>(op);
  Operation *rows = insert ? insert.getRows().getDefiningOp() : nullptr;
  return rows && (!group || groupOf.lookup(rows) != group) ? cast<RankedTensorType>(insert.getRows().getType())
                                                           : getComputedType(op);
}

bool KernelGroups::isColumnOfRows(RankedTensorType type, KernelGroup &group) {
  if (!group.anchor || !group.anchor.ownsRows())
    return false;
  auto made = cast<RankedTensorType>(group.anchor->getResult(0).getType());
  if (group.anchor.getEpilogueType().getRank() == 3)
    return made.getRank() == 2 && sameMatrix(type, made);
  return isColumn(type) && getSizeName(type, 0) == getSizeName(group.anchor.getEpilogueType(), 0);
}

bool KernelGroups::readsWhatIsOverwritten(Operation *next, KernelGroup &group) {
  auto isRead = [&](Operation *op) {
    auto scatter = dyn_cast<ScatterRowsOp>(op);
    return scatter && llvm::any_of(scatter.getDestination().getUsers(), [&](Operation *user) {
             return user != op && (user == next || groupOf.lookup(user) == &group);
           });
  };
  return isRead(next) || llvm::any_of(group.ops, isRead);
}

size_t KernelGroups::countResults(const KernelGroup &group, Operation *next) {
  if (!isa<RepeatOp>(block->getParentOp()))
    return llvm::count_if(group.ops, [&](Operation *op) {
      return llvm::any_of(op->getUsers(),
                          [&](Operation *user) { return user != next && groupOf.lookup(user) != &group; });
    });
  auto isHandedOn = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      KernelGroup *other = groupOf.lookup(user);
      if (other == &group || user == next)
        return false;
      return other || group.isChain || !isElementwise(user) ||
             !sameMatrix(getComputedType(user), getComputedType(next));
    });
  };
  auto isStored = [&](Operation *op) { return isa<InsertRowsOp>(op) || isHandedOn(op); };
  return llvm::count_if(group.ops, isStored) + isStored(next);
}

bool KernelGroups::isThere(Value operand, Operation *op, KernelGroup &group) {
  if (op == group.anchor.getOperation()) // the anchor computes it on the way
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

void KernelGroups::gather(Operation *op, KernelGroup &group, SetVector<Operation *> &body, SetVector<Value> &inputs) {
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
