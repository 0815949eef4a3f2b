// Tiles on their way from one layout to another.
#ifndef HEDDLE_COMPILER_LAYOUT_LOWERCONVERSIONS_H
#define HEDDLE_COMPILER_LAYOUT_LOWERCONVERSIONS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-lower-conversions`, on tile.func: carries tiles through shared memory where lanes have other elements of
/// them than the new layout says. Conversions in which each lane keeps its elements stay: heddle-lower-to-lanes renames
/// registers for them.
std::unique_ptr<Pass> createLowerConversionsPass();
void registerLowerConversionsPass();

} // namespace mlir::heddle

#endif
