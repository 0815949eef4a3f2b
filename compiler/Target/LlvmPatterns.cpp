#include "compiler/Target/LlvmPatterns.h"

#include "compiler/Target/ConversionFunctions.h"
#include "compiler/Target/MatrixIndex.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::heddle;

Value heddle::llvmNumber(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

/// `index` without the constant that is added to it.
static Value withoutOffset(Value index) {
  auto sum = index.getDefiningOp<arith::AddIOp>();
  return sum && getConstantIntValue(sum.getRhs()) ? sum.getLhs() : index;
}

Value heddle::addressOf(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, Value base,
                        ValueRange indices) {
  Type i64 = rewriter.getI64Type(), element = matrix.getElementType();
  int64_t width = tile::getRowStride(matrix);
  SplitIndex row = SplitIndex::of(indices[0], rewriter), column = SplitIndex::of(indices[1], rewriter);
  // An XOR swizzle of the column is applied to the whole linear index instead: the swizzled bits are zero at the start
  // of each row. All columns of a row then share the linear index.
  std::optional<int64_t> exchanged;
  if (auto exchange = dyn_cast_if_present<arith::XOrIOp>(withoutOffset(indices[1]).getDefiningOp()))
    if (llvm::isPowerOf2_64(width) && (exchanged = getConstantIntValue(exchange.getRhs())))
      column.value = rewriter.getRemappedValue(exchange.getLhs());
  Value linear = row.value;
  auto constant = [&](int64_t value) { return llvmNumber(rewriter, loc, linear.getType(), value); };
  // Signed, because the index without its constant may be negative.
  if (linear && width != 1)
    linear = LLVM::MulOp::create(rewriter, loc, linear, constant(width), LLVM::IntegerOverflowFlags::nsw);
  if (column.value)
    linear = linear
                 ? LLVM::AddOp::create(rewriter, loc, linear, column.value, LLVM::IntegerOverflowFlags::nsw).getResult()
                 : column.value;
  if (exchanged)
    linear = LLVM::XOrOp::create(rewriter, loc, linear, constant(*exchanged));
  Type pointer = base.getType();
  if (linear) {
    if (linear.getType() != i64)
      linear = LLVM::SExtOp::create(rewriter, loc, i64, linear);
    base = LLVM::GEPOp::create(rewriter, loc, pointer, element, base, ArrayRef<LLVM::GEPArg>{linear});
  }
  if (int64_t offset = row.offset * width + column.offset)
    base = LLVM::GEPOp::create(rewriter, loc, pointer, element, base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return base;
}

LogicalResult heddle::flattenKernel(Operation *kernel) {
  MLIRContext *context = kernel->getContext();
  RewritePatternSet registers(context);
  vector::populateVectorFromElementsUnrollPatterns(registers);
  vector::populateVectorShapeCastLoweringPatterns(registers);
  walkAndApplyPatterns(kernel, std::move(registers));

  RewritePatternSet branches(context);
  populateSCFToControlFlowConversionPatterns(branches);
  ConversionTarget flat(*context);
  flat.addIllegalDialect<scf::SCFDialect>();
  flat.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  ConversionConfig config;
  config.foldingMode = DialectConversionFoldingMode::Never;
  return applyPartialConversion(kernel, flat, std::move(branches), config);
}

namespace {

template <typename Op> struct MatrixPattern : OpConversionPattern<Op> {
  MatrixPattern(const LLVMTypeConverter &converter, MLIRContext *context, VectorAlignment alignment)
      : OpConversionPattern<Op>(converter, context, /*benefit=*/2), alignment(alignment) {}

  unsigned alignmentOf(Type type) const {
    auto vector = dyn_cast<VectorType>(type);
    bool isWhole = vector && alignment == VectorAlignment::Whole;
    return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8 * (isWhole ? vector.getNumElements() : 1);
  }

  VectorAlignment alignment;
};

template <typename Op> struct LowerLoad : MatrixPattern<Op> {
  using MatrixPattern<Op>::MatrixPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = this->getTypeConverter()->convertType(op.getResult().getType());
    Value address =
        addressOf(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getOperands().front(), op.getIndices());
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, type, address, this->alignmentOf(type));
    return success();
  }
};

template <typename Op> struct LowerStore : MatrixPattern<Op> {
  using MatrixPattern<Op>::MatrixPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value value = adaptor.getOperands()[0];
    Value address = addressOf(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getOperands()[1], op.getIndices());
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, value, address, this->alignmentOf(value.getType()));
    return success();
  }
};

struct LowerMaskedLoad : MatrixPattern<vector::MaskedLoadOp> {
  using MatrixPattern::MatrixPattern;
  LogicalResult matchAndRewrite(vector::MaskedLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    Value address = addressOf(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getBase(), op.getIndices());
    rewriter.replaceOpWithNewOp<LLVM::MaskedLoadOp>(op, type, address, adaptor.getMask(), adaptor.getPassThru(),
                                                    alignmentOf(type));
    return success();
  }
};

struct LowerMaskedStore : MatrixPattern<vector::MaskedStoreOp> {
  using MatrixPattern::MatrixPattern;
  LogicalResult matchAndRewrite(vector::MaskedStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value value = adaptor.getValueToStore();
    Value address = addressOf(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getBase(), op.getIndices());
    rewriter.replaceOpWithNewOp<LLVM::MaskedStoreOp>(op, value, address, adaptor.getMask(),
                                                     alignmentOf(value.getType()));
    return success();
  }
};

LogicalResult lowerPrefetch(memref::PrefetchOp op, memref::PrefetchOp::Adaptor adaptor,
                            ConversionPatternRewriter &rewriter) {
  Value address = addressOf(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getMemref(), op.getIndices());
  rewriter.replaceOpWithNewOp<LLVM::Prefetch>(op, address, op.getIsWrite(), op.getLocalityHint(), op.getIsDataCache());
  return success();
}

/// Lowers the casts at the beginning of a kernel: from addresses to matrices, and from loaded sizes to indices.
LogicalResult lowerCast(UnrealizedConversionCastOp op, UnrealizedConversionCastOp::Adaptor adaptor,
                        ConversionPatternRewriter &rewriter) {
  rewriter.replaceOp(op, adaptor.getInputs());
  return success();
}

LogicalResult lowerReturn(tile::ReturnOp op, tile::ReturnOp::Adaptor, ConversionPatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
  return success();
}

} // namespace

void heddle::populateMatrixPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns,
                                    VectorAlignment alignment) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerLoad<memref::LoadOp>, LowerLoad<vector::LoadOp>, LowerStore<memref::StoreOp>,
               LowerStore<vector::StoreOp>>(converter, context, alignment);
  patterns.add<LowerMaskedLoad, LowerMaskedStore>(converter, context, alignment);
  addConversions(patterns, converter, /*benefit=*/2, lowerPrefetch, lowerCast, lowerReturn);
}
