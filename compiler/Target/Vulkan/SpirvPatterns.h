// The patterns that MLIR does not have: memory behind 64-bit addresses, and a kernel's place in the launch.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_SPIRVPATTERNS_H
#define HEDDLE_COMPILER_TARGET_VULKAN_SPIRVPATTERNS_H

#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace mlir::heddle {

/// Reads `type` from an address.
Value loadAt(OpBuilder &builder, Location loc, Type type, Value address);

/// Matrices are converted to the addresses of their first elements.
void addMatrixConversion(SPIRVTypeConverter &converter);

/// `exchangesLanes`: lanes talk to each other, so a lane's number is the one that it has in its subgroup.
void populateKernelPatterns(const SPIRVTypeConverter &converter, bool exchangesLanes, RewritePatternSet &patterns);

} // namespace mlir::heddle

#endif
