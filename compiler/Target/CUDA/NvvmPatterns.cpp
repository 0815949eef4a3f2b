#include "compiler/Target/CUDA/NvvmPatterns.h"

#include "compiler/Target/ConversionFunctions.h"
#include "compiler/Target/LlvmPatterns.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr auto kGlobalMemory = static_cast<unsigned>(NVVM::NVVMMemorySpace::Global);

//===-- Shared memory -------------------------------------------------------------------------------------------===//

/// A kernel's shared memory is one array, whose size the launch decides. Each tile.shared is a part of it.
LogicalResult lowerShared(tile::SharedOp op, tile::SharedOp::Adaptor, ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(op.getContext(), kSharedMemory);
  Value base = LLVM::AddressOfOp::create(rewriter, loc, pointer, kSharedMemoryName);
  auto offset = op->getAttrOfType<IntegerAttr>(kSharedOffsetName);
  rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, pointer, rewriter.getI8Type(), base,
                                           ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset.getInt())});
  return success();
}

/// The address of a shared-memory buffer as an i32, for wgmma descriptors.
LogicalResult lowerSharedAddress(memref::ExtractAlignedPointerAsIndexOp op,
                                 memref::ExtractAlignedPointerAsIndexOp::Adaptor adaptor,
                                 ConversionPatternRewriter &rewriter) {
  if (!tile::isShared(op.getSource().getType()))
    return rewriter.notifyMatchFailure(op, "addresses of device memory have 64 bits");
  rewriter.replaceOpWithNewOp<LLVM::PtrToIntOp>(op, rewriter.getI32Type(), adaptor.getSource());
  return success();
}

struct LowerLdMatrix : OpConversionPattern<nvgpu::LdMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(nvgpu::LdMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    auto vector = cast<VectorType>(op.getRes().getType());
    auto memory = cast<MemRefType>(op.getSrcMemref().getType());
    Value address = addressOf(rewriter, loc, memory, adaptor.getSrcMemref(), op.getIndices());
    uint32_t count = op.getNumTiles();
    SmallVector<Type> words(count, i32);
    auto shape = NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8);
    Value loaded = NVVM::LdMatrixOp::create(
        rewriter, loc, count == 1 ? i32 : Type(LLVM::LLVMStructType::getLiteral(getContext(), words)), address, count,
        op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape, NVVM::LdStMatrixEltType::B16);
    auto piece = VectorType::get({vector.getDimSize(1)}, vector.getElementType());
    Value result = LLVM::PoisonOp::create(rewriter, loc, getTypeConverter()->convertType(vector));
    for (uint32_t i = 0; i < count; ++i) {
      Value word = count == 1 ? loaded : LLVM::ExtractValueOp::create(rewriter, loc, loaded, i).getResult();
      result =
          LLVM::InsertValueOp::create(rewriter, loc, result, LLVM::BitcastOp::create(rewriter, loc, piece, word), i);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

LogicalResult lowerAsyncCopy(nvgpu::DeviceAsyncCopyOp op, nvgpu::DeviceAsyncCopyOp::Adaptor adaptor,
                             ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  auto from = cast<MemRefType>(op.getSrc().getType()), to = cast<MemRefType>(op.getDst().getType());
  Value source = addressOf(rewriter, loc, from, adaptor.getSrc(), op.getSrcIndices());
  Value target = addressOf(rewriter, loc, to, adaptor.getDst(), op.getDstIndices());
  int64_t elementBytes = to.getElementTypeBitWidth() / 8;
  Value bytes;
  if (Value elements = adaptor.getSrcElements())
    bytes = LLVM::MulOp::create(rewriter, loc, elements, llvmNumber(rewriter, loc, elements.getType(), elementBytes));
  auto size = static_cast<uint32_t>(op.getDstElements().getZExtValue() * elementBytes);
  auto cache = op.getBypassL1() ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(rewriter, loc, target, source, size, cache, bytes);
  rewriter.eraseOp(op);
  return success();
}

/// MLIR's own pattern neither supports bf16 nor rounds to tf32.
LogicalResult lowerMmaSync(nvgpu::MmaSyncOp op, nvgpu::MmaSyncOp::Adaptor adaptor,
                           ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  Type element = cast<VectorType>(op.getMatrixA().getType()).getElementType();
  if (!element.isBF16() && !element.isF16() && !element.isF32())
    return rewriter.notifyMatchFailure(op, "only operands of 16 bits and of f32 are lowered");
  // The instruction takes each pair of bf16 as an i32, each tf32 as an i32, and each accumulator by itself.
  auto words = [&](Value registers) {
    auto array = cast<LLVM::LLVMArrayType>(registers.getType());
    SmallVector<Value> parts;
    for (unsigned i = 0; i < array.getNumElements(); ++i) {
      Value part = LLVM::ExtractValueOp::create(rewriter, loc, registers, i);
      if (element.isBF16())
        part = LLVM::BitcastOp::create(rewriter, loc, rewriter.getI32Type(), part);
      else if (element.isF32())
        part = NVVM::ConvertFloatToTF32Op::create(
            rewriter, loc, rewriter.getI32Type(),
            LLVM::ExtractElementOp::create(rewriter, loc, part, llvmNumber(rewriter, loc, rewriter.getI32Type(), 0)),
            NVVM::FPRoundingMode::RNA);
      parts.push_back(part);
    }
    return parts;
  };
  Value c = adaptor.getMatrixC();
  SmallVector<Value> sums;
  for (int64_t i : {0, 1})
    for (int64_t j : {0, 1})
      sums.push_back(LLVM::ExtractElementOp::create(rewriter, loc, LLVM::ExtractValueOp::create(rewriter, loc, c, i),
                                                    llvmNumber(rewriter, loc, rewriter.getI32Type(), j)));
  NVVM::MMATypes type = element.isBF16()  ? NVVM::MMATypes::bf16
                        : element.isF16() ? NVVM::MMATypes::f16
                                          : NVVM::MMATypes::tf32;
  auto result = LLVM::LLVMStructType::getLiteral(op.getContext(), SmallVector<Type>(4, rewriter.getF32Type()));
  auto shape = llvm::to_vector(op.getMmaShapeAsArray());
  Value sum = NVVM::MmaOp::create(rewriter, loc, result, words(adaptor.getMatrixA()), words(adaptor.getMatrixB()), sums,
                                  shape, std::nullopt, std::nullopt, std::array{type, type},
                                  std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Value registers = LLVM::PoisonOp::create(rewriter, loc, c.getType());
  for (int64_t i : {0, 1}) {
    Value pair = LLVM::PoisonOp::create(rewriter, loc, cast<LLVM::LLVMArrayType>(c.getType()).getElementType());
    for (int64_t j : {0, 1})
      pair = LLVM::InsertElementOp::create(rewriter, loc, pair,
                                           LLVM::ExtractValueOp::create(rewriter, loc, sum, 2 * i + j),
                                           llvmNumber(rewriter, loc, rewriter.getI32Type(), j));
    registers = LLVM::InsertValueOp::create(rewriter, loc, registers, pair, i);
  }
  rewriter.replaceOp(op, registers);
  return success();
}

LogicalResult lowerBarrier(gpu::BarrierOp op, gpu::BarrierOp::Adaptor, ConversionPatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
  return success();
}

/// Lowers `math.exp2` with `afn` to ex2.approx.ftz. LLVM's own lowering keeps denormal results, which takes three more
/// instructions.
LogicalResult lowerExp2(math::Exp2Op op, math::Exp2Op::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn) || !getElementTypeOrSelf(op).isF32())
    return failure();
  Location loc = op.getLoc();
  auto power = [&](Value x) -> Value {
    return LLVM::CallIntrinsicOp::create(rewriter, loc, x.getType(), rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz"),
                                         x)
        .getResult(0);
  };
  Value x = adaptor.getOperand();
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector) {
    rewriter.replaceOp(op, power(x));
    return success();
  }
  Value result = LLVM::PoisonOp::create(rewriter, loc, vector);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value place = llvmNumber(rewriter, loc, rewriter.getI32Type(), i);
    result = LLVM::InsertElementOp::create(rewriter, loc, result,
                                           power(LLVM::ExtractElementOp::create(rewriter, loc, x, place)), place);
  }
  rewriter.replaceOp(op, result);
  return success();
}

//===-- Lanes ---------------------------------------------------------------------------------------------------===//

/// The id of a workgroup or lane along one dimension, or the number of workgroups.
template <typename Op, typename X, typename Y, typename Z>
LogicalResult lowerId(Op op, typename Op::Adaptor, ConversionPatternRewriter &rewriter) {
  Type i32 = rewriter.getI32Type();
  switch (op.getDimension()) {
  case gpu::Dimension::x:
    rewriter.replaceOpWithNewOp<X>(op, i32);
    break;
  case gpu::Dimension::y:
    rewriter.replaceOpWithNewOp<Y>(op, i32);
    break;
  case gpu::Dimension::z:
    rewriter.replaceOpWithNewOp<Z>(op, i32);
    break;
  }
  return success();
}

LogicalResult lowerShuffle(gpu::ShuffleOp op, gpu::ShuffleOp::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  NVVM::ShflKind kind;
  if (op.getMode() == gpu::ShuffleMode::XOR)
    kind = NVVM::ShflKind::bfly;
  else if (op.getMode() == gpu::ShuffleMode::IDX)
    kind = NVVM::ShflKind::idx;
  else
    return rewriter.notifyMatchFailure(op, "only exchanges across a distance and from a lane are lowered");
  Location loc = op.getLoc();
  Type i32 = rewriter.getI32Type();
  // All lanes of a warp take part, because control flow is uniform.
  Value everyLane = llvmNumber(rewriter, loc, i32, -1),
        last = llvmNumber(rewriter, loc, i32, tile::FragmentAttr::kLanes - 1);
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(rewriter, loc, word.getType(), everyLane, word, adaptor.getOffset(), last, kind,
                                UnitAttr());
  };
  // Shuffles exchange 32 bits: a 32-bit number, two 16-bit numbers, or one zero-extended 16-bit number.
  Value value = adaptor.getValue();
  Type type = value.getType();
  auto vectorType = dyn_cast<VectorType>(type);
  bool isHalf = getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 16;
  if (isHalf && vectorType) {
    value = LLVM::BitcastOp::create(rewriter, loc, VectorType::get({vectorType.getNumElements() / 2}, i32), value);
  } else if (isHalf) {
    value = LLVM::BitcastOp::create(rewriter, loc, rewriter.getI16Type(), value);
    value = LLVM::ZExtOp::create(rewriter, loc, i32, value);
  }
  Value result = value;
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value place = llvmNumber(rewriter, loc, i32, i);
      Value word = exchange(LLVM::ExtractElementOp::create(rewriter, loc, value, place));
      result = LLVM::InsertElementOp::create(rewriter, loc, result, word, place);
    }
  } else {
    result = exchange(value);
  }
  if (isHalf && !vectorType)
    result = LLVM::TruncOp::create(rewriter, loc, rewriter.getI16Type(), result);
  if (isHalf)
    result = LLVM::BitcastOp::create(rewriter, loc, type, result);
  rewriter.replaceOp(op, {result, llvmNumber(rewriter, loc, rewriter.getI1Type(), 1)});
  return success();
}

} // namespace

LLVM::LLVMPointerType heddle::getGlobalPointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, kGlobalMemory);
}

void heddle::addMatrixConversion(LLVMTypeConverter &converter) {
  converter.addConversion([](MemRefType type) -> Type {
    if (tile::isShared(type))
      return LLVM::LLVMPointerType::get(type.getContext(), kSharedMemory);
    return getGlobalPointer(type.getContext());
  });
}

void heddle::populateKernelPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  populateMatrixPatterns(converter, patterns, VectorAlignment::Whole);
  addConversions(patterns, converter, /*benefit=*/2,
                 lowerId<gpu::BlockIdOp, NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>,
                 lowerId<gpu::GridDimOp, NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>,
                 lowerId<gpu::ThreadIdOp, NVVM::ThreadIdXOp, NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>, lowerShuffle,
                 lowerShared, lowerSharedAddress, lowerAsyncCopy, lowerMmaSync, lowerBarrier, lowerExp2);
  patterns.add<LowerLdMatrix>(converter, patterns.getContext(), /*benefit=*/2);
}
