#include "compiler/Graph/Recurrence/Passes.h"

#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "mlir/IR/Builders.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_SEPARATESTATESPASS
#include "compiler/Graph/Recurrence/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class SeparateStatesPass : public mlir::heddle::impl::SeparateStatesPassBase<SeparateStatesPass> {
public:
  void runOnOperation() override {
    SmallVector<RepeatOp> repeats;
    getOperation()->walk([&](RepeatOp op) { repeats.push_back(op); });
    for (RepeatOp repeat : repeats)
      separate(repeat);
    DenseSet<Value> placed;
    getOperation()->walk([&](ConcatOp concat) { separate(concat, placed); });
    for (Block &block : getOperation()->getRegion(0))
      separateVariables(block);
  }

private:
  static void separate(ConcatOp concat, DenseSet<Value> &placed);
  static void separate(RepeatOp repeat);
  static void separateVariables(Block &block);
};

/// Follows views to the op that computes the value; null for a block's argument.
Operation *makerOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<SliceOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Returns the first of a chain of kernels that add rows in place. All kernels of the chain write the same memory.
Operation *rootOf(Operation *maker) {
  while (auto kernel = dyn_cast<KernelOp>(maker)) {
    Operation *before = nullptr;
    for (auto scatter : kernel.getBody().getOps<ScatterAddOp>())
      if (auto argument = dyn_cast<BlockArgument>(scatter.getDestination()))
        before = kernel.getInputs()[argument.getArgNumber()].getDefiningOp();
    if (!isa_and_nonnull<KernelOp>(before))
      break;
    maker = before;
  }
  return maker;
}

/// Adds the ops that read the value or a view of it, other than `except`.
void collectReaders(Value value, Operation *except, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers())
    if (isa<SliceOp, ReshapeOp>(user))
      collectReaders(user->getResult(0), except, readers);
    else if (user != except && !isa<WriteOp>(user))
      readers.push_back(user);
}

/// The order of a block's ops. An op follows the ops that compute its operands. If it overwrites a value, it also
/// follows the ops that read the old value: `further` has these edges.
struct Order {
  llvm::DenseMap<Operation *, SmallVector<Operation *>> further; // op -> ops that must follow it

  bool reaches(Operation *from, const llvm::SmallPtrSetImpl<Operation *> &targets) const {
    SmallVector<Operation *> open{from};
    llvm::SmallPtrSet<Operation *, 32> seen;
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      if (op != from && targets.contains(op))
        return true;
      for (Operation *user : op->getUsers())
        if (Operation *top = from->getBlock()->findAncestorOpInBlock(*user))
          open.push_back(top);
      if (auto found = further.find(op); found != further.end())
        llvm::append_range(open, found->second);
    }
    return false;
  }
};

/// Creates a kernel that copies a value.
Value copy(OpBuilder &builder, Value value) {
  auto kernel = KernelOp::create(builder, value.getLoc(), TypeRange{value.getType()}, "copy", ValueRange{value});
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody());
  YieldOp::create(builder, value.getLoc(), ValueRange{block->addArgument(value.getType(), value.getLoc())});
  return kernel.getResult(0);
}

/// Returns true if the kernel may write `result`, a state's rows after a step, over `old`, its rows before the step: no
/// later op reads `old`, and the kernel reads each element only to compute the same element of `result`.
bool mayReplace(OpResult result, Value old) {
  Operation *kernel = result.getOwner();
  SmallVector<Value> views{old};
  for (Operation *user : old.getUsers())
    if (auto slice = dyn_cast<SliceOp>(user))
      views.push_back(slice.getResult());
  for (Value view : views)
    for (OpOperand &use : view.getUses()) {
      Operation *user = use.getOwner();
      if (isa<SliceOp, ReplaceFirstOp>(user) || user->isBeforeInBlock(kernel))
        continue;
      if (user != kernel || !isReadInPlace(cast<KernelOp>(user).getBody().getArgument(use.getOperandNumber())))
        return false;
    }
  return true;
}

} // namespace

/// Each part of a concatenation must be the result of a kernel, which writes it to its place in the whole. Other
/// values, and parts that are written to a place already, get a kernel that copies them. A part may occur twice if two
/// weights have the same gradient, such as the biases of matmuls that are added up.
void SeparateStatesPass::separate(ConcatOp concat, DenseSet<Value> &placed) {
  OpBuilder builder(concat);
  for (OpOperand &part : concat->getOpOperands())
    if (!part.get().getDefiningOp<KernelOp>() || !placed.insert(part.get()).second)
      part.set(copy(builder, part.get()));
}

/// A kernel writes a variable's new value over the old value. If another kernel needs both values, such as an optimizer
/// whose state is the last gradient, the new value is written to other memory and copied at the end.
void SeparateStatesPass::separateVariables(Block &block) {
  llvm::StringMap<SmallVector<ReadOp>> reads;
  for (auto read : block.getOps<ReadOp>())
    reads[read.getVariable()].push_back(read);
  // A new value that is another variable's old value is copied before that variable is overwritten. A write of the
  // variable's own old value does nothing, and is erased.
  for (auto write : llvm::to_vector(block.getOps<WriteOp>())) {
    auto read = write.getValue().getDefiningOp<ReadOp>();
    if (!read || read->getBlock() != &block)
      continue;
    if (read.getVariable() == write.getVariable()) {
      write.erase();
      continue;
    }
    OpBuilder builder(&block, std::next(Block::iterator(read)));
    write.getValueMutable().assign(copy(builder, read));
  }
  Order order;
  DenseSet<Value> written; // values that have a variable's memory; a second variable gets a copy
  for (auto write : llvm::to_vector(block.getOps<WriteOp>())) {
    Operation *maker = makerOf(write.getValue());
    if (!maker || maker->getBlock() != &block)
      continue;
    SmallVector<Operation *> readers;
    for (ReadOp read : reads.lookup(write.getVariable()))
      collectReaders(read, maker, readers);
    llvm::SmallPtrSet<Operation *, 8> targets;
    for (Operation *reader : readers)
      if (Operation *top = block.findAncestorOpInBlock(*reader))
        targets.insert(top);
    Operation *root = rootOf(maker);
    targets.erase(root);
    bool isTooEarly = root != maker && !targets.empty();
    bool isFirst = !isa<KernelOp>(maker) || written.insert(write.getValue()).second;
    if (!isTooEarly && isFirst && (targets.empty() || !order.reaches(maker, targets))) {
      for (Operation *reader : targets)
        order.further[reader].push_back(maker);
      continue;
    }
    OpBuilder builder(write);
    write.getValueMutable().assign(copy(builder, write.getValue()));
  }
}

void SeparateStatesPass::separate(RepeatOp repeat) {
  Block &block = repeat.getBody().front();
  OpBuilder atEnd(block.getTerminator());
  DenseSet<Value> placed;
  for (ReplaceFirstOp replace : llvm::to_vector(block.getOps<ReplaceFirstOp>())) {
    Value rows = replace.getRows();
    auto result = dyn_cast<OpResult>(rows);
    if (!result || !isa<KernelOp>(result.getOwner())) { // another state; copy it before it is replaced
      OpBuilder atBegin(&block, block.begin());
      if (result)
        atBegin.setInsertionPointAfter(result.getOwner());
      rows = copy(atBegin, rows);
      result = cast<OpResult>(rows);
      replace.getRowsMutable().assign(rows);
    }
    if (!placed.insert(rows).second || !mayReplace(result, replace.getDestination())) {
      atEnd.setInsertionPoint(block.getTerminator());
      rows = copy(atEnd, rows);
      replace.getRowsMutable().assign(rows);
    }
    replace->moveBefore(block.getTerminator());
  }
}
