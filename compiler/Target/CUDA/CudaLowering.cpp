#include "compiler/Target/CUDA/CudaLowering.h"

#include "compiler/Lanes/LowerToLanes.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/CUDA/Passes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::heddle;

void heddle::buildCudaLowering(OpPassManager &passes, StringRef chip) {
  OpPassManager &kernels = passes.nest<tile::FuncOp>();
  buildLaneProgram(kernels);
  kernels.addPass(createSinkLoadsPass({.operands = true}));
  kernels.addPass(createExpandMathPass());
  passes.addPass(createLowerToNvvmPass({.chip = chip.str()}));
}

void heddle::registerCudaLowering() {
  PassPipelineRegistration<>("heddle-cuda-lowering",
                             "Turn each kernel whose tiles have layouts into a gpu.module for sm_80",
                             [](OpPassManager &passes) { buildCudaLowering(passes, "sm_80"); });
}
