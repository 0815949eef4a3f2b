// Lowers shared memory, and cooperative matrices that are loaded from and stored to it.
#pragma once

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace mlir::heddle {

/// The type of a shared-memory buffer: an array of vectors of four elements. Rows start at multiples of four.
spirv::PointerType getSharedPointer(MemRefType matrix);

/// Declares a module variable for each shared-memory buffer of `main`.
void declareShared(spirv::FuncOp main);

/// Adds patterns for shared memory, barriers and cooperative matrices, and conversions of their types.
void populateSharedPatterns(SPIRVTypeConverter &converter, RewritePatternSet &patterns);

} // namespace mlir::heddle
