// The patterns that MLIR does not have: memory behind pointers, and a kernel's place in the launch.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_SPIRVPATTERNS_H
#define HEDDLE_COMPILER_TARGET_VULKAN_SPIRVPATTERNS_H

#include "compiler/Target/MatrixIndex.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace mlir::heddle {

/// What an argument is: a pointer to an array in the device's memory. Pointers have 64 bits, but no kernel calculates
/// with them as integers, which some devices do not have.
spirv::PointerType getArrayPointer(Type element);

/// What a number or vector is in memory: bf16 as the i16 of its bits, or neighbours as an i32; all else as it is.
Type inMemory(Type type);

/// Reads the i32 that an argument points to.
Value loadSize(OpBuilder &builder, Location loc, Value array);

Value integer(OpBuilder &builder, Location loc, Type type, int64_t value);

/// Which element of a row-major matrix of up to 2^31 elements it is. Signed: without the constant the index may lie
/// before the matrix.
SplitIndex linearize(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, ValueRange indices);

/// Matrices are converted to pointers to their first elements.
void addMatrixConversion(SPIRVTypeConverter &converter);

/// What a lane's number is. Lanes that talk to each other are numbered by their subgroups: Vulkan does not promise that
/// neighbours in the workgroup are neighbours there.
enum class LaneNumber { OfWorkgroup, OfSubgroup, OfAllSubgroups };

/// Makes simpler ops of those that SPIR-V for Vulkan has no instruction for, or none that is C's function in every
/// case.
void expandArithmetic(Operation *kernel);

void populateKernelPatterns(const SPIRVTypeConverter &converter, LaneNumber number, RewritePatternSet &patterns);

} // namespace mlir::heddle

#endif
