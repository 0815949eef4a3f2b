// Phase `tile`: each heddle.kernel becomes one workgroup's program.
#pragma once

#include "compiler/Kernel/Tiling/Frames/MatrixTile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Creates `heddle-tile` for a profile. `choices` may be null. Otherwise it supplies measured tiles, and the pass adds
/// the matmuls that it meets. Both must outlive the pass.
std::unique_ptr<Pass> createTilePass(const TargetProfile &profile, TileChoices *choices = nullptr);

/// Creates `heddle-join-deltas` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createJoinDeltasPass(const TargetProfile &profile);

/// Creates `heddle-join-products` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createJoinProductsPass(const TargetProfile &profile);

/// Creates `heddle-join-sums` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createJoinSumsPass(const TargetProfile &profile);

/// Creates `heddle-split-kernels` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createSplitKernelsPass(const TargetProfile &profile);

/// Attaches the interfaces for fusion and tiling to the dialects' ops. Phases `fuse` and `tile` need them.
void registerTilingInterfaces(DialectRegistry &registry);

} // namespace mlir::heddle
