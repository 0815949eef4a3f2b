// All that happens to a kernel between its layouts and its SPIR-V.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_VULKANLOWERING_H
#define HEDDLE_COMPILER_TARGET_VULKAN_VULKANLOWERING_H

#include "mlir/Pass/PassManager.h"

namespace mlir::heddle {

/// Adds the passes that turn each tile.func of a module into a spirv.module, one kernel beside the other. `texelLoads`
/// is heddle-lower-to-spirv's option. In heddle-opt this is `--heddle-vulkan-lowering`.
void buildVulkanLowering(OpPassManager &passes, bool texelLoads = false);
void registerVulkanLowering();

} // namespace mlir::heddle

#endif
