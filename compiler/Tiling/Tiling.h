// Phase `tile`: each heddle.kernel becomes one workgroup's program.
#ifndef HEDDLE_COMPILER_TILING_TILING_H
#define HEDDLE_COMPILER_TILING_TILING_H

#include "compiler/Tiling/MatrixTile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-tile` for a profile. `choices`, where there are any, has measured tiles, and the pass notes the products
/// there that it meets. Both outlive the pass.
std::unique_ptr<Pass> createTilePass(const TargetProfile &profile, TileChoices *choices = nullptr);

/// Attaches to the dialects' ops what they say of fusion and tiling; `fuse` and `tile` need it.
void registerTilingInterfaces(DialectRegistry &registry);

} // namespace mlir::heddle

#endif
