// Phase `layout`: which lane holds which element of each tile.
#ifndef HEDDLE_COMPILER_LAYOUT_ASSIGNLAYOUTS_H
#define HEDDLE_COMPILER_LAYOUT_ASSIGNLAYOUTS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-assign-layouts`: gives every tile of a tile.func a #tile.simt layout.
std::unique_ptr<Pass> createAssignLayoutsPass();
void registerAssignLayoutsPass();

} // namespace mlir::heddle

#endif
