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
  }

private:
  static void separate(ConcatOp concat, DenseSet<Value> &placed);
  static void separate(RepeatOp repeat);
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
