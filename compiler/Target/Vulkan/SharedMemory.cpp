#include "compiler/Target/Vulkan/SharedMemory.h"

#include "compiler/Target/ConversionFunctions.h"
#include "compiler/Target/Vulkan/SpirvPatterns.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kVector = 4;

/// Marks an access as visible to other lanes. The memory model requires this for barriers to order it.
spirv::MemoryAccessAttr sharedAccess(MLIRContext *context) {
  return spirv::MemoryAccessAttr::get(context, spirv::MemoryAccess::NonPrivatePointer);
}

/// An element of shared memory.
struct Place {
  Place(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, Value base, ValueRange indices)
      : rewriter(rewriter), loc(loc), base(base) {
    SplitIndex split = linearize(rewriter, loc, matrix, indices);
    element = split.value ? split.value : number(0);
    constant = split.offset;
  }

  /// A pointer to the vector that begins with the element.
  Value vectorPointer() { return spirv::AccessChainOp::create(rewriter, loc, base, ValueRange{vectorOf(0)}); }
  /// A pointer to the element at `offset` from this one.
  Value pointer(int64_t offset) {
    Value inVector = spirv::BitwiseAndOp::create(rewriter, loc, add(element, inVectorOf(offset)), number(kVector - 1));
    return spirv::AccessChainOp::create(rewriter, loc, base, ValueRange{vectorOf(offset), inVector});
  }
  /// The index of the vector with the element at `offset`. Whole vectors of the constant part are added last, so that
  /// neighbouring accesses share the rest, and a driver can use the constant as an immediate.
  Value vectorOf(int64_t offset) {
    int64_t all = constant + offset, inVector = inVectorOf(offset);
    Value at = add(element, inVector), shift = number(llvm::Log2_64(kVector));
    Value vector = spirv::ShiftRightArithmeticOp::create(rewriter, loc, at.getType(), at, shift);
    return add(vector, (all - inVector) / kVector);
  }
  int64_t inVectorOf(int64_t offset) const { return ((constant + offset) % kVector + kVector) % kVector; }
  Value add(Value value, int64_t offset) {
    return offset ? spirv::IAddOp::create(rewriter, loc, value, number(offset)).getResult() : value;
  }
  Value number(int64_t value) { return integer(rewriter, loc, rewriter.getI32Type(), value); }

  ConversionPatternRewriter &rewriter;
  Location loc;
  Value base, element; // the element's index without the constant
  int64_t constant;
};

bool isWhole(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getNumElements() == kVector;
}

/// The number of elements of a scalar or vector.
int64_t countOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

template <typename Op> struct LowerSharedLoad : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!tile::isShared(op.getMemRefType()))
      return failure();
    Place place(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getOperands().front(), op.getIndices());
    Type type = this->getTypeConverter()->convertType(op.getResult().getType());
    auto load = [&](Value pointer) -> Value {
      return spirv::LoadOp::create(rewriter, op.getLoc(), pointer, sharedAccess(op.getContext()));
    };
    if (isWhole(type)) {
      rewriter.replaceOp(op, load(place.vectorPointer()));
      return success();
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < countOf(type); ++i)
      elements.push_back(load(place.pointer(i)));
    if (isa<VectorType>(type))
      rewriter.replaceOpWithNewOp<spirv::CompositeConstructOp>(op, type, elements);
    else
      rewriter.replaceOp(op, elements.front());
    return success();
  }
};

template <typename Op>
LogicalResult lowerSharedStore(Op op, typename Op::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  if (!tile::isShared(op.getMemRefType()))
    return failure();
  Value value = adaptor.getOperands()[0];
  Type type = value.getType();
  Place place(rewriter, op.getLoc(), op.getMemRefType(), adaptor.getOperands()[1], op.getIndices());
  auto store = [&](Value pointer, Value part) {
    spirv::StoreOp::create(rewriter, op.getLoc(), pointer, part, sharedAccess(op.getContext()), IntegerAttr());
  };
  if (isWhole(type))
    store(place.vectorPointer(), value);
  else
    for (int64_t i = 0; i < countOf(type); ++i)
      store(place.pointer(i),
            isa<VectorType>(type)
                ? spirv::CompositeExtractOp::create(rewriter, op.getLoc(), value, static_cast<int32_t>(i)).getResult()
                : value);
  rewriter.eraseOp(op);
  return success();
}

/// The row stride of a buffer, in vectors.
Value strideOf(ConversionPatternRewriter &rewriter, Location loc, MemRefType memory) {
  return integer(rewriter, loc, rewriter.getI32Type(), tile::getRowStride(memory) / kVector);
}

struct LowerMatrixLoad : OpConversionPattern<gpu::SubgroupMmaLoadMatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(gpu::SubgroupMmaLoadMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto memory = cast<MemRefType>(op.getSrcMemref().getType());
    Place place(rewriter, op.getLoc(), memory, adaptor.getSrcMemref(), op.getIndices());
    auto layout = op.getTranspose() ? spirv::CooperativeMatrixLayoutKHR::ColumnMajor
                                    : spirv::CooperativeMatrixLayoutKHR::RowMajor;
    rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixLoadOp>(
        op, getTypeConverter()->convertType(op.getType()), place.vectorPointer(),
        spirv::CooperativeMatrixLayoutKHRAttr::get(getContext(), layout), strideOf(rewriter, op.getLoc(), memory),
        sharedAccess(getContext()), IntegerAttr());
    return success();
  }
};

LogicalResult lowerMatrixStore(gpu::SubgroupMmaStoreMatrixOp op, gpu::SubgroupMmaStoreMatrixOp::Adaptor adaptor,
                               ConversionPatternRewriter &rewriter) {
  auto memory = cast<MemRefType>(op.getDstMemref().getType());
  Place place(rewriter, op.getLoc(), memory, adaptor.getDstMemref(), op.getIndices());
  auto layout =
      spirv::CooperativeMatrixLayoutKHRAttr::get(op.getContext(), spirv::CooperativeMatrixLayoutKHR::RowMajor);
  rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixStoreOp>(op, place.vectorPointer(), adaptor.getSrc(), layout,
                                                                  strideOf(rewriter, op.getLoc(), memory),
                                                                  sharedAccess(op.getContext()), IntegerAttr());
  return success();
}

/// After the barrier, all lanes of the workgroup see what any of them wrote to shared memory before it.
LogicalResult lowerBarrier(gpu::BarrierOp op, gpu::BarrierOp::Adaptor, ConversionPatternRewriter &rewriter) {
  using Semantics = spirv::MemorySemantics;
  rewriter.replaceOpWithNewOp<spirv::ControlBarrierOp>(op, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
                                                       Semantics::AcquireRelease | Semantics::WorkgroupMemory |
                                                           Semantics::MakeAvailable | Semantics::MakeVisible);
  return success();
}

LogicalResult lowerSubgroupId(gpu::SubgroupIdOp op, gpu::SubgroupIdOp::Adaptor, ConversionPatternRewriter &rewriter) {
  rewriter.replaceOp(op,
                     spirv::getBuiltinVariableValue(op, spirv::BuiltIn::SubgroupId, rewriter.getI32Type(), rewriter));
  return success();
}

} // namespace

spirv::PointerType heddle::getSharedPointer(MemRefType matrix) {
  Type number = matrix.getElementType(); // bf16 is held as f32, as in registers
  auto element = VectorType::get({kVector}, number.isBF16() ? Float32Type::get(number.getContext()) : number);
  int64_t count = llvm::divideCeil(matrix.getDimSize(0) * tile::getRowStride(matrix), kVector);
  return spirv::PointerType::get(spirv::ArrayType::get(element, static_cast<unsigned>(count)),
                                 spirv::StorageClass::Workgroup);
}

void heddle::declareShared(spirv::FuncOp main) {
  OpBuilder b(main);
  for (auto [number, op] : llvm::enumerate(llvm::to_vector(main.getOps<tile::SharedOp>()))) {
    b.setInsertionPoint(main);
    MemRefType type = op.getResult().getType();
    auto variable =
        spirv::GlobalVariableOp::create(b, op.getLoc(), getSharedPointer(type), ("shared_" + Twine(number)).str());
    b.setInsertionPoint(op);
    Value address = spirv::AddressOfOp::create(b, op.getLoc(), variable);
    op.getResult().replaceAllUsesWith(UnrealizedConversionCastOp::create(b, op.getLoc(), type, address).getResult(0));
    op.erase();
  }
}

void heddle::populateSharedPatterns(SPIRVTypeConverter &converter, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  // These replace MLIR's patterns for loads and stores of cooperative matrices, which expect storage buffers.
  populateMMAToSPIRVCoopMatrixTypeConversion(converter);
  populateGpuWMMAToSPIRVCoopMatrixKHRConversionPatterns(converter, patterns);
  patterns.add<LowerMatrixLoad>(converter, context, /*benefit=*/2);
  addConversions(patterns, converter, /*benefit=*/2, lowerMatrixStore);
  patterns.add<LowerSharedLoad<memref::LoadOp>, LowerSharedLoad<vector::LoadOp>>(converter, context, /*benefit=*/3);
  addConversions(patterns, converter, /*benefit=*/3, lowerSharedStore<memref::StoreOp>,
                 lowerSharedStore<vector::StoreOp>);
  addConversions(patterns, converter, /*benefit=*/1, lowerBarrier, lowerSubgroupId);
}
