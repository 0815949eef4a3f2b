// Measures the tiles of matmuls on this machine's device: --tune=FILE.
#pragma once

#include "compiler/Kernel/Tiling/Frames/MatrixTile.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Fills `choices` with a measured tile for every matmul of `model`, a module after phase `fuse`. Tiles found in the
/// file `path` are taken from it. For the other matmuls, the cost model's best tiles are timed against each other, and
/// the file is rewritten. A file holds the tiles of one device, as times of two devices cannot be compared. Fails,
/// after an error, if there is no device, or if the file is of another device or cannot be read or written.
LogicalResult tuneTiles(ModuleOp model, ArrayRef<const TargetProfile *> targets, StringRef path, TileChoices &choices);

} // namespace mlir::heddle
