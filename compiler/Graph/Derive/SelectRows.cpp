#include "compiler/Graph/Derive/SelectRows.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::heddle;

/// Returns true if the op computes each row of its results from the same row of its operands.
static bool isOfRows(Operation *op) {
  auto product = dyn_cast<MatmulOp>(op);
  return OpTrait::hasElementwiseMappableTraits(op) || isa<FillOp, BroadcastOp, LayerNormOp>(op) ||
         (product && !product.getTransposeLhs() && product.getRhs().getType().hasStaticShape());
}

/// Returns the rows of `table` at `indices`.
static Value select(OpBuilder &builder, Location where, Value indices, Value table) {
  auto type = cast<RankedTensorType>(table.getType()), ofIndices = cast<RankedTensorType>(indices.getType());
  auto hasRows = [&](Type other) {
    auto tensor = dyn_cast<RankedTensorType>(other);
    return tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0) && getSizeName(tensor, 0) == getSizeName(type, 0);
  };
  auto ofSelected = [&](Type other) {
    auto tensor = cast<RankedTensorType>(other);
    SmallVector<DimOf> dims{{ofIndices, 0}};
    for (unsigned i = 1; i < tensor.getRank(); ++i)
      dims.push_back({tensor, i});
    return getTypeOfDims(dims, tensor.getElementType());
  };
  Operation *op = table.getDefiningOp();
  if (!op || !table.hasOneUse() || !isOfRows(op))
    return EmbeddingOp::create(builder, where, ofSelected(type), indices, table);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(hasRows(operand.getType()) ? select(builder, where, indices, operand) : operand);
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (Value result : clone->getResults())
    if (hasRows(result.getType()))
      result.setType(ofSelected(result.getType()));
  return clone->getResult(cast<OpResult>(table).getResultNumber());
}

void heddle::selectRowsEarly(EmbeddingOp selection) {
  OpBuilder builder(selection);
  Value table = selection.getTable();
  Value selected = select(builder, selection.getLoc(), selection.getIndices(), table);
  selection.replaceAllUsesWith(selected);
  SmallVector<Operation *> unused{selection};
  while (!unused.empty()) {
    Operation *op = unused.pop_back_val();
    SmallVector<Operation *> makers;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && !llvm::is_contained(makers, maker))
        makers.push_back(maker);
    op->erase();
    for (Operation *maker : makers)
      if (isOpTriviallyDead(maker))
        unused.push_back(maker);
  }
}
