// The pass pipeline from kernels with layouts to SPIR-V.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace mlir::heddle {

/// Adds the passes that turn each tile.func of a module into a spirv.module. Kernels are lowered in parallel.
/// `texelLoads` is the option of heddle-lower-to-spirv. In heddle-opt this is `--heddle-vulkan-lowering`.
void buildVulkanLowering(OpPassManager &passes, bool texelLoads = false);
void registerVulkanLowering();

} // namespace mlir::heddle
