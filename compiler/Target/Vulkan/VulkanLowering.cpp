#include "compiler/Target/Vulkan/VulkanLowering.h"

#include "compiler/Lanes/LowerToLanes.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "compiler/Target/Vulkan/Passes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::heddle;

void heddle::buildVulkanLowering(OpPassManager &passes, bool texelLoads) {
  OpPassManager &kernels = passes.nest<tile::FuncOp>();
  buildLaneProgram(kernels);
  kernels.addPass(createSinkLoadsPass());
  passes.addPass(createLowerToSpirvPass({.texelLoads = texelLoads}));
  // CSE merges the arithmetic that addresses share.
  passes.nest<spirv::ModuleOp>().addPass(createCSEPass());
}

void heddle::registerVulkanLowering() {
  PassPipelineRegistration<>("heddle-vulkan-lowering", "Turn each kernel whose tiles have layouts into a SPIR-V module",
                             [](OpPassManager &passes) { buildVulkanLowering(passes); });
}
