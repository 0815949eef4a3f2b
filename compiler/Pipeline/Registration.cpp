#include "compiler/Pipeline/Pipeline.h"

#include "compiler/Autodiff/Differentiate.h"
#include "compiler/Contract/DeriveContract.h"
#include "compiler/Cost/Cost.h"
#include "compiler/Derive/Adapters.h"
#include "compiler/Derive/Derive.h"
#include "compiler/Fusion/Distribute.h"
#include "compiler/Fusion/FuseAttention.h"
#include "compiler/Fusion/FuseCrossEntropy.h"
#include "compiler/Fusion/FuseKernels.h"
#include "compiler/Fusion/FuseProjections.h"
#include "compiler/Fusion/FuseUpdates.h"
#include "compiler/Fusion/KeepRounded.h"
#include "compiler/Fusion/LowerWindows.h"
#include "compiler/Fusion/ReadRounded.h"
#include "compiler/Fusion/Recompute.h"
#include "compiler/Fusion/RoundCaches.h"
#include "compiler/Fusion/RoundMoments.h"
#include "compiler/Fusion/SetPrecision.h"
#include "compiler/Layout/AssignLayouts.h"
#include "compiler/Layout/LowerConversions.h"
#include "compiler/Layout/LowerToLanes.h"
#include "compiler/Layout/SinkLoads.h"
#include "compiler/Layout/StageFactors.h"
#include "compiler/Layout/StageThroughRegisters.h"
#include "compiler/Planning/Plan.h"
#include "compiler/Recurrence/Recurrence.h"
#include "compiler/Target/Backend.h"
#include "compiler/Tiling/SplitProducts.h"
#include "compiler/Tiling/SplitSums.h"
#include "compiler/Tiling/Tiling.h"
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
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <mutex>

// compiler/CMakeLists.txt lists them.
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
                  nvgpu::NVGPUDialect, scf::SCFDialect, vector::VectorDialect, HeddleDialect, tile::TileDialect,
                  plan::PlanDialect>();
  registerAllTargets();
  for (const Backend *backend : getBackends())
    backend->registerDialects(registry);
  registerTilingInterfaces(registry);
  registerOpCosts(registry);
}

void mlir::heddle::registerAllPasses() {
  registerAddAdaptersPass();
  registerQuantizeWeightsPass();
  registerDeriveTrainingPass();
  registerDeriveEvaluationPass();
  registerDeriveDecodingPass();
  registerDeriveExplanationPass();
  registerDeriveInitPass();
  registerDistributePass();
  registerFuseAttentionPass();
  registerFuseCrossEntropyPass();
  registerFuseProjectionsPass();
  registerFuseUpdatesPass();
  registerDifferentiatePass();
  registerDeriveContractPass();
  registerHoistScansPass();
  registerLowerScansPass();
  registerLowerWindowsPass();
  registerFuseKernelsPass();
  registerSeparateStatesPass();
  registerSplitProductsPass();
  registerSplitSumsPass();
  registerCountCostsPass();
  registerTilePass();
  registerSetPrecisionPass();
  registerReadRoundedPass();
  registerKeepRoundedPass();
  registerRecomputePass();
  registerRoundCachesPass();
  registerRoundMomentsPass();
  registerStageFactorsPass();
  registerStageThroughRegistersPass();
  registerAssignLayoutsPass();
  registerLowerConversionsPass();
  registerLowerToLanesPass();
  registerSinkLoadsPass();
  registerAllTargets();
  for (const Backend *backend : getBackends())
    backend->registerPasses();
  registerPlanPass();
  registerVerifyEntriesPass();
  registerVerifyPhasePass();
}
