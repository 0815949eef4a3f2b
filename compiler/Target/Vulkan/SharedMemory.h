// Memory that the lanes of a workgroup share, and the cooperative matrices that come from there.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_SHAREDMEMORY_H
#define HEDDLE_COMPILER_TARGET_VULKAN_SHAREDMEMORY_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace mlir::heddle {

bool isShared(MemRefType matrix);

/// Shared memory is an array of vectors of four elements, in which rows begin at multiples of four.
spirv::PointerType getSharedPointer(MemRefType matrix);

/// Makes the ops' memory variables of the module that `main` is in.
void declareShared(spirv::FuncOp main);

/// Patterns for what works on shared memory, barriers and cooperative matrices, whose types are converted too.
void populateSharedPatterns(SPIRVTypeConverter &converter, RewritePatternSet &patterns);

} // namespace mlir::heddle

#endif
