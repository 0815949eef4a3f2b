#include "compiler/Pipeline/Pipeline.h"

#include "compiler/Autodiff/Differentiate.h"
#include "compiler/Contract/DeriveContract.h"
#include "compiler/Cost/Cost.h"
#include "compiler/Fusion/FuseAttention.h"
#include "compiler/Fusion/FuseCrossEntropy.h"
#include "compiler/Fusion/FuseKernels.h"
#include "compiler/Fusion/FuseProjections.h"
#include "compiler/Fusion/FuseUpdates.h"
#include "compiler/Fusion/KeepRounded.h"
#include "compiler/Fusion/ReadRounded.h"
#include "compiler/Fusion/Recompute.h"
#include "compiler/Fusion/SetPrecision.h"
#include "compiler/Layout/AssignLayouts.h"
#include "compiler/Layout/LowerToLanes.h"
#include "compiler/Layout/SinkLoads.h"
#include "compiler/Layout/StageFactors.h"
#include "compiler/Layout/StageThroughRegisters.h"
#include "compiler/Planning/Plan.h"
#include "compiler/Target/CUDA/CudaLowering.h"
#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "compiler/Target/Vulkan/VulkanLowering.h"
#include "compiler/Tiling/SplitSums.h"
#include "compiler/Tiling/Tiling.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void mlir::heddle::registerAllDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, nvgpu::NVGPUDialect, NVVM::NVVMDialect, scf::SCFDialect, spirv::SPIRVDialect,
                  vector::VectorDialect, HeddleDialect, tile::TileDialect, plan::PlanDialect>();
  registerPtxTranslations(registry);
  registerTilingInterfaces(registry);
  registerOpCosts(registry);
}

void mlir::heddle::registerAllPasses() {
  registerFuseAttentionPass();
  registerFuseCrossEntropyPass();
  registerFuseProjectionsPass();
  registerFuseUpdatesPass();
  registerDifferentiatePass();
  registerDeriveContractPass();
  registerFuseKernelsPass();
  registerSplitSumsPass();
  registerCountCostsPass();
  registerTilePass();
  registerSetPrecisionPass();
  registerReadRoundedPass();
  registerKeepRoundedPass();
  registerRecomputePass();
  registerStageFactorsPass();
  registerStageThroughRegistersPass();
  registerAssignLayoutsPass();
  registerLowerToLanesPass();
  registerSinkLoadsPass();
  registerLowerToSpirvPass();
  registerVulkanLowering();
  registerExpandMathPass();
  registerLowerToNvvmPass();
  registerCudaLowering();
  registerPlanPass();
  registerVerifyEntriesPass();
  registerVerifyPhasePass();
}
