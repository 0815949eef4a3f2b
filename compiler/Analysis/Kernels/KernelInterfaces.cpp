#include "compiler/Analysis/Kernels/KernelInterfaces.h"

using namespace mlir;
using namespace mlir::heddle;

#include "compiler/Analysis/Kernels/KernelInterfaces.cpp.inc"

bool heddle::isReadElsewhere(OpOperand &operand) {
  auto op = dyn_cast<TileOpInterface>(operand.getOwner());
  return op && op.readsElsewhere(operand.getOperandNumber());
}

bool heddle::isMadeInMemory(Operation *op) { return isa_and_nonnull<InsertRowsOp, JoinOp, ScatterRowsOp>(op); }

RankedTensorType heddle::getComputedType(Operation *op) {
  if (auto insert = dyn_cast<InsertRowsOp>(op)) {
    Operation *producer = insert.getRows().getDefiningOp();
    return isa_and_nonnull<JoinOp>(producer) ? getComputedType(producer)
                                             : cast<RankedTensorType>(insert.getRows().getType());
  }
  if (auto scatter = dyn_cast<ScatterRowsOp>(op))
    return cast<RankedTensorType>(scatter.getRows().getType());
  if (auto join = dyn_cast<JoinOp>(op)) {
    auto columnsOf = [](Value part) { return cast<RankedTensorType>(part.getType()).getDimSize(1); };
    auto parts = join.getParts();
    Value widest = *llvm::max_element(parts, [&](Value a, Value b) { return columnsOf(a) < columnsOf(b); });
    return cast<RankedTensorType>(widest.getType());
  }
  return cast<RankedTensorType>(op->getResult(0).getType());
}

bool heddle::isSumOfProducts(Operation *op) {
  auto add = dyn_cast_or_null<arith::AddFOp>(op);
  return isa_and_nonnull<MatmulOp>(op) ||
         (add && llvm::all_of(add->getOperands(), [&](Value operand) {
            Operation *producer = operand.getDefiningOp();
            return producer && producer->getBlock() == op->getBlock() && isSumOfProducts(producer);
          }));
}

bool heddle::isReadInPlace(Value operand) {
  return llvm::all_of(operand.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto anchor = dyn_cast<KernelOpInterface>(user))
      return anchor.mayOverwrite(use.getOperandNumber());
    if (!isElementwise(user))
      return false;
    if (auto special = dyn_cast<TileOpInterface>(user); special && special.readsElsewhere(use.getOperandNumber()))
      return false;
    return cast<ShapedType>(user->getResult(0).getType()).getShape() == cast<ShapedType>(operand.getType()).getShape();
  });
}
