// Index arithmetic that the backends share. Kernels address row-major matrices of known width.
#pragma once

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::heddle {

/// An index as the sum of a converted value and a constant. The constant is kept apart so that neighbouring accesses
/// share the rest of their arithmetic. Without a value, the index is the constant.
struct SplitIndex {
  Value value;
  int64_t offset = 0;

  static SplitIndex of(Value index, ConversionPatternRewriter &rewriter);
};

/// Fails with an error if an argument is a memref other than a row-major matrix of known width.
LogicalResult verifyMatrices(Operation *kernel, ArrayRef<Type> arguments);

} // namespace mlir::heddle
