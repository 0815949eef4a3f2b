#include "compiler/Pipeline/Pipeline.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Cost/Passes.h"
#include "compiler/Graph/Autodiff/Passes.h"
#include "compiler/Graph/Derive/Passes.h"
#include "compiler/Graph/Distribution/Passes.h"
#include "compiler/Graph/Precision/Passes.h"
#include "compiler/Graph/Recurrence/Passes.h"
#include "compiler/Kernel/Fusion/Passes.h"
#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Model/Language/Passes.h"
#include "compiler/Pipeline/Passes.h"
#include "compiler/Program/Contract/Passes.h"
#include "compiler/Program/Planning/Passes.h"
#include "compiler/Target/Backend.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <mutex>

// compiler/CMakeLists.txt lists the backends.
namespace mlir::heddle {
#define HEDDLE_BACKEND(name) const Backend &get##name##Backend();
#include "compiler/Pipeline/Backends.inc"
#undef HEDDLE_BACKEND
} // namespace mlir::heddle

void mlir::heddle::registerAllTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
#define HEDDLE_BACKEND(name) registerBackend(get##name##Backend());
#include "compiler/Pipeline/Backends.inc"
#undef HEDDLE_BACKEND
  });
}

void mlir::heddle::registerAllDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, math::MathDialect, memref::MemRefDialect,
                  nvgpu::NVGPUDialect, scf::SCFDialect, ub::UBDialect, vector::VectorDialect, HeddleDialect,
                  tile::TileDialect, plan::PlanDialect>();
  registerAllTargets();
  for (const Backend *backend : getBackends())
    backend->registerDialects(registry);
  registerTilingInterfaces(registry);
  registerOpCosts(registry);
}

void mlir::heddle::registerAllPasses() {
  registerPipelinePasses();
  registerCostPasses();
  registerLanguagePasses();
  registerDerivePasses();
  registerAutodiffPasses();
  registerRecurrencePasses();
  registerPrecisionPasses();
  registerDistributionPasses();
  registerFusionPasses();
  registerTilingPasses();
  registerLayoutPasses();
  registerContractPasses();
  registerPlanningPasses();
  registerAllTargets();
  for (const Backend *backend : getBackends())
    backend->registerPasses();
}
