#include "compiler/Target/CPU/LowerToLlvm.h"
#include "compiler/Target/CPU/Passes.h"

#include "compiler/Target/KernelAction.h"
#include "compiler/Target/LlvmPatterns.h"
#include "compiler/Target/MatrixIndex.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERTOLLVMPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Each tile of scratch memory starts at a cache line.
constexpr uint64_t kScratchAlignment = 64;
/// The maximum scratch memory of a thread; kMaxScratchBytes in runtime/hal/cpu/Image.h.
constexpr int64_t kMostScratchBytes = int64_t(64) << 20;
/// How many numbers a launch keeps for its thread; kLaunchBytes in runtime/hal/cpu/Image.h.
constexpr int32_t kMostChanges = 8;
constexpr StringLiteral kScratchOffsetName = "heddle.scratch_offset";

/// The parameters of a kernel's function, in order.
enum Argument { kBindings, kGrid, kFirst, kCount, kScratch, kArguments };

/// Converts one kernel. Touches only the kernel and its function, so that kernels can be converted in parallel.
class KernelLowering {
public:
  KernelLowering(tile::FuncOp kernel, LLVM::LLVMFuncOp function)
      : kernel(kernel), function(function), context(kernel.getContext()) {}

  LogicalResult run() {
    if (kernel.getWorkgroup() != 1)
      return kernel.emitOpError() << "has a workgroup of " << kernel.getWorkgroup() << " lanes; processors run one";
    if (failed(verifyMatrices(kernel, kernel.getArgumentTypes())))
      return failure();
    if (failed(placeScratch()))
      return failure();
    if (!llvm::hasNItemsOrLess(kernel.getBody().front().getOps<tile::ChangedOp>(), kMostChanges))
      return kernel.emitOpError() << "has more than " << kMostChanges << " tile.changed, as many as a launch keeps";
    ImplicitLocOpBuilder b(kernel.getLoc(), context);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    bindArguments(b, entry->getArgument(kBindings));
    bool usesMatrices = kernel
                            .walk([](Operation *op) {
                              bool isMatrixOp = isa<tile::MatrixLoadOp, tile::MatrixStoreOp, tile::MatrixDotOp>(op);
                              return isMatrixOp ? WalkResult::interrupt() : WalkResult::advance();
                            })
                            .wasInterrupted();
    if (usesMatrices)
      beginMatrices(b);
    loopOverWorkgroups(b);
    if (usesMatrices) {
      b.setInsertionPoint(entry->getTerminator());
      call(b, "llvm.x86.tilerelease", {});
    }
    return convert();
  }

private:
  LogicalResult placeScratch() {
    int64_t bytes = 0;
    kernel.walk([&](tile::SharedOp op) {
      op->setAttr(kScratchOffsetName, builder.getI32IntegerAttr(static_cast<int32_t>(bytes)));
      bytes += llvm::alignTo(tile::getSharedBytes(op.getResult().getType()), kScratchAlignment);
    });
    if (bytes > kMostScratchBytes)
      return kernel.emitOpError() << "takes " << bytes << " bytes of scratch memory; a thread has at most "
                                  << kMostScratchBytes;
    if (bytes > 0)
      function->setAttr(kScratchBytesName, builder.getI32IntegerAttr(static_cast<int32_t>(bytes)));
    return success();
  }

  /// Each binding is a 64-bit address: of a matrix's first element, or of an i32 with a run-time size.
  void bindArguments(ImplicitLocOpBuilder &b, Value bindings) {
    Type pointer = bindings.getType();
    for (BlockArgument argument : kernel.getArguments()) {
      if (argument.use_empty())
        continue;
      Value place = LLVM::GEPOp::create(b, pointer, pointer, bindings,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(argument.getArgNumber())});
      Value bound = LLVM::LoadOp::create(b, pointer, place);
      if (isa<IndexType>(argument.getType())) {
        Value size = LLVM::LoadOp::create(b, b.getI32Type(), bound);
        argument.replaceAllUsesWith(arith::IndexCastOp::create(b, b.getIndexType(), size));
        continue;
      }
      auto cast = UnrealizedConversionCastOp::create(b, argument.getType(), bound);
      argument.replaceAllUsesWith(cast.getResult(0));
    }
  }

  static void call(OpBuilder &b, StringRef intrinsic, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(b, b.getUnknownLoc(), b.getStringAttr(intrinsic), operands);
  }

  /// Gives each of AMX's eight registers 16 rows of 64 bytes (Intel's manual, volume 1, "Tile configuration").
  static void beginMatrices(ImplicitLocOpBuilder &b) {
    constexpr uint64_t palette = 1, rows = 0x1010101010101010, bytesOfRows = 0x0040004000400040;
    constexpr uint64_t words[] = {palette, 0, bytesOfRows, bytesOfRows, 0, 0, rows, 0};
    Type pointer = LLVM::LLVMPointerType::get(b.getContext()), word = b.getI64Type();
    Value configuration = LLVM::AllocaOp::create(b, pointer, word, llvmNumber(b, b.getLoc(), word, std::size(words)));
    for (auto [i, value] : llvm::enumerate(words)) {
      Value place =
          LLVM::GEPOp::create(b, pointer, word, configuration, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, llvmNumber(b, b.getLoc(), word, static_cast<int64_t>(value)), place);
    }
    call(b, "llvm.x86.ldtilecfg", configuration);
  }

  /// Wraps the kernel in a loop over the workgroups `first` to `first + count - 1`. x varies fastest.
  void loopOverWorkgroups(ImplicitLocOpBuilder &b) {
    Block &body = function.getBody().front();
    auto asIndex = [&](Value number) -> Value { return arith::IndexCastUIOp::create(b, b.getIndexType(), number); };
    Value first = asIndex(body.getArgument(kFirst)), count = asIndex(body.getArgument(kCount));
    Value extents[2];
    for (int32_t axis : {0, 1}) {
      Value place = LLVM::GEPOp::create(b, body.getArgument(kGrid).getType(), b.getI32Type(), body.getArgument(kGrid),
                                        ArrayRef<LLVM::GEPArg>{axis});
      extents[axis] = asIndex(LLVM::LoadOp::create(b, b.getI32Type(), place));
    }
    auto changes = llvm::to_vector(kernel.getBody().front().getOps<tile::ChangedOp>());
    SmallVector<Value> before;
    auto placeOf = [&](size_t change) -> Value { // before the scratch memory
      int32_t place = static_cast<int32_t>(change) - kMostChanges;
      return LLVM::GEPOp::create(b, body.getArgument(kScratch).getType(), b.getI64Type(), body.getArgument(kScratch),
                                 ArrayRef<LLVM::GEPArg>{place});
    };
    for (size_t i = 0; i < changes.size(); ++i)
      before.push_back(asIndex(LLVM::LoadOp::create(b, b.getI64Type(), placeOf(i))));
    auto loop = scf::ForOp::create(b, first, arith::AddIOp::create(b, first, count),
                                   arith::ConstantIndexOp::create(b, 1), before);
    for (auto [i, last] : llvm::enumerate(loop.getResults()))
      LLVM::StoreOp::create(b, arith::IndexCastUIOp::create(b, b.getI64Type(), last), placeOf(i));
    LLVM::ReturnOp::create(b, ValueRange());
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value strips = arith::DivUIOp::create(b, number, extents[0]);
    Value places[] = {arith::RemUIOp::create(b, number, extents[0]), arith::RemUIOp::create(b, strips, extents[1]),
                      arith::DivUIOp::create(b, strips, extents[1])};
    Value lane = arith::ConstantIndexOp::create(b, 0);
    kernel.walk([&](Operation *op) {
      if (auto group = dyn_cast<gpu::BlockIdOp>(op)) {
        group.replaceAllUsesWith(places[static_cast<uint32_t>(group.getDimension())]);
        group.erase();
      } else if (auto thread = dyn_cast<gpu::ThreadIdOp>(op)) {
        thread.replaceAllUsesWith(lane);
        thread.erase();
      } else if (isa<gpu::BarrierOp>(op)) {
        op->erase();
      }
    });
    Block &work = kernel.getBody().front();
    work.getTerminator()->erase();
    if (changes.empty()) { // the loop has a terminator
      loop.getBody()->getOperations().splice(loop.getBody()->getTerminator()->getIterator(), work.getOperations());
      return;
    }
    loop.getBody()->getOperations().splice(loop.getBody()->end(), work.getOperations());
    SmallVector<Value> values;
    for (auto [op, previous] : llvm::zip_equal(changes, loop.getRegionIterArgs())) {
      b.setInsertionPoint(op);
      values.push_back(op.getValue());
      op.replaceAllUsesWith(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, op.getValue(), previous).getResult());
      op.erase();
    }
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, values);
  }

  LogicalResult convert() {
    if (failed(flattenKernel(function)))
      return failure();

    LLVMTypeConverter converter(context);
    converter.addConversion([](MemRefType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
    // LLVM passes bf16 between blocks as f32, element by element. After heddle-expand-cpu-math, bf16 values are only
    // moved, so i16 will do.
    converter.addConversion([](BFloat16Type type) -> Type { return IntegerType::get(type.getContext(), 16); });
    converter.addConversion([](VectorType type) -> std::optional<Type> {
      if (!type.getElementType().isBF16())
        return std::nullopt;
      return type.clone(IntegerType::get(type.getContext(), 16));
    });
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateMatrixPatterns(converter, patterns, VectorAlignment::OfElement);
    patterns.add<LowerShared>(converter, context, function.getArgument(kScratch));
    patterns.add<LowerIntegerDot, LowerMatrixMove<tile::MatrixLoadOp>, LowerMatrixMove<tile::MatrixStoreOp>,
                 LowerMatrixDot>(converter, context);
    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect>();
    // The memory patterns look at the ops that compute the indices, so one conversion must hold all patterns: it erases
    // replaced ops only at its end.
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    return applyFullConversion(function, target, std::move(patterns), config);
  }

  struct LowerShared : OpConversionPattern<tile::SharedOp> {
    LowerShared(const TypeConverter &converter, MLIRContext *context, Value scratch)
        : OpConversionPattern(converter, context), scratch(scratch) {}
    LogicalResult matchAndRewrite(tile::SharedOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
      auto offset = op->getAttrOfType<IntegerAttr>(kScratchOffsetName);
      rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, scratch.getType(), rewriter.getI8Type(), scratch,
                                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset.getInt())});
      return success();
    }
    Value scratch;
  };

  /// Bytes: AVX-512's VNNI (unsigned ones times signed ones). 16 bits: AVX2's dot of pairs, and an addition.
  struct LowerIntegerDot : OpConversionPattern<tile::IntegerDotOp> {
    using OpConversionPattern::OpConversionPattern;
    LogicalResult matchAndRewrite(tile::IntegerDotOp op, OpAdaptor adaptor,
                                  ConversionPatternRewriter &rewriter) const override {
      auto bits = static_cast<unsigned>(op.getBits());
      int64_t elements = bits == 8 ? 16 : 8;
      if (op.getType().getNumElements() != elements)
        return op.emitOpError() << "takes vectors of " << elements << " elements, got " << op.getType();
      auto integers = VectorType::get({elements * 32 / bits}, rewriter.getIntegerType(bits));
      auto split = [&](Value value) { return LLVM::BitcastOp::create(rewriter, op.getLoc(), integers, value); };
      Value lhs = split(adaptor.getLhs()), rhs = split(adaptor.getRhs());
      if (bits == 8) {
        rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, op.getType(),
                                                           rewriter.getStringAttr("llvm.x86.avx512.vpdpbusd.512"),
                                                           ValueRange{adaptor.getAccumulator(), rhs, lhs});
        return success();
      }
      auto product = LLVM::CallIntrinsicOp::create(
          rewriter, op.getLoc(), op.getType(), rewriter.getStringAttr("llvm.x86.avx2.pmadd.wd"), ValueRange{lhs, rhs});
      rewriter.replaceOpWithNewOp<LLVM::AddOp>(op, adaptor.getAccumulator(), product.getResult(0));
      return success();
    }
  };

  static Value registerNumber(OpBuilder &b, Location loc, uint64_t number) {
    return llvmNumber(b, loc, b.getI8Type(), static_cast<int64_t>(number));
  }

  /// AMX's load or store of a register: its number, the address of the first row, and the bytes from row to row.
  template <typename Op> struct LowerMatrixMove : OpConversionPattern<Op> {
    using OpConversionPattern<Op>::OpConversionPattern;
    LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                  ConversionPatternRewriter &rewriter) const override {
      Location loc = op.getLoc();
      MemRefType type = op.getMemory().getType();
      Value address = addressOf(rewriter, loc, type, adaptor.getMemory(), {op.getRow(), op.getColumn()});
      int64_t bytes = tile::getRowStride(type) * type.getElementTypeBitWidth() / 8;
      constexpr bool loads = std::is_same_v<Op, tile::MatrixLoadOp>;
      call(rewriter, loads ? "llvm.x86.tileloadd64" : "llvm.x86.tilestored64",
           {registerNumber(rewriter, loc, op.getNumber()), address,
            llvmNumber(rewriter, loc, rewriter.getI64Type(), bytes)});
      rewriter.eraseOp(op);
      return success();
    }
  };

  struct LowerMatrixDot : OpConversionPattern<tile::MatrixDotOp> {
    using OpConversionPattern::OpConversionPattern;
    LogicalResult matchAndRewrite(tile::MatrixDotOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
      SmallVector<Value> numbers;
      for (uint64_t number : {op.getSums(), op.getLhs(), op.getRhs()})
        numbers.push_back(registerNumber(rewriter, op.getLoc(), number));
      call(rewriter, "llvm.x86.tdpbf16ps", numbers);
      rewriter.eraseOp(op);
      return success();
    }
  };

  tile::FuncOp kernel;
  LLVM::LLVMFuncOp function;
  MLIRContext *context;
  Builder builder{context};
};

struct LowerToLlvmPass : mlir::heddle::impl::LowerToLlvmPassBase<LowerToLlvmPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    auto pointer = LLVM::LLVMPointerType::get(context);
    auto i32 = IntegerType::get(context, 32);
    SmallVector<Type> arguments(kArguments, pointer);
    arguments[kFirst] = arguments[kCount] = i32;
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), arguments);
    SmallVector<std::pair<tile::FuncOp, LLVM::LLVMFuncOp>> kernels;
    for (auto kernel : getOperation().getOps<tile::FuncOp>()) {
      OpBuilder builder(kernel);
      kernels.emplace_back(kernel, LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type));
    }
    LogicalResult lowered = failableParallelForEach(context, kernels, [&](auto &pair) {
      return runKernelAction(context, "lower to LLVM", pair.first.getSymName(),
                             [&] { return KernelLowering(pair.first, pair.second).run(); });
    });
    for (auto [kernel, function] : kernels)
      kernel.erase();
    if (failed(lowered))
      signalPassFailure();
  }
};

} // namespace
