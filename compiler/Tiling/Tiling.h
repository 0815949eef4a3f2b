// Phase `tile`: each heddle.kernel becomes one workgroup's program.
#ifndef HEDDLE_COMPILER_TILING_TILING_H
#define HEDDLE_COMPILER_TILING_TILING_H

#include "compiler/Tiling/MatrixTile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-tile`: replaces every heddle.kernel by a tile.launch of a tile.func, shared where two kernels are the same.
/// `choices`, where there are any, outlives the pass: it reads the measured tiles and notes the products that it meets.
std::unique_ptr<Pass> createTilePass(const TargetProfile &profile, TileChoices *choices = nullptr);
void registerTilePass();

/// Attaches to the dialects' ops what they say of fusion and tiling; `fuse` and `tile` need it.
void registerTilingInterfaces(DialectRegistry &registry);

} // namespace mlir::heddle

#endif
