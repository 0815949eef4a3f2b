// What the backends that go through LLVM's dialect share: loads and stores of matrices by bare pointers.
#ifndef HEDDLE_COMPILER_TARGET_LLVMPATTERNS_H
#define HEDDLE_COMPILER_TARGET_LLVMPATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace mlir {
class LLVMTypeConverter;

namespace heddle {

/// The alignment of a vector in memory.
enum class VectorAlignment {
  Whole,    // its size in bytes
  OfElement // the alignment of one element: a processor loads and stores vectors at any of them
};

/// A constant of an integer type.
Value llvmNumber(OpBuilder &builder, Location loc, Type type, int64_t value);

/// The address of an element of a row-major matrix of up to 2^31 elements, whose rows may be padded. `base` points to
/// the first element. The constant part of the indices is added last, as loads and stores have a field for it.
Value addressOf(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, Value base, ValueRange indices);

/// Lowers the ops of a kernel that MLIR's conversions to LLVM's dialect do not take: vectors made of elements, shape
/// casts, and structured control flow.
LogicalResult flattenKernel(Operation *kernel);

/// Adds patterns for loads and stores of elements and vectors, for the casts from addresses and loaded sizes at the
/// beginning of a kernel, and for its return. MLIR's patterns for these loads and stores would take each matrix for a
/// descriptor. The converter's index type has 32 or 64 bits.
void populateMatrixPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns, VectorAlignment alignment);

} // namespace heddle
} // namespace mlir

#endif
