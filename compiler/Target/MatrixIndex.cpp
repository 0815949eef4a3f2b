#include "compiler/Target/MatrixIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::heddle;

SplitIndex SplitIndex::of(Value index, ConversionPatternRewriter &rewriter) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return {{}, *constant};
  if (auto sum = index.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> constant = getConstantIntValue(sum.getRhs()))
      return {rewriter.getRemappedValue(sum.getLhs()), *constant};
  return {rewriter.getRemappedValue(index), 0};
}

LogicalResult heddle::verifyMatrices(Operation *kernel, ArrayRef<Type> arguments) {
  for (Type type : arguments)
    if (auto matrix = dyn_cast<MemRefType>(type))
      if (matrix.getRank() != 2 || matrix.isDynamicDim(1) || !matrix.getLayout().isIdentity())
        return kernel->emitOpError() << "takes " << type << ", but kernels address row-major matrices of known width";
  return success();
}
