#include "compiler/Fusion/HoistForFusion.h"

#include "compiler/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::heddle;

/// The rows of a step that stand elsewhere are read wherever they are needed, as those are that stand together.
static bool isRowsOfStep(Operation *op) {
  auto rows = dyn_cast_or_null<EmbeddingOp>(op);
  return isa_and_nonnull<StepRowsOp>(op) || (rows && isa_and_nonnull<StepRowsOp>(rows.getIndices().getDefiningOp()));
}

/// So are those that stand so many rows further on.
static bool isMoved(Operation *op) {
  auto unfold = dyn_cast_or_null<UnfoldOp>(op);
  return unfold && unfold.getFirst() == unfold.getLast();
}

bool heddle::isCopied(Operation *op) {
  return isa_and_nonnull<FillOp, BroadcastOp, IotaOp, arith::ExtFOp, DequantizeOp>(op) || isRowsOfStep(op) ||
         isMoved(op) || (op && op->getNumResults() == 1 && getElementTypeOrSelf(op->getResult(0)).isInteger(1));
}

static void hoistNumbers(Block &block) {
  DenseSet<StringAttr> written;
  DenseSet<Operation *> hoisted;
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto write = dyn_cast<WriteOp>(op))
      written.insert(write.getVariableAttr().getAttr());
    auto read = dyn_cast<ReadOp>(op);
    bool isNumber = isElementwise(&op) && llvm::all_of(op.getResultTypes(), [](Type type) {
                      return cast<ShapedType>(type).getShape() == ArrayRef<int64_t>{1};
                    });
    if (read ? written.contains(read.getVariableAttr().getAttr()) : !isNumber)
      continue;
    if (!llvm::all_of(op.getOperands(), [&](Value operand) {
          return !operand.getDefiningOp() || hoisted.contains(operand.getDefiningOp());
        }))
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&block, block.begin());
    last = &op;
    hoisted.insert(last);
  }
}

static void hoistColumns(Block &block) {
  DenseSet<Value> ofParts;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType()) : RankedTensorType();
    if (!type || !type.getElementType().isF32())
      continue;
    auto sum = dyn_cast<SumOp>(op);
    if ((sum && sum.getColumns() && type.getRank() == 2) ||
        (isElementwise(&op) && llvm::any_of(op.getOperands(), [&](Value operand) {
           return ofParts.contains(operand) && operand.getType() == type;
         })))
      ofParts.insert(op.getResult(0));
    if (!isElementwise(&op) || isCopied(&op) || (!isColumn(type) && !ofParts.contains(op.getResult(0))))
      continue;
    Operation *last = nullptr;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && producer->getBlock() == &block && (!last || last->isBeforeInBlock(producer)))
        last = producer;
    }
    // An op that is recomputed stays next to its users, unless its producer is recomputed, too.
    if (last && (!op.hasAttr(kRecomputedAttrName) || last->hasAttr(kRecomputedAttrName)))
      op.moveAfter(last);
  }
}

void heddle::hoistForFusion(Block &block) {
  hoistNumbers(block);
  hoistColumns(block);
}
