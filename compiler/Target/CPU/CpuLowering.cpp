#include "compiler/Target/CPU/CpuLowering.h"

#include "compiler/Lanes/LowerToLanes.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Target/CPU/Passes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::heddle;

void heddle::buildCpuLowering(OpPassManager &passes) {
  OpPassManager &kernels = passes.nest<tile::FuncOp>();
  buildLaneProgram(kernels);
  kernels.addPass(createSinkLoadsPass());
  kernels.addPass(createExpandCpuMathPass());
  passes.addPass(createLowerToLlvmPass());
}

void heddle::registerCpuLowering() {
  PassPipelineRegistration<>("heddle-cpu-lowering", "Turn each kernel whose tiles have layouts into an LLVM function",
                             [](OpPassManager &passes) { buildCpuLowering(passes); });
}
