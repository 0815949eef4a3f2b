#include "compiler/Target/Vulkan/VulkanLowering.h"

#include "compiler/Layout/LowerToLanes.h"
#include "compiler/Layout/SinkLoads.h"
#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::heddle;

void heddle::buildVulkanLowering(OpPassManager &passes, bool texelLoads) {
  OpPassManager &kernels = passes.nest<tile::FuncOp>();
  kernels.addPass(createLowerToLanesPass());
  kernels.addPass(createCSEPass());
  // From the top down, the canonicalizer takes time quadratic in a kernel's size.
  kernels.addPass(createCanonicalizerPass(GreedyRewriteConfig().setUseTopDownTraversal(false)));
  kernels.addPass(createCSEPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(createSinkLoadsPass());
  passes.addPass(createLowerToSpirvPass(texelLoads));
  // Addresses share most of their arithmetic.
  passes.nest<spirv::ModuleOp>().addPass(createCSEPass());
}

void heddle::registerVulkanLowering() {
  PassPipelineRegistration<>("heddle-vulkan-lowering", "Turn each kernel whose tiles have layouts into a SPIR-V module",
                             [](OpPassManager &passes) { buildVulkanLowering(passes); });
}
