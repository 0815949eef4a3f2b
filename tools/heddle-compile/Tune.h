// Measures the tiles of matrix products on this machine's device: --tune=FILE.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_TUNE_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_TUNE_H

#include "compiler/Tiling/MatrixTile.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Fills `choices` with a measured tile for every product of `model`, a module after phase `fuse`. What the file `path`
/// knows is taken from there; the rest is measured, the model's best tiles against each other, and the file written
/// anew. One file holds one device's tiles: times of two devices do not mix. Fails after an error: no device, a file of
/// another device, or one that cannot be read or written.
LogicalResult tuneTiles(ModuleOp model, ArrayRef<const TargetProfile *> targets, StringRef path, TileChoices &choices);

} // namespace mlir::heddle

#endif
