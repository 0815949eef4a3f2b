#include "compiler/Target/Vulkan/SpirvPatterns.h"

#include "compiler/Target/ConversionFunctions.h"
#include "compiler/Target/Vulkan/SharedMemory.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

int64_t elementsOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

int64_t bytesOf(Type type) { return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8 * elementsOf(type); }

spirv::PointerType pointerTo(Type type) {
  return spirv::PointerType::get(type, spirv::StorageClass::PhysicalStorageBuffer);
}

spirv::MemoryAccessAttr aligned(OpBuilder &builder) {
  return spirv::MemoryAccessAttr::get(builder.getContext(), spirv::MemoryAccess::Aligned);
}

IntegerAttr alignmentOf(OpBuilder &builder, Type type) {
  return builder.getI32IntegerAttr(static_cast<int32_t>(bytesOf(type)));
}

/// A pointer to the element `index` elements after `base`.
Value elementAt(OpBuilder &builder, Location loc, Value base, Value index) {
  Value first = integer(builder, loc, builder.getI32Type(), 0);
  return spirv::AccessChainOp::create(builder, loc, base, ValueRange{first, index});
}

Value castTo(OpBuilder &builder, Location loc, Type pointer, Value value) {
  return value.getType() == pointer ? value : spirv::BitcastOp::create(builder, loc, pointer, value).getResult();
}

/// A pointer to a value of type `type` in a matrix. The constant part of the index is added by an access chain of its
/// own, after the rest, so that neighbouring accesses share the rest.
Value placeOf(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, Type type, Value base,
              ValueRange indices) {
  SplitIndex element = linearize(rewriter, loc, matrix, indices);
  auto constant = [&](int64_t value) { return integer(rewriter, loc, rewriter.getI32Type(), value); };
  Value place = element.value ? elementAt(rewriter, loc, base, element.value) : base;
  if (element.offset || !element.value) {
    // Index by the accessed type if the constant is a multiple of its size.
    Type single = inMemory(matrix.getElementType());
    int64_t elements = bytesOf(type) / bytesOf(single);
    bool whole = element.offset % elements == 0;
    place = elementAt(rewriter, loc, castTo(rewriter, loc, getArrayPointer(whole ? type : single), place),
                      constant(element.offset / (whole ? elements : 1)));
  }
  return castTo(rewriter, loc, pointerTo(type), place);
}

/// The index of the texel that holds an element. A texel has `floats` elements, and vectors start at multiples of that.
/// If the constant part of the index is such a multiple, so is the rest.
Value texelOf(OpBuilder &builder, Location loc, SplitIndex element, int64_t floats) {
  Type i32 = builder.getI32Type();
  if (!element.value)
    return integer(builder, loc, i32, element.offset / floats);
  bool whole = element.offset % floats == 0;
  if (!whole)
    element.value = spirv::IAddOp::create(builder, loc, element.value, integer(builder, loc, i32, element.offset));
  Value texel = element.value;
  if (floats > 1)
    texel = spirv::ShiftRightArithmeticOp::create(builder, loc, i32, texel,
                                                  integer(builder, loc, i32, llvm::Log2_64(floats)));
  if (whole && element.offset)
    texel = spirv::IAddOp::create(builder, loc, texel, integer(builder, loc, i32, element.offset / floats));
  return texel;
}

/// Loads from a matrix that is bound as a texel buffer; see bindTexels. A fetch returns four f32. The first `floats` of
/// them are the texel.
template <typename LoadOp> struct LowerTexelLoad : OpConversionPattern<LoadOp> {
  LowerTexelLoad(const TypeConverter &converter, MLIRContext *context, int64_t floats)
      : OpConversionPattern<LoadOp>(converter, context, /*benefit=*/3), floats(floats) {}

  LogicalResult matchAndRewrite(LoadOp op, typename OpConversionPattern<LoadOp>::OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value matrix = op->getOperand(0);
    auto cast = matrix.getDefiningOp<UnrealizedConversionCastOp>();
    if (!cast || !isa<spirv::ImageType>(cast.getInputs().front().getType()))
      return failure();
    Location loc = op.getLoc();
    Type type = op->getResult(0).getType(), f32 = rewriter.getF32Type();
    SplitIndex element = linearize(rewriter, loc, mlir::cast<MemRefType>(matrix.getType()), op.getIndices());
    Value texel =
        spirv::ImageFetchOp::create(rewriter, loc, VectorType::get({4}, f32), cast.getInputs().front(),
                                    texelOf(rewriter, loc, element, floats), spirv::ImageOperandsAttr(), ValueRange());
    auto component = [&](int32_t i) { return spirv::CompositeExtractOp::create(rewriter, loc, texel, i).getResult(); };
    Value loaded = texel;
    if (isa<VectorType>(type) && floats == 2)
      loaded = spirv::CompositeConstructOp::create(rewriter, loc, VectorType::get({2}, f32),
                                                   ValueRange{component(0), component(1)});
    else if (!isa<VectorType>(type))
      loaded = floats == 1 ? component(0) : selectComponent(rewriter, loc, element, component(0), component(1));
    if (!getElementTypeOrSelf(type).isF32())
      loaded = spirv::BitcastOp::create(rewriter, loc, type, loaded);
    rewriter.replaceOp(op, loaded);
    return success();
  }

private:
  /// Selects the element from a texel of two.
  static Value selectComponent(OpBuilder &builder, Location loc, SplitIndex element, Value even, Value odd) {
    if (!element.value)
      return element.offset % 2 ? odd : even;
    if (element.offset % 2)
      std::swap(even, odd);
    Type i32 = builder.getI32Type();
    Value bit = spirv::BitwiseAndOp::create(builder, loc, element.value, integer(builder, loc, i32, 1));
    Value isEven = spirv::IEqualOp::create(builder, loc, bit, integer(builder, loc, i32, 0));
    return spirv::SelectOp::create(builder, loc, isEven, even, odd);
  }

  int64_t floats;
};

/// `type` with another element type: a vector of the same shape, or the element type itself for a scalar.
Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(element) : element;
}

/// An integer constant; a splat if `type` is a vector.
Value wholes(OpBuilder &builder, Location loc, Type type, uint32_t value) {
  auto number = builder.getI32IntegerAttr(static_cast<int32_t>(value));
  auto vector = dyn_cast<VectorType>(type);
  return spirv::ConstantOp::create(builder, loc, type,
                                   vector ? TypedAttr(DenseElementsAttr::get(vector, number.getValue())) : number);
}

/// Converts bf16 from its form in memory to registers. Registers hold bf16 as f32 with zero lower bits; memory has only
/// the upper 16 bits. An even number of elements is loaded as 32-bit words, with the first element of each pair in the
/// lower half, because on lavapipe a 16-bit load takes as long as a 32-bit load.
Value fromMemory(OpBuilder &builder, Location loc, Value stored, Type floats) {
  Type words = withElement(floats, builder.getI32Type());
  auto up = [&](Value value) -> Value {
    return spirv::ShiftLeftLogicalOp::create(builder, loc, value.getType(), value,
                                             wholes(builder, loc, value.getType(), 16));
  };
  if (getElementTypeOrSelf(stored).isInteger(16))
    return spirv::BitcastOp::create(builder, loc, floats, up(spirv::UConvertOp::create(builder, loc, words, stored)));
  Value first = up(stored);
  Value second = spirv::BitwiseAndOp::create(builder, loc, stored, wholes(builder, loc, stored.getType(), 0xFFFF0000));
  SmallVector<Value> elements;
  for (int32_t pair = 0; pair < elementsOf(words) / 2; ++pair)
    for (Value half : {first, second})
      elements.push_back(isa<VectorType>(half.getType())
                             ? spirv::CompositeExtractOp::create(builder, loc, half, pair).getResult()
                             : half);
  return spirv::BitcastOp::create(builder, loc, floats,
                                  spirv::CompositeConstructOp::create(builder, loc, words, elements));
}

Value toMemory(OpBuilder &builder, Location loc, Value floats, Type stored) {
  Type words = withElement(floats.getType(), builder.getI32Type());
  Value bits = spirv::BitcastOp::create(builder, loc, words, floats);
  Value down = spirv::ShiftRightLogicalOp::create(builder, loc, words, bits, wholes(builder, loc, words, 16));
  if (getElementTypeOrSelf(stored).isInteger(16))
    return spirv::UConvertOp::create(builder, loc, stored, down);
  SmallVector<Value> pairs;
  for (int32_t pair = 0; pair < elementsOf(stored); ++pair)
    pairs.push_back(spirv::BitwiseOrOp::create(builder, loc,
                                               spirv::CompositeExtractOp::create(builder, loc, down, 2 * pair),
                                               spirv::CompositeExtractOp::create(builder, loc, bits, 2 * pair + 1)));
  return pairs.size() == 1 ? pairs.front()
                           : spirv::CompositeConstructOp::create(builder, loc, stored, pairs).getResult();
}

template <typename Op>
LogicalResult lowerLoad(Op op, typename Op::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  Type type = inMemory(op.getResult().getType());
  Value place =
      placeOf(rewriter, op.getLoc(), op.getMemRefType(), type, adaptor.getOperands().front(), op.getIndices());
  Value loaded = spirv::LoadOp::create(rewriter, op.getLoc(), place, aligned(rewriter), alignmentOf(rewriter, type));
  bool isNarrow = getElementTypeOrSelf(op.getResult().getType()).isBF16();
  rewriter.replaceOp(op, isNarrow ? fromMemory(rewriter, op.getLoc(), loaded,
                                               withElement(op.getResult().getType(), rewriter.getF32Type()))
                                  : loaded);
  return success();
}

template <typename Op>
LogicalResult lowerStore(Op op, typename Op::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  Value value = adaptor.getOperands()[0];
  Location loc = op.getLoc();
  if (Type narrow = op->getOperand(0).getType(); getElementTypeOrSelf(narrow).isBF16())
    value = toMemory(rewriter, loc, value, inMemory(narrow));
  Type type = value.getType();
  Value place = placeOf(rewriter, loc, op.getMemRefType(), type, adaptor.getOperands()[1], op.getIndices());
  spirv::StoreOp::create(rewriter, loc, place, value, aligned(rewriter), alignmentOf(rewriter, type));
  rewriter.eraseOp(op);
  return success();
}

template <typename Op> struct LowerId : OpConversionPattern<Op> {
  LowerId(const TypeConverter &converter, MLIRContext *context, spirv::BuiltIn builtin)
      : OpConversionPattern<Op>(converter, context), builtin(builtin) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor, ConversionPatternRewriter &rewriter) const override {
    Type i32 = rewriter.getI32Type();
    Value id = spirv::getBuiltinVariableValue(op, builtin, i32, rewriter);
    if (isa<VectorType>(id.getType()))
      id = spirv::CompositeExtractOp::create(rewriter, op.getLoc(), id,
                                             ArrayRef<int32_t>{static_cast<int32_t>(op.getDimension())});
    rewriter.replaceOp(op, id);
    return success();
  }

  spirv::BuiltIn builtin;
};

/// Numbers lanes across subgroups. All subgroups are full. They may be wider than the group of lanes that exchange
/// values.
LogicalResult numberAcrossSubgroups(gpu::ThreadIdOp op, gpu::ThreadIdOp::Adaptor, ConversionPatternRewriter &rewriter) {
  auto builtin = [&](spirv::BuiltIn which) {
    return spirv::getBuiltinVariableValue(op, which, rewriter.getI32Type(), rewriter);
  };
  Value subgroup = builtin(spirv::BuiltIn::SubgroupId), width = builtin(spirv::BuiltIn::SubgroupSize);
  Value before = spirv::IMulOp::create(rewriter, op.getLoc(), subgroup, width);
  rewriter.replaceOpWithNewOp<spirv::IAddOp>(op, before, builtin(spirv::BuiltIn::SubgroupLocalInvocationId));
  return success();
}

LogicalResult lowerShuffle(gpu::ShuffleOp op, gpu::ShuffleOp::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  spirv::Scope scope = spirv::Scope::Subgroup;
  Value value = adaptor.getValue(), result;
  // For a constant lane a broadcast would be more specific. But lavapipe then looks for the first active lane in a
  // loop, which takes 17 ns. A shuffle takes 0.4 ns: one permutation of a vector register.
  if (op.getMode() == gpu::ShuffleMode::XOR)
    result = spirv::GroupNonUniformShuffleXorOp::create(rewriter, loc, scope, value, adaptor.getOffset());
  else if (op.getMode() == gpu::ShuffleMode::IDX)
    result = spirv::GroupNonUniformShuffleOp::create(rewriter, loc, scope, value, adaptor.getOffset());
  else
    return rewriter.notifyMatchFailure(op, "only exchanges across a distance and from a lane are lowered");
  rewriter.replaceOp(op, {result, spirv::ConstantOp::getOne(rewriter.getI1Type(), loc, rewriter)});
  return success();
}

/// Returns true for loops that drivers must not unroll: with more than 8 iterations or, unless lanes meet in them, a long
/// body. Without a hint drivers unroll loops and run out of registers, because they put all loads first. A long body has
/// nothing to gain: the counter and the branch are a small part of it. Loops in which lanes meet are steps of matmuls,
/// which pass a step's operands to the next in registers. By the estimates of AMD's compiler they take a tenth longer if
/// they are not unrolled.
bool mustStay(scf::ForOp op) {
  constexpr int64_t mostTrips = 8, mostOps = 128;
  std::optional<llvm::APInt> trips = op.getStaticTripCount();
  if (!trips)
    return false; // drivers do not unroll these
  int64_t ops = 0;
  bool isMeeting = false;
  op.getBody()->walk([&](Operation *inner) {
    ++ops;
    isMeeting |= isa<gpu::BarrierOp>(inner);
  });
  return trips->sgt(mostTrips) || (ops > mostOps && !isMeeting);
}

/// Lowers a loop whose results are its header's arguments when the condition fails. MLIR's own pattern stores all loop
/// state to variables in every iteration, which lavapipe copies each time: a 768^3 matmul took twice as long.
struct LowerFor : OpConversionPattern<scf::ForOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(scf::ForOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op.getResultTypes(), types)))
      return failure();
    auto loop = spirv::LoopOp::create(rewriter, loc, types,
                                      mustStay(op) ? spirv::LoopControl::DontUnroll : spirv::LoopControl::None);
    OpBuilder::InsertionGuard guard(rewriter);
    loop.addEntryAndMergeBlock(rewriter);
    Block *merge = loop.getMergeBlock();

    SmallVector<Value> initial{adaptor.getLowerBound()};
    llvm::append_range(initial, adaptor.getInitArgs());
    SmallVector<Type> stateTypes{rewriter.getI32Type()};
    llvm::append_range(stateTypes, types);
    Block *header = rewriter.createBlock(merge, stateTypes, SmallVector<Location>(stateTypes.size(), loc));
    TypeConverter::SignatureConversion state(header->getNumArguments());
    for (BlockArgument argument : header->getArguments())
      state.remapInput(argument.getArgNumber(), argument);
    Block *body = rewriter.applySignatureConversion(op.getBody(), state, getTypeConverter());
    rewriter.inlineRegionBefore(op.getRegion(), merge);

    rewriter.setInsertionPointToEnd(loop.getEntryBlock());
    spirv::BranchOp::create(rewriter, loc, header, initial);
    rewriter.setInsertionPointToEnd(header);
    Value counter = header->getArgument(0);
    Value more = spirv::SLessThanOp::create(rewriter, loc, counter, adaptor.getUpperBound());
    spirv::BranchConditionalOp::create(rewriter, loc, more, body, ArrayRef<Value>(), merge, ArrayRef<Value>());
    Operation *yield = body->getTerminator();
    rewriter.setInsertionPoint(yield);
    Value next = spirv::IAddOp::create(rewriter, loc, counter, adaptor.getStep());
    rewriter.modifyOpInPlace(yield, [&] { yield->insertOperands(0, next); }); // see lowerYield
    Operation *result = merge->getTerminator();
    rewriter.modifyOpInPlace(result, [&] { result->setOperands(header->getArguments().drop_front()); });
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }
};

/// Lowers the end of a loop's body. LowerFor has inserted the next induction variable as its first operand.
LogicalResult lowerYield(scf::YieldOp op, scf::YieldOp::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  auto loop = dyn_cast<spirv::LoopOp>(op->getParentOp());
  if (!loop)
    return failure();
  // MLIR's serializer does not find the result of an inner loop when it completes the header's phis. As a workaround
  // the result goes through a select between itself and itself, or a cooperative matrix through a multiplication by
  // 1.
  SmallVector<Value> next(adaptor.getOperands());
  for (auto [value, original] : llvm::zip(next, op.getOperands()))
    if (original.getDefiningOp<scf::ForOp>() || original.getDefiningOp<spirv::LoopOp>()) {
      auto matrix = dyn_cast<spirv::CooperativeMatrixType>(value.getType());
      Value one =
          spirv::ConstantOp::getOne(matrix ? matrix.getElementType() : rewriter.getI1Type(), op.getLoc(), rewriter);
      value = matrix ? spirv::MatrixTimesScalarOp::create(rewriter, op.getLoc(), matrix, value, one).getResult()
                     : spirv::SelectOp::create(rewriter, op.getLoc(), one, value, value).getResult();
    }
  rewriter.replaceOpWithNewOp<spirv::BranchOp>(op, loop.getHeaderBlock(), next);
  return success();
}

/// Rounds to bf16, to nearest even, and keeps the result as f32.
LogicalResult lowerRounding(arith::TruncFOp op, arith::TruncFOp::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isBF16())
    return failure();
  Location loc = op.getLoc();
  Type floats = adaptor.getIn().getType(), words = withElement(floats, rewriter.getI32Type());
  auto number = [&](uint32_t value) { return wholes(rewriter, loc, words, value); };
  Value bits = spirv::BitcastOp::create(rewriter, loc, words, adaptor.getIn());
  Value last = spirv::BitwiseAndOp::create(
      rewriter, loc, spirv::ShiftRightLogicalOp::create(rewriter, loc, words, bits, number(16)), number(1));
  Value sum = spirv::IAddOp::create(rewriter, loc, spirv::IAddOp::create(rewriter, loc, bits, number(0x7FFF)), last);
  Value rounded = spirv::BitwiseAndOp::create(rewriter, loc, sum, number(0xFFFF0000));
  Value size = spirv::BitwiseAndOp::create(rewriter, loc, bits, number(0x7FFFFFFF));
  Value isNumber = spirv::ULessThanEqualOp::create(rewriter, loc, size, number(0x7F800000));
  Value none = spirv::BitwiseOrOp::create(rewriter, loc, bits, number(0x00400000)); // NaN even without its lower half
  Value result = spirv::SelectOp::create(rewriter, loc, isNumber, rounded, none);
  rewriter.replaceOpWithNewOp<spirv::BitcastOp>(op, floats, result);
  return success();
}

/// Rounds to f16. Mesa 25 would remove the conversion to f16 and back if nothing said that it has to be exact.
LogicalResult lowerRoundingToHalf(arith::TruncFOp op, arith::TruncFOp::Adaptor adaptor,
                                  ConversionPatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isF16())
    return failure();
  Type halves = withElement(adaptor.getIn().getType(), rewriter.getF16Type());
  auto rounded = rewriter.replaceOpWithNewOp<spirv::FConvertOp>(op, halves, adaptor.getIn());
  rounded->setAttr("no_contraction", rewriter.getUnitAttr());
  return success();
}

LogicalResult lowerWidening(arith::ExtFOp op, arith::ExtFOp::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getIn().getType()).isBF16())
    return failure();
  rewriter.replaceOp(op, adaptor.getIn());
  return success();
}

struct LowerConstantBF16 : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    APFloat value = elements ? elements.getSplatValue<APFloat>() : cast<FloatAttr>(op.getValue()).getValue();
    FloatAttr number = rewriter.getF32FloatAttr(value.convertToFloat());
    Type type = getTypeConverter()->convertType(op.getType());
    auto vector = dyn_cast<VectorType>(type);
    rewriter.replaceOpWithNewOp<spirv::ConstantOp>(
        op, type, vector ? TypedAttr(DenseElementsAttr::get(vector, number.getValue())) : TypedAttr(number));
    return success();
  }
};

/// MLIR lowers only exp.
LogicalResult lowerExp2(math::Exp2Op op, math::Exp2Op::Adaptor adaptor, ConversionPatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<spirv::GLExp2Op>(op, adaptor.getOperand());
  return success();
}

/// Lowers the casts at the beginning of a kernel: from pointers to matrices, and from loaded sizes to indices.
LogicalResult lowerCast(UnrealizedConversionCastOp op, UnrealizedConversionCastOp::Adaptor adaptor,
                        ConversionPatternRewriter &rewriter) {
  rewriter.replaceOp(op, adaptor.getInputs());
  return success();
}

LogicalResult lowerReturn(tile::ReturnOp op, tile::ReturnOp::Adaptor, ConversionPatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<spirv::ReturnOp>(op);
  return success();
}

} // namespace

Value heddle::integer(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return spirv::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

SplitIndex heddle::linearize(ConversionPatternRewriter &rewriter, Location loc, MemRefType matrix, ValueRange indices) {
  int64_t width = tile::getRowStride(matrix);
  SplitIndex row = SplitIndex::of(indices[0], rewriter), column = SplitIndex::of(indices[1], rewriter);
  Value linear = row.value;
  if (linear && width != 1)
    linear = spirv::IMulOp::create(rewriter, loc, linear, integer(rewriter, loc, rewriter.getI32Type(), width));
  if (column.value)
    linear = linear ? spirv::IAddOp::create(rewriter, loc, linear, column.value).getResult() : column.value;
  return {linear, row.offset * width + column.offset};
}

spirv::PointerType heddle::getArrayPointer(Type element) {
  auto stride = static_cast<unsigned>(bytesOf(element));
  return pointerTo(spirv::StructType::get({spirv::RuntimeArrayType::get(element, stride)}, /*offsetInfo=*/{0}));
}

Value heddle::loadSize(OpBuilder &builder, Location loc, Value array) {
  Value place = elementAt(builder, loc, array, integer(builder, loc, builder.getI32Type(), 0));
  return spirv::LoadOp::create(builder, loc, place, aligned(builder), alignmentOf(builder, builder.getI32Type()));
}

Type heddle::inMemory(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return type;
  int64_t count = elementsOf(type);
  if (count % 2 != 0)
    return withElement(type, IntegerType::get(type.getContext(), 16));
  Type word = IntegerType::get(type.getContext(), 32);
  return count == 2 ? word : VectorType::get({count / 2}, word);
}

void heddle::addMatrixConversion(SPIRVTypeConverter &converter) {
  converter.addConversion([](MemRefType type) -> Type {
    return tile::isShared(type) ? getSharedPointer(type) : getArrayPointer(inMemory(type.getElementType()));
  });
  converter.addConversion([](BFloat16Type type) -> Type { return Float32Type::get(type.getContext()); });
  converter.addConversion([](VectorType type) -> std::optional<Type> {
    if (!type.getElementType().isBF16())
      return std::nullopt;
    return type.clone(Float32Type::get(type.getContext()));
  });
}

void heddle::populateKernelPatterns(const SPIRVTypeConverter &converter, LaneNumber number, int64_t texelFloats,
                                    RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  // These replace MLIR's own patterns, which expect storage buffers.
  addConversions(patterns, converter, /*benefit=*/2, lowerLoad<memref::LoadOp>, lowerLoad<vector::LoadOp>,
                 lowerStore<memref::StoreOp>, lowerStore<vector::StoreOp>, lowerYield, lowerRounding,
                 lowerRoundingToHalf, lowerWidening);
  patterns.add<LowerTexelLoad<memref::LoadOp>, LowerTexelLoad<vector::LoadOp>>(converter, context, texelFloats);
  patterns.add<LowerFor, LowerConstantBF16>(converter, context, /*benefit=*/2);
  addConversions(patterns, converter, /*benefit=*/1, lowerShuffle, lowerExp2, lowerCast, lowerReturn);
  patterns.add<LowerId<gpu::BlockIdOp>>(converter, context, spirv::BuiltIn::WorkgroupId);
  if (number == LaneNumber::OfAllSubgroups)
    addConversions(patterns, converter, /*benefit=*/1, numberAcrossSubgroups);
  else
    patterns.add<LowerId<gpu::ThreadIdOp>>(converter, context,
                                           number == LaneNumber::OfSubgroup ? spirv::BuiltIn::SubgroupLocalInvocationId
                                                                            : spirv::BuiltIn::LocalInvocationId);
}
