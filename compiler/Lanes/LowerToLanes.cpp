#include "compiler/Lanes/LowerToLanes.h"

#include "compiler/Lanes/Lanes.h"
#include "compiler/Lanes/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERTOLANESPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

struct LowerToLanesPass : mlir::heddle::impl::LowerToLanesPassBase<LowerToLanesPass> {
  void runOnOperation() override {
    tile::FuncOp kernel = getOperation();
    if (failed(checkLayouts(kernel)))
      return signalPassFailure();
    Lanes lanes(kernel);
    DenseSet<Operation *> wholeCounters = findWholeCounters(kernel);

    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](RankedTensorType tile, SmallVectorImpl<Type> &registers) -> std::optional<LogicalResult> {
          if (!tile::haveLayouts(tile))
            return failure();
          registers.append(tile::getLaneShape(tile).count(), getRegisterType(tile));
          return success();
        });

    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    populateLaneMemoryPatterns(converter, lanes, patterns);
    populateLaneArithmeticPatterns(converter, lanes, patterns);
    populateLaneFragmentPatterns(converter, lanes, patterns);
    populateLaneWarpgroupPatterns(converter, lanes, patterns);
    populateLaneMbarrierPatterns(converter, lanes, patterns);
    populateLaneCooperativePatterns(converter, lanes, patterns);
    populateLaneIntegerPatterns(converter, lanes, patterns);
    populateLanePairPatterns(converter, lanes, patterns);
    populateLaneProductPatterns(converter, lanes, patterns);
    populateLaneRandomPatterns(converter, wholeCounters, patterns);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      if (isa<tile::TileDialect>(op->getDialect()))
        return isa<tile::FuncOp, tile::ReturnOp, tile::SharedOp, tile::ChangedOp, tile::IntegerDotOp,
                   tile::MatrixLoadOp, tile::MatrixStoreOp, tile::MatrixDotOp>(op);
      return converter.isLegal(op);
    });

    // Nothing is rolled back: checkLayouts has reported what cannot be lowered.
    ConversionConfig config;
    config.allowPatternRollback = false;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyPartialConversion(kernel, target, std::move(patterns), config)))
      return signalPassFailure();

    // Lanes compute places in swizzled memory by themselves, so it is in plain order now. Descriptors count rows of a
    // swizzle from addresses, so panels begin where a swizzle does.
    kernel.walk([](tile::SharedOp shared) {
      MemRefType type = shared.getResult().getType();
      tile::SwizzledAttr layout = tile::getSwizzle(type);
      if (layout && layout.getPanelRows())
        shared.setAlignment(tile::SwizzledAttr::kBytes);
      if (layout)
        shared.getResult().setType(MemRefType(MemRefType::Builder(type).setLayout({})));
    });
  }
};

} // namespace

void heddle::buildLaneProgram(OpPassManager &kernels) {
  kernels.addPass(createLowerConversionsPass());
  kernels.addPass(createLowerToLanesPass());
  kernels.addPass(createCSEPass());
  // Top down, the canonicalizer takes time quadratic in a kernel's size.
  kernels.addPass(createCanonicalizerPass(GreedyRewriteConfig().setUseTopDownTraversal(false)));
  kernels.addPass(createCSEPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
}
