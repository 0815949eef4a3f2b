#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/CUDA/Passes.h"

#include "compiler/Lanes/LowerToLanes.h"
#include "compiler/Target/CUDA/NvvmPatterns.h"
#include "compiler/Target/KernelAction.h"
#include "compiler/Target/LlvmPatterns.h"
#include "compiler/Target/MatrixIndex.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERTONVVMPASS
#include "compiler/Target/CUDA/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The least alignment of buffers in shared memory: rows of 128 bytes then start at multiples of 128.
constexpr uint64_t kSharedAlignment = 128;

/// Converts one kernel. Touches only the kernel and its module, so that kernels can be converted in parallel.
class KernelLowering {
public:
  KernelLowering(tile::FuncOp kernel, gpu::GPUModuleOp module, bool isBlackwell)
      : kernel(kernel), module(module), isBlackwell(isBlackwell), context(kernel.getContext()) {}

  LogicalResult run() {
    if (failed(verifyMatrices(kernel, kernel.getArgumentTypes())))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SmallVector<Type> addresses(kernel.getNumArguments(), getGlobalPointer(context));
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), addresses);
    auto main = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kEntryName, type);
    main->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    main->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                  builder.getDenseI32ArrayAttr(
                      {static_cast<int32_t>(kernel.getWorkgroup() + kernel.getProducers().value_or(0))}));
    // Without this ptxas aims for a higher occupancy and limits registers until the accumulators spill, and ignores
    // that producers give registers to consumers. Kernels that are bound by memory are better off with ptxas's choice.
    if (kernel.getMapping() == tile::LaneMapping::Blocks || kernel.getProducers() || isBlackwell)
      main->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    for (StringRef name : {kStepsName, kMatmulsName})
      if (Attribute number = kernel->getDiscardableAttr(name))
        module->setAttr(name, number);
    main.getBody().takeBody(kernel.getBody());
    bindArguments(main);
    placeSharedMemory(main);
    return convert(main);
  }

private:
  /// Each argument is a 64-bit address: of a matrix's first element, or of an i32 with a run-time size.
  void bindArguments(LLVM::LLVMFuncOp main) {
    Block &entry = main.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    for (BlockArgument argument : entry.getArguments()) {
      Type type = argument.getType();
      Location loc = argument.getLoc();
      argument.setType(getGlobalPointer(context));
      if (argument.use_empty())
        continue;
      Value bound = argument;
      if (isa<IndexType>(type))
        bound = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), bound, /*alignment=*/4,
                                     /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
      auto cast = UnrealizedConversionCastOp::create(builder, loc, type, bound);
      argument.replaceUsesWithIf(cast.getResult(0), [&](OpOperand &use) {
        return use.getOwner() != cast && use.getOwner() != bound.getDefiningOp();
      });
    }
  }

  void placeSharedMemory(LLVM::LLVMFuncOp main) {
    OpBuilder builder(main);
    int64_t bytes = 0;
    uint64_t alignment = kSharedAlignment;
    main.walk([&](tile::SharedOp op) { alignment = std::max(alignment, op.getAlignment().value_or(0)); });
    main.walk([&](tile::SharedOp op) {
      op->setAttr(kSharedOffsetName, builder.getI32IntegerAttr(static_cast<int32_t>(bytes)));
      bytes += llvm::alignTo(tile::getSharedBytes(op.getResult().getType()), alignment);
    });
    if (bytes == 0)
      return;
    module->setAttr(kSharedBytesName, builder.getI32IntegerAttr(static_cast<int32_t>(bytes)));
    auto array = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, main.getLoc(), array, /*isConstant=*/false, LLVM::Linkage::External,
                           kSharedMemoryName, /*value=*/Attribute(), alignment, kSharedMemory);
  }

  LogicalResult convert(LLVM::LLVMFuncOp main) {
    if (failed(flattenKernel(main)))
      return failure();

    // Indices within a kernel fit into 32 bits, the width of a GPU's registers.
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32);
    LLVMTypeConverter converter(context, options);
    addMatrixConversion(converter);
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateKernelPatterns(converter, patterns);
    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    // The memory patterns look at the ops that compute the indices, so one conversion must hold all patterns: it erases
    // replaced ops only at its end.
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    return applyFullConversion(main, target, std::move(patterns), config);
  }

  tile::FuncOp kernel;
  gpu::GPUModuleOp module;
  bool isBlackwell; // or newer: ptxas limits the registers of matmuls on tensor cores, too
  MLIRContext *context;
};

struct LowerToNvvmPass : mlir::heddle::impl::LowerToNvvmPassBase<LowerToNvvmPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    StringRef number = chip;
    if (number.consume_front("sm_") && !number.consumeInteger(10, version) && version >= 20) // NVVM's oldest
      return success();
    return emitError(UnknownLoc::get(context))
           << "heddle-lower-to-nvvm: there is no chip '" << chip << "'; chips are called sm_80 or sm_90a";
  }

  void runOnOperation() override {
    SmallVector<std::pair<tile::FuncOp, gpu::GPUModuleOp>> kernels;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::FuncOp>())) {
      OpBuilder builder(kernel);
      auto target = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", chip,
                                              version < 100 ? "+ptx80" : "+ptx87");
      kernels.emplace_back(kernel, gpu::GPUModuleOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                                            builder.getArrayAttr(target)));
    }
    LogicalResult lowered = failableParallelForEach(&getContext(), kernels, [&](auto &pair) {
      return runKernelAction(&getContext(), "lower to NVVM", pair.first.getSymName(),
                             [&] { return KernelLowering(pair.first, pair.second, version >= 100).run(); });
    });
    for (auto [kernel, module] : kernels)
      kernel.erase();
    if (failed(lowered))
      signalPassFailure();
  }

  /// The chip's compute capability: 80 for sm_80. The PTX version is that of CUDA 12.0, the oldest with all features of
  /// sm_90a, or of CUDA 12.8, the oldest with sm_120.
  unsigned version = 0;
};

} // namespace
