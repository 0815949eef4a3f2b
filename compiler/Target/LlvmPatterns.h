// Patterns that the backends with an LLVM lowering share: loads and stores of matrices by bare pointers.
#pragma once

#include "mlir/Transforms/DialectConversion.h"

namespace mlir {
class LLVMTypeConverter;

namespace heddle {

/// The alignment of vectors in memory.
enum class VectorAlignment {
  Whole,    // the vector's size in bytes
  OfElement // the element's alignment: CPUs load and store vectors at the address of any element
};

/// A constant of an integer type.
Value llvmNumber(OpBuilder &builder, Location loc, Type type, int64_t value);

/// The address of an element of a row-major matrix of up to 2^31 elements. Rows may be padded. `base` points to the
/// first element. The constant part of the indices is added last, because loads and stores have an immediate for it.
Value addressOf(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, Value base, ValueRange indices);

/// Lowers ops that MLIR's conversions to the LLVM dialect do not accept: `vector.from_elements`, `vector.shape_cast`
/// and structured control flow.
LogicalResult flattenKernel(Operation *kernel);

/// Adds patterns for loads and stores of elements and vectors, for the casts from addresses and loaded sizes at the
/// beginning of a kernel, and for its return. MLIR's patterns for these loads and stores expect memref descriptors. The
/// converter's index type has 32 or 64 bits.
void populateMatrixPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns, VectorAlignment alignment);

} // namespace heddle
} // namespace mlir
