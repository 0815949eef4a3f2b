// Conversion patterns that MLIR lacks: memory accesses by pointers, bf16, shuffles, loops, and the ids of workgroups
// and lanes.
#pragma once

#include "compiler/Target/MatrixIndex.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace mlir::heddle {

/// The type of an argument: a pointer to an array in device memory. Pointers have 64 bits, but kernels never compute
/// with them as integers, because some devices lack 64-bit integers.
spirv::PointerType getArrayPointer(Type element);

/// The type of a number or vector in memory: a bf16 is an i16, a pair of bf16 an i32, and other types stay the same.
Type inMemory(Type type);

/// Reads the i32 that an argument points to.
Value loadSize(OpBuilder &builder, Location loc, Value array);

Value integer(OpBuilder &builder, Location loc, Type type, int64_t value);

/// The linear index of an element in a row-major matrix of up to 2^31 elements. It is signed, because the index without
/// its constant may be negative.
SplitIndex linearize(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, ValueRange indices);

/// Converts matrices to pointers to their first elements, and bf16 to f32.
void addMatrixConversion(SPIRVTypeConverter &converter);

/// How lanes are numbered. Lanes that exchange values are numbered by their position in subgroups, because Vulkan does
/// not promise that neighbours in the workgroup are neighbours in a subgroup.
enum class LaneNumber { OfWorkgroup, OfSubgroup, OfAllSubgroups };

/// Expands ops for which SPIR-V for Vulkan has no instruction, or only one that differs from C's function in some
/// cases.
void expandArithmetic(Operation *kernel);

/// `texelFloats`: how many f32 a texel has (1, 2 or 4), if the kernel reads texel buffers.
void populateKernelPatterns(const SPIRVTypeConverter &converter, LaneNumber number, int64_t texelFloats,
                            RewritePatternSet &patterns);

} // namespace mlir::heddle
