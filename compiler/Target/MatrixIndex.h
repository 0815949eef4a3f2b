// What the lowerings of a kernel's memory share: matrices are row-major and of known width.
#ifndef HEDDLE_COMPILER_TARGET_MATRIXINDEX_H
#define HEDDLE_COMPILER_TARGET_MATRIXINDEX_H

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::heddle {

/// An index as a converted value and a constant, which is kept apart so that neighbouring accesses share their
/// arithmetic. No value means that the index is the constant.
struct SplitIndex {
  Value value;
  int64_t offset = 0;

  static SplitIndex of(Value index, ConversionPatternRewriter &rewriter);
};

/// Fails with an error at the first argument of a kernel that is no such matrix.
LogicalResult verifyMatrices(Operation *kernel, ArrayRef<Type> arguments);

} // namespace mlir::heddle

#endif
