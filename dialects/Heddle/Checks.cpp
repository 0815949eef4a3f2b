#include "dialects/Heddle/Checks.h"
#include "dialects/Heddle/Limits.h"

using namespace mlir;
using namespace mlir::heddle;

bool heddle::sameDim(DimOf a, DimOf b) {
  return a.type.getDimSize(a.dim) == b.type.getDimSize(b.dim) &&
         getSizeName(a.type, a.dim) == getSizeName(b.type, b.dim);
}

LogicalResult heddle::expectSameDim(Operation *op, StringRef what, DimOf expected, ArrayRef<DimOf> others) {
  for (DimOf other : others)
    if (!sameDim(expected, other))
      return op->emitOpError() << "expects the same " << what << " in " << expected.type << " (dimension "
                               << expected.dim << ") and " << other.type << " (dimension " << other.dim << ")";
  return success();
}

LogicalResult heddle::expectSameElements(Operation *op, RankedTensorType a, RankedTensorType b) {
  if (a.getElementType() == b.getElementType())
    return success();
  return op->emitOpError() << "expects the same element type in " << a << " and " << b;
}

LogicalResult heddle::expectTensorsOfKernels(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    if (!isTensorOfKernels(cast<RankedTensorType>(type)))
      return op->emitOpError() << "takes " << kTensorsOfKernels << ", got " << type;
  return success();
}

LogicalResult heddle::expectRate(Operation *op, StringRef name, const APFloat &rate) {
  double value = rate.convertToDouble();
  if (value >= 0 && value < 1)
    return success();
  return op->emitOpError() << "expects '" << name << "' in [0, 1), got " << value;
}

LogicalResult heddle::expectStaticColumns(Operation *op, RankedTensorType type) {
  if (!type.isDynamicDim(type.getRank() - 1))
    return success();
  return op->emitOpError() << "expects a static number of columns, got " << type;
}

LogicalResult heddle::expectOneColumn(Operation *op, RankedTensorType type) {
  if (type.getDimSize(1) == 1)
    return success();
  return op->emitOpError() << "expects a single column of row numbers, got " << type;
}

LogicalResult heddle::verifyParts(Operation *op, RankedTensorType parts) {
  if (parts.getRank() == 3 && !parts.isDynamicDim(1) && !parts.isDynamicDim(2))
    return success();
  return op->emitOpError() << "expects parts of rows, tensor<MxGxN> with static G and N, got " << parts;
}

LogicalResult heddle::expectColumn(Operation *op, StringRef what, RankedTensorType type) {
  if (type.isDynamicDim(0))
    return success();
  return op->emitOpError() << "expects a run-time number of " << what << ", got " << type;
}

LogicalResult heddle::expectFirstOnly(Operation *op, ValueRange gradients) {
  if (gradients[0] && llvm::none_of(gradients.drop_front(), [](Value gradient) { return bool(gradient); }))
    return success();
  return op->emitOpError("has a gradient rule for its first result only, but the loss depends on another result");
}
