// What each op demands of its operands beyond their element types. A dimension is compared by extent and by the name of
// its run-time size, so a message shows both types whole.
#include "dialects/Heddle/Heddle.h"
#include "dialects/Heddle/Limits.h"
#include "dialects/Heddle/VariableRoles.h"

#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

bool sameDim(DimOf a, DimOf b) {
  return a.type.getDimSize(a.dim) == b.type.getDimSize(b.dim) &&
         getSizeName(a.type, a.dim) == getSizeName(b.type, b.dim);
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Every value passed must have the dimension that is named first; `what` names that dimension for the reader.
LogicalResult expectSameDim(Operation *op, StringRef what, DimOf expected, ArrayRef<DimOf> others) {
  for (DimOf other : others)
    if (!sameDim(expected, other))
      return op->emitOpError() << "expects the same " << what << " in " << expected.type << " (dimension "
                               << expected.dim << ") and " << other.type << " (dimension " << other.dim << ")";
  return success();
}

/// Whether a view and what it is a view of have the same element type and the same dimensions but the first.
LogicalResult expectSameRows(Operation *op, RankedTensorType a, RankedTensorType b) {
  bool same = a.getElementType() == b.getElementType() && a.getRank() == b.getRank();
  for (int64_t dim = 1; same && dim < a.getRank(); ++dim)
    same = sameDim({a, dim}, {b, dim});
  if (same)
    return success();
  return op->emitOpError() << "expects rows of the same type in " << a << " and " << b;
}

LogicalResult expectSameElements(Operation *op, RankedTensorType a, RankedTensorType b) {
  if (a.getElementType() == b.getElementType())
    return success();
  return op->emitOpError() << "expects the same element type in " << a << " and " << b;
}

/// What asks for a dimension of a tensor of any number of them needs this first.
LogicalResult expectTensorsOfKernels(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    if (!isTensorOfKernels(cast<RankedTensorType>(type)))
      return op->emitOpError() << "takes " << kTensorsOfKernels << ", got " << type;
  return success();
}

LogicalResult expectRate(Operation *op, StringRef name, const APFloat &rate) {
  double value = rate.convertToDouble();
  if (value >= 0 && value < 1)
    return success();
  return op->emitOpError() << "expects '" << name << "' in [0, 1), got " << value;
}

LogicalResult expectStaticColumns(Operation *op, RankedTensorType type) {
  if (!type.isDynamicDim(type.getRank() - 1))
    return success();
  return op->emitOpError() << "expects a static number of columns, got " << type;
}

LogicalResult expectOneColumn(Operation *op, RankedTensorType type) {
  if (type.getDimSize(1) == 1)
    return success();
  return op->emitOpError() << "expects a single column of row numbers, got " << type;
}

template <typename SymbolOp>
SymbolOp lookup(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, StringRef what) {
  auto found = symbols.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (found)
    return found;
  InFlightDiagnostic error = op->emitOpError() << "names a " << what << " that is not declared: " << name;
  // The verifier stops here: what else is missing is told along.
  llvm::SmallSetVector<Attribute, 8> missing;
  missing.insert(name);
  Operation *module = SymbolTable::getNearestSymbolTable(op);
  module->walk([&](Operation *user) {
    if (auto other = user->getAttrOfType<FlatSymbolRefAttr>("variable");
        other && !symbols.lookupSymbolIn(module, other) && missing.insert(other))
      error.attachNote(user->getLoc()) << "nor is " << other;
  });
  return found;
}

LogicalResult verifyVariableUse(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, Type type) {
  auto variable = lookup<VariableOp>(op, symbols, name, "variable");
  if (!variable)
    return failure();
  if (variable.getType() != type)
    return op->emitOpError() << "has type " << type << ", but variable " << name << " is " << variable.getType();
  return success();
}

/// The mask region takes a query and a key index and yields whether the pair counts.
LogicalResult verifyMaskRegion(Operation *op, Region &mask) {
  if (mask.empty())
    return success();
  Block &block = mask.front();
  if (block.getNumArguments() != 2 || !llvm::all_of(block.getArgumentTypes(), [](Type t) { return t.isInteger(32); }))
    return op->emitOpError("expects its mask region to take two i32: query index and key index");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getNumOperands() != 1 || !yield.getOperand(0).getType().isInteger(1))
    return op->emitOpError("expects its mask region to yield an i1");
  return success();
}

/// Arithmetic on scalars that yields an f32.
LogicalResult verifyElementwiseRegion(Operation *op, Region &region, StringRef name) {
  Block &block = region.front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != ArrayRef<Type>{Float32Type::get(op->getContext())})
    return op->emitOpError() << "expects its " << name << " region to yield an f32";
  for (Operation &inner : block.without_terminator())
    if (!isa<arith::ConstantOp>(inner) && !OpTrait::hasElementwiseMappableTraits(&inner))
      return op->emitOpError() << "expects elementwise arithmetic in its " << name << " region, not '"
                               << inner.getName() << "'";
  return success();
}

/// Like the mask, but of a score, two indices and the head (and a gradient, in the second of the two regions), to a
/// score.
LogicalResult verifyScoreRegion(Operation *op, Region &score, bool gradient) {
  if (score.empty())
    return success();
  SmallVector<Type> expected{Float32Type::get(op->getContext())};
  expected.append(3, IntegerType::get(op->getContext(), 32));
  if (gradient)
    expected.push_back(expected.front());
  Block &block = score.front();
  StringRef name = gradient ? "score_gradient" : "score";
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op->emitOpError() << "expects its " << name
                             << " region to take an f32 and three i32: scaled score, query index, key index, head"
                             << (gradient ? ", and an f32: the gradient" : "");
  return verifyElementwiseRegion(op, score, name);
}

/// Keys have a head for each of the queries' `heads`, or for groups of as many of these.
LogicalResult expectHeadsOfKeys(Operation *op, RankedTensorType queries, RankedTensorType keys, int64_t heads) {
  if (failed(expectStaticColumns(op, keys)))
    return failure();
  int64_t width = queries.getDimSize(1) / heads, ofKeys = keys.getDimSize(1) / width;
  if (keys.getDimSize(1) % width == 0 && ofKeys > 0 && heads % ofKeys == 0)
    return success();
  return op->emitOpError() << "expects keys with a number of heads of " << width << " columns that divides " << heads
                           << ", the number of the queries' heads, got " << queries << " and " << keys;
}

template <typename AttentionLike> LogicalResult verifyAttention(AttentionLike op) {
  RankedTensorType query = typeOf(op.getQuery()), key = typeOf(op.getKey()), value = typeOf(op.getValue());
  int64_t heads = op.getHeads();
  if (failed(expectStaticColumns(op, query)) || failed(expectSameDim(op, "width", {key, 1}, {{value, 1}})) ||
      failed(expectSameDim(op, "number of keys", {key, 0}, {{value, 0}})))
    return failure();
  if (heads < 1 || query.getDimSize(1) % heads != 0)
    return op.emitOpError() << "expects 'heads' to divide the width " << query.getDimSize(1) << ", got " << heads;
  if (failed(expectHeadsOfKeys(op, query, key, heads)))
    return failure();
  DimOf sequences{typeOf(op.getQueryStarts()), 0};
  if (failed(expectSameDim(
          op, "number of sequences", sequences,
          {{typeOf(op.getQueryLengths()), 0}, {typeOf(op.getKeyStarts()), 0}, {typeOf(op.getKeyLengths()), 0}})))
    return failure();
  if (failed(expectRate(op, "dropout", op.getDropout())))
    return failure();
  if (!op.getDropout().isZero() != static_cast<bool>(op.getSeed()) || !op.getSeed() != !op.getStep())
    return op.emitOpError("expects seed and step if and only if 'dropout' is above 0");
  if (failed(verifyScoreRegion(op, op.getScore(), /*gradient=*/false)))
    return failure();
  return verifyMaskRegion(op, op.getMask());
}

/// A tensor<TxH> that goes with a tensor<TxD> of H heads.
LogicalResult expectPerHead(Operation *op, StringRef what, RankedTensorType perHead, RankedTensorType tokens,
                            int64_t heads) {
  if (sameDim({perHead, 0}, {tokens, 0}) && perHead.getDimSize(1) == heads)
    return success();
  return op->emitOpError() << "expects " << what << " to have a row for each of " << tokens << " and " << heads
                           << " columns, got " << perHead;
}

template <typename GradOp> LogicalResult verifyAttentionGrad(GradOp op) {
  if (failed(verifyAttention(op)) || failed(verifyScoreRegion(op, op.getScoreGradient(), /*gradient=*/true)))
    return failure();
  if (op.getScore().empty() != op.getScoreGradient().empty())
    return op.emitOpError("expects a score_gradient region if and only if there is a score region");
  RankedTensorType query = typeOf(op.getQuery());
  if (op.getGradient().getType() != query)
    return op.emitOpError() << "expects the gradient to be of the query's type " << query << ", got "
                            << op.getGradient().getType();
  if (failed(expectPerHead(op, "log_sum_exp", typeOf(op.getLogSumExp()), query, op.getHeads())))
    return failure();
  return expectPerHead(op, "delta", typeOf(op.getDelta()), query, op.getHeads());
}

template <typename ScatterOp> LogicalResult verifyScatter(ScatterOp op) {
  RankedTensorType destination = typeOf(op.getDestination()), rows = typeOf(op.getRows());
  if (failed(expectSameElements(op, destination, rows)) ||
      failed(expectSameDim(op, "width", {destination, 1}, {{rows, 1}})))
    return failure();
  return expectSameDim(op, "number of rows", {typeOf(op.getIndices()), 0}, {{rows, 0}});
}

} // namespace

//===-- Symbols and state ---------------------------------------------------------------------------------------===//

LogicalResult SizeOp::verify() {
  auto maximum = static_cast<int64_t>(getMaximum());
  int64_t least = getFixed() ? 0 : 1, most = getFixed() ? std::numeric_limits<int32_t>::max() : kLargestSize;
  if (maximum >= least && maximum <= most)
    return success();
  return emitOpError() << "@" << getSymName() << " expects a maximum of at " << (maximum < least ? "least " : "most ")
                       << (maximum < least ? least : most) << ", got " << maximum;
}

LogicalResult SizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getOfAttr())
    return success();
  auto whole = lookup<SizeOp>(*this, symbols, getOfAttr(), "size");
  if (!whole)
    return failure();
  int64_t from = getFrom(), last = from + static_cast<int64_t>(getMaximum());
  if (whole.getOfAttr() || whole.getFixed())
    return emitOpError() << "expects " << getOfAttr() << " to be bound by an input";
  if (from < 0 || last > static_cast<int64_t>(whole.getMaximum()))
    return emitOpError() << "covers " << from << " to " << last << " of " << getOfAttr() << ", whose maximum is "
                         << whole.getMaximum();
  return success();
}

LogicalResult VariableOp::verify() {
  if (!getTensorType().hasStaticShape())
    return emitOpError() << "expects a static shape, got " << getType();
  if (!isTensorOfKernels(getTensorType()) || getTensorType().getElementType().isInteger(1))
    return emitOpError() << "@" << getSymName() << " is a " << getType() << ", and variables are " << kTensorsOfKernels
                         << "; truth values are not stored";
  Type element = getTensorType().getElementType();
  if (getSharded() &&
      (getKind() != VariableKind::OptimizerState || getStorageAttr() || !(element.isF32() || element.isBF16()) ||
       getTensorType().getNumElements() % getShardElements(element) != 0))
    return emitOpError()
           << "@" << getSymName()
           << " is sharded, and so should be optimizer_state of f32 or bf16 with memory of its own, a multiple of "
           << getShardElements(element) << " numbers";
  std::optional<VariableRole> role = getRole();
  if (!role)
    return getOwnerAttr() ? emitOpError() << "belongs to " << getOwnerAttr() << " and does not say as what: write `of "
                                          << getOwnerAttr() << " as first_moment`"
                          : success();
  StringRef name = stringifyVariableRole(*role);
  if (hasOwner(*role) && !getOwnerAttr())
    return emitOpError() << "is a weight's " << name << " and does not say of which weight: write `of @weight as "
                         << name << "`";
  if (!hasOwner(*role) && getOwnerAttr())
    return emitOpError() << "is the model's " << name << " and belongs to no weight, got `of " << getOwnerAttr() << "`";
  bool isFrozen = *role == VariableRole::Scales && getKind() == VariableKind::Frozen; // as its weight is
  if (getKind() != heddle::getKind(*role) && !isFrozen)
    return emitOpError() << "is " << stringifyVariableKind(getKind()) << ", but its role " << name << " is of kind "
                         << stringifyVariableKind(heddle::getKind(*role));
  auto words = RankedTensorType::get({2}, IntegerType::get(getContext(), 32));
  if (*role == VariableRole::Seed && getTensorType() != words)
    return emitOpError() << "is the model's seed, which is a " << words << ", got " << getType();
  return success();
}

LogicalResult TaskOp::verify() {
  if (!llvm::is_contained({"translate", "language", "encode", "classify", "tag", "pair", "pretrain"}, getName()))
    return emitOpError() << "expects the task translate, language, encode, classify, tag, pair or pretrain, got '"
                         << getName() << "'";
  if (static_cast<int64_t>(getBeam()) < 1)
    return emitOpError() << "expects a beam of at least 1, got " << getBeam();
  return success();
}

/// The learning rate is made of the step's number by elementwise arithmetic, in the kernel that updates counters.
static LogicalResult verifyRate(Operation *op, Region &rate) {
  auto scalar = RankedTensorType::get({1}, Float32Type::get(op->getContext()));
  Block &block = rate.front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (block.getArgumentTypes() != ArrayRef<Type>{scalar} || !yield || yield.getOperandTypes() != ArrayRef<Type>{scalar})
    return op->emitOpError(
        "expects its rate region to take the step's number and to yield the rate, both tensor<1xf32>");
  for (Operation &inner : block.without_terminator())
    if (!isa<FillOp>(inner) && !OpTrait::hasElementwiseMappableTraits(&inner))
      return op->emitOpError() << "expects elementwise arithmetic in its rate region, not '" << inner.getName() << "'";
  return success();
}

LogicalResult MinimizeOp::verify() { return verifyRate(*this, getRate()); }
LogicalResult ApplyOp::verify() { return verifyRate(*this, getRate()); }

LogicalResult TrainingOp::verify() {
  if (getLossScale().has_value() != getScaleInterval().has_value())
    return emitOpError() << "expects loss_scale and scale_interval together or not at all";
  return success();
}

/// A weight's copy of fewer bits has its shape, and moments of bf16 have; all else that belongs to it has its type.
static LogicalResult verifyOwner(VariableOp variable, SymbolTableCollection &symbols) {
  auto owner = lookup<VariableOp>(variable, symbols, variable.getOwnerAttr(), "variable");
  if (!owner)
    return failure();
  if (!owner.isWeight())
    return variable.emitOpError() << "belongs to " << variable.getOwnerAttr() << ", which is "
                                  << stringifyVariableKind(owner.getKind()) << " and no weight";
  RankedTensorType type = variable.getTensorType(), whole = owner.getTensorType();
  if (variable.getRole() == VariableRole::Scales)
    return whole.getElementType().isInteger(32) && whole.getRank() == 2 && type.getElementType().isF32() &&
                   type.getRank() == 2
               ? success()
               : variable.emitOpError() << "is a " << type << " of scales, and " << variable.getOwnerAttr() << " a "
                                        << whole << "; expects a matrix of f32 for a matrix of packed words";
  VariableRole role = *variable.getRole();
  bool isMoment = role == VariableRole::FirstMoment || role == VariableRole::SecondMoment;
  bool isRounded = role == VariableRole::Rounded || (isMoment && type.getElementType().isBF16());
  if (isRounded ? type.getShape() != whole.getShape() : type != whole)
    return variable.emitOpError() << "is a " << type << ", but " << variable.getOwnerAttr()
                                  << ", which it belongs to, is a " << whole;
  return success();
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getOwnerAttr() && failed(verifyOwner(*this, symbols)))
    return failure();
  if (!getStorageAttr())
    return success();
  auto storage = lookup<VariableOp>(*this, symbols, getStorageAttr(), "variable");
  if (!storage)
    return failure();
  RankedTensorType view = getTensorType(), whole = storage.getTensorType();
  int64_t from = static_cast<int64_t>(getFrom());
  if (failed(expectSameRows(*this, view, whole)))
    return failure();
  if (from < 0 || from + view.getDimSize(0) > whole.getDimSize(0))
    return emitOpError() << "expects rows that " << getStorageAttr() << " has, got " << view << " from row " << from
                         << " of " << whole;
  llvm::SmallPtrSet<Operation *, 8> chain; // of views, which ends at memory
  for (; storage && storage.getStorageAttr() && chain.insert(storage).second;
       storage = symbols.lookupNearestSymbolFrom<VariableOp>(*this, storage.getStorageAttr()))
    if (storage == *this)
      return emitOpError() << "@" << getSymName() << " is a view of itself";
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, symbols, getVariableAttr(), getResult().getType());
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, symbols, getVariableAttr(), getValue().getType());
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expects its region's arguments to have the inputs' types");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("expects its region to yield the results' types");
  return success();
}

//===-- Views ---------------------------------------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  int64_t from = static_cast<int64_t>(getFrom());
  if (failed(expectSameRows(*this, input, result)))
    return failure();
  if (from < 0 ||
      (!input.isDynamicDim(0) && !result.isDynamicDim(0) && from + result.getDimSize(0) > input.getDimSize(0)))
    return emitOpError() << "expects rows that " << input << " has, got " << result << " from row " << from << " on";
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (failed(expectSameElements(*this, input, result)))
    return failure();
  auto elementsOfRow = [](RankedTensorType type) { return ShapedType::getNumElements(type.getShape().drop_front()); };
  auto isOfRows = [](RankedTensorType type) { return !ShapedType::isDynamicShape(type.getShape().drop_front()); };
  if (input.hasStaticShape() && result.hasStaticShape()
          ? input.getNumElements() == result.getNumElements()
          : isOfRows(input) && isOfRows(result) && sameDim({input, 0}, {result, 0}) &&
                elementsOfRow(input) == elementsOfRow(result))
    return success();
  return emitOpError() << "cannot take " << input << " as " << result << ": expects as many elements in as many rows";
}

LogicalResult ConcatOp::verify() {
  if (getParts().empty())
    return emitOpError("expects at least one part");
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  int64_t rows = 0;
  for (Value part : getParts()) {
    if (failed(expectSameRows(*this, typeOf(part), typeOf(getResult()))))
      return failure();
    rows = ShapedType::isDynamic(rows) || typeOf(part).isDynamicDim(0) ? ShapedType::kDynamic
                                                                       : rows + typeOf(part).getDimSize(0);
  }
  if (rows != typeOf(getResult()).getDimSize(0))
    return emitOpError() << "expects a result with the rows of its parts, got " << getResult().getType();
  return success();
}

//===-- Elementwise ---------------------------------------------------------------------------------------------===//

LogicalResult FillOp::verify() {
  Type element = typeOf(getResult()).getElementType();
  if (getValue().getType() != element)
    return emitOpError() << "expects a value of type " << element << ", got " << getValue();
  return success();
}

LogicalResult BroadcastOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (failed(expectSameElements(*this, input, result)))
    return failure();
  bool parts = input.getRank() == 2 && result.getRank() == 3;
  if (input.getRank() != 1 && !parts)
    return emitOpError() << "expects a scalar, a row, a column or a number for each part of a row, got " << input;
  bool scalar = input.getRank() == 1 && input.getDimSize(0) == 1;
  bool row = !isColumn(input) && sameDim({input, 0}, {result, result.getRank() - 1});
  bool column = isColumn(input) && sameDim({input, 0}, {result, 0});
  if (parts ? !sameDim({input, 0}, {result, 0}) || !sameDim({input, 1}, {result, 1}) : !scalar && !row && !column)
    return emitOpError() << "cannot repeat " << input << " over " << result;
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t dim = static_cast<int64_t>(getDim());
  RankedTensorType type = typeOf(getResult());
  if (type.getRank() == 1 ? dim == 0 : dim == 1 || dim == 2)
    return success();
  return emitOpError() << "expects dimension " << (type.getRank() == 1 ? "0" : "1 or 2") << " of " << type << ", got "
                       << dim;
}

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = typeOf(getTable()), result = typeOf(getResult());
  if (failed(expectSameElements(*this, table, result)))
    return failure();
  if (table.getRank() != result.getRank())
    return emitOpError() << "expects a result of the table's rank, got " << table << " and " << result;
  for (int64_t dim = 1; dim < table.getRank(); ++dim)
    if (failed(expectSameDim(*this, "width", {table, dim}, {{result, dim}})))
      return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getIndices()), 0}, {{result, 0}});
}

std::pair<int64_t, int64_t> DequantizeOp::getGroup() {
  if (!getScales())
    return {1, 1};
  RankedTensorType whole = getResult().getType(), scales = typeOf(getScales());
  return {whole.getDimSize(0) / scales.getDimSize(0), whole.getDimSize(1) / scales.getDimSize(1)};
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType words = typeOf(getWords()), result = typeOf(getResult());
  auto bits = static_cast<int64_t>(getBits());
  if (bits != 4 && bits != 8)
    return emitOpError() << "unpacks numbers of 4 or 8 bits, got " << bits;
  if (!words.hasStaticShape() || !result.hasStaticShape() || words.getDimSize(1) != result.getDimSize(1) ||
      words.getDimSize(0) != static_cast<int64_t>(llvm::divideCeil(result.getDimSize(0), 32 / bits)))
    return emitOpError() << "expects a word for " << 32 / bits << " rows of a column, got " << words << " and "
                         << result;
  if (!getScales())
    return success();
  RankedTensorType scales = typeOf(getScales());
  auto divides = [&](int64_t dim) {
    return !scales.isDynamicDim(dim) && scales.getDimSize(dim) > 0 &&
           result.getDimSize(dim) % scales.getDimSize(dim) == 0;
  };
  if (divides(0) && divides(1))
    return success();
  return emitOpError() << "expects scales of equal groups of rows and columns, got " << scales << " for " << result;
}

LogicalResult DensifyOp::verify() {
  RankedTensorType result = typeOf(getResult());
  if (failed(expectOneColumn(*this, typeOf(getPlaces()))) ||
      failed(expectSameDim(*this, "width", {typeOf(getRows()), 1}, {{result, 1}})))
    return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getPlaces()), 0}, {{result, 0}});
}

LogicalResult SinusoidOp::verify() {
  if (failed(expectStaticColumns(*this, typeOf(getResult()))))
    return failure();
  if (getHalves() && typeOf(getResult()).getDimSize(1) % 2 != 0)
    return emitOpError() << "expects an even number of columns where sines and cosines are halves, got "
                         << getResult().getType();
  return expectSameDim(*this, "number of rows", {typeOf(getPositions()), 0}, {{typeOf(getResult()), 0}});
}

LogicalResult NumbersOp::verify() {
  constexpr int64_t most = 4096; // a kernel chooses among them by place
  auto count = static_cast<int64_t>(getValues().size());
  if (count < 1 || count > most || getResult().getType().getShape() != ArrayRef<int64_t>{count})
    return emitOpError() << "expects 1 to " << most << " numbers and a row of as many, got " << count << " and "
                         << getResult().getType();
  return success();
}

LogicalResult RotaryOp::verify() {
  RankedTensorType input = typeOf(getInput()), frequencies = typeOf(getFrequencies());
  if (failed(expectStaticColumns(*this, input)) ||
      failed(expectSameDim(*this, "number of rows", {input, 0}, {{typeOf(getPositions()), 0}})))
    return failure();
  if (getNeighbours() && frequencies.hasStaticShape() &&
      (frequencies.getDimSize(0) % 2 != 0 || input.getDimSize(1) % frequencies.getDimSize(0) != 0))
    return emitOpError() << "expects heads of pairs of columns, with a frequency for each column, got " << input
                         << " and " << frequencies;
  if (!frequencies.hasStaticShape() || frequencies.getDimSize(0) < 1 ||
      (!getNeighbours() && input.getDimSize(1) % (2 * frequencies.getDimSize(0)) != 0))
    return emitOpError() << "expects heads of two columns for each frequency, got " << input << " and " << frequencies;
  return success();
}

LogicalResult DropoutOp::verify() { return expectRate(*this, "rate", getRate()); }

LogicalResult RandomOp::verify() {
  if (!typeOf(getResult()).hasStaticShape())
    return emitOpError() << "expects a static shape, got " << getResult().getType();
  return success();
}

LogicalResult GumbelOp::verify() {
  RankedTensorType rows = typeOf(getRows()), result = typeOf(getResult());
  if (result.isDynamicDim(1) || getDimType(result, 0, rows.getElementType()) != rows)
    return emitOpError() << "expects a number for each row of its result, whose columns are of a static number, got "
                         << rows << " and " << result;
  return success();
}

LogicalResult AdamOp::verify() {
  RankedTensorType weight = typeOf(getWeight()), moment = typeOf(getFirstMoment());
  if (moment.clone(weight.getElementType()) != weight)
    return emitOpError() << "expects moments of the weight's shape, got " << moment << " for " << weight;
  if (moment.getElementType().isBF16() != bool(getStep()))
    return emitOpError() << "rounds moments of bf16, and no others, at random by the number of the step: "
                         << (getStep() ? "leave out `rounding`" : "add `rounding %step`");
  if (failed(expectRate(*this, "beta1", getBeta1())) || failed(expectRate(*this, "beta2", getBeta2())))
    return failure();
  if (getEpsilon().isNegative() || getEpsilon().isZero())
    return emitOpError("expects 'epsilon' above 0");
  if (bool(getAverage()) != bool(getDecay()) || bool(getAverage()) != bool(getNewAverage()))
    return emitOpError("expects an average, its 'decay' and its new value together or not at all");
  if (!getAverage())
    return success();
  if (getAverage().getType() != getWeight().getType() || getNewAverage().getType() != getWeight().getType())
    return emitOpError() << "expects an average of the weight's type " << getWeight().getType();
  return expectRate(*this, "decay", *getDecay());
}

//===-- Matrix products and reductions --------------------------------------------------------------------------===//

/// `columns`: the dimension of the result that has the columns.
template <typename ProductOp> static LogicalResult verifyProduct(ProductOp op, int columns) {
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = typeOf(op.getResult());
  int64_t lhsRow = op.getTransposeLhs() ? 1 : 0, rhsColumn = op.getTransposeRhs() ? 0 : 1;
  if (lhs.getElementType() != rhs.getElementType())
    return op.emitOpError() << "multiplies elements of a single type, got " << lhs << " and " << rhs;
  if (failed(expectSameDim(op, "contracted extent", {lhs, 1 - lhsRow}, {{rhs, 1 - rhsColumn}})) ||
      failed(expectSameDim(op, "number of rows", {lhs, lhsRow}, {{result, 0}})))
    return failure();
  return expectSameDim(op, "number of columns", {rhs, rhsColumn}, {{result, columns}});
}

LogicalResult MatmulOp::verify() { return verifyProduct(*this, /*columns=*/1); }

/// Parts of each row of a matrix, of which there is a static number.
static LogicalResult verifyParts(Operation *op, RankedTensorType parts) {
  if (parts.getRank() == 3 && !parts.isDynamicDim(1) && !parts.isDynamicDim(2))
    return success();
  return op->emitOpError() << "expects parts of rows, tensor<MxGxN> with static G and N, got " << parts;
}

LogicalResult PartialProductsOp::verify() {
  return failed(verifyParts(*this, typeOf(getResult()))) ? failure() : verifyProduct(*this, /*columns=*/2);
}

LogicalResult SumPartsOp::verify() {
  RankedTensorType parts = typeOf(getParts()), result = typeOf(getResult());
  if (failed(verifyParts(*this, parts)) || failed(expectSameDim(*this, "number of rows", {parts, 0}, {{result, 0}})))
    return failure();
  return expectSameDim(*this, "number of columns", {parts, 2}, {{result, 1}});
}

/// `weights` and `biases` are those of `parts.size()` transformations from `input` to each of `parts`.
static LogicalResult verifyProjections(Operation *op, RankedTensorType input, RankedTensorType weights,
                                       RankedTensorType biases, TypeRange parts) {
  int64_t count = parts.size();
  if (count == 0)
    return op->emitOpError("expects at least one projection");
  for (Type part : parts)
    if (part != parts.front())
      return op->emitOpError() << "expects projections of a single type, got " << parts.front() << " and " << part;
  auto part = cast<RankedTensorType>(parts.front());
  if (failed(expectStaticColumns(op, input)) || failed(expectStaticColumns(op, part)) ||
      failed(expectSameDim(op, "number of rows", {input, 0}, {{part, 0}})))
    return failure();
  if (weights.getShape() != ArrayRef<int64_t>{count * input.getDimSize(1), part.getDimSize(1)} ||
      biases.getShape() != ArrayRef<int64_t>{count * part.getDimSize(1)})
    return op->emitOpError() << "expects weights and biases of " << count << " projections from " << input << " to "
                             << part << ", got " << weights << " and " << biases;
  return success();
}

LogicalResult ProjectOp::verify() {
  return verifyProjections(*this, typeOf(getInput()), typeOf(getWeights()), typeOf(getBiases()),
                           getProjections().getTypes());
}

LogicalResult ProjectGradInputOp::verify() {
  if (getGradients().empty())
    return emitOpError("expects at least one projection");
  RankedTensorType gradient = typeOf(getGradients().front());
  auto biases = RankedTensorType::get({static_cast<int64_t>(getGradients().size()) * gradient.getDimSize(1)},
                                      gradient.getElementType());
  return verifyProjections(*this, typeOf(getResult()), typeOf(getWeights()), biases, getGradients().getTypes());
}

LogicalResult ProjectGradWeightsOp::verify() {
  return verifyProjections(*this, typeOf(getInput()), typeOf(getWeights()), typeOf(getBiases()),
                           getGradients().getTypes());
}

/// Sums over the rows of a tensor<MxHxN> are H*N numbers.
static LogicalResult expectSumsOfParts(Operation *op, RankedTensorType input, DimOf sums) {
  int64_t columns = input.getDimSize(1) * input.getDimSize(2);
  if (!sums.type.isDynamicDim(sums.dim) && sums.type.getDimSize(sums.dim) == columns)
    return success();
  return op->emitOpError() << "expects " << columns << " sums of the rows of " << input << ", got " << sums.type;
}

LogicalResult SumOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  bool vector = input.getRank() == 1, hasParts = input.getRank() == 3;
  if (hasParts && (input.isDynamicDim(1) || input.isDynamicDim(2)))
    return emitOpError() << "expects a matrix, a row or a column, got " << input;
  bool isByPart = hasParts && getColumns() && result.getRank() == 2;
  if (result.getRank() != 1 && !isByPart)
    return emitOpError() << "cannot sum " << input << " to " << result;
  if (vector && isColumn(input) == getColumns())
    return emitOpError() << "cannot sum " << (getColumns() ? "the columns" : "the rows") << " of " << input;
  if (vector && result.getShape() != ArrayRef<int64_t>{1})
    return emitOpError() << "expects the sum of " << input << " to be a scalar, got " << result;
  if (vector)
    return success();
  if (isByPart && failed(expectSameDim(*this, "number of parts", {input, 1}, {{result, 1}})))
    return failure();
  if (hasParts && !getColumns())
    return expectSumsOfParts(*this, input, {result, 0});
  return expectSameDim(*this, "remaining extent", {input, getColumns() ? 0 : 1}, {{result, 0}});
}

LogicalResult PartialSumsOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (!result.hasStaticShape())
    return emitOpError() << "expects a static number of sums, got " << result;
  if (input.getRank() == 2)
    return expectSameDim(*this, "width", {input, 1}, {{result, 1}});
  if (input.getRank() == 3 && !input.isDynamicDim(1) && !input.isDynamicDim(2))
    return expectSumsOfParts(*this, input, {result, 1});
  if (!isColumn(input) || result.getDimSize(1) != 1)
    return emitOpError() << "expects sums of the rows of a matrix, or of a column to a single column, got " << input
                         << " and " << result;
  return success();
}

LogicalResult LayerNormOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectStaticColumns(*this, input)) ||
      failed(expectSameDim(*this, "width", {input, 1}, {{typeOf(getGamma()), 0}, {typeOf(getBeta()), 0}})))
    return failure();
  return expectSameDim(*this, "number of rows", {input, 0}, {{typeOf(getMean()), 0}});
}

LogicalResult LayerNormGradOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectStaticColumns(*this, input)) ||
      failed(expectSameDim(*this, "width", {input, 1}, {{typeOf(getGamma()), 0}})))
    return failure();
  return expectSameDim(*this, "number of rows", {input, 0}, {{typeOf(getMean()), 0}});
}

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (failed(expectRate(*this, "smoothing", getSmoothing())) || failed(expectStaticColumns(*this, logits)))
    return failure();
  return expectSameDim(*this, "number of rows", {logits, 0}, {{typeOf(getTargets()), 0}, {typeOf(getLoss()), 0}});
}

LogicalResult CrossEntropyGradOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (failed(expectRate(*this, "smoothing", getSmoothing())) || failed(expectStaticColumns(*this, logits)))
    return failure();
  return expectSameDim(*this, "number of rows", {logits, 0}, {{typeOf(getTargets()), 0}, {typeOf(getLogSumExp()), 0}});
}

LogicalResult ArgmaxOp::verify() {
  if (failed(expectStaticColumns(*this, typeOf(getInput()))))
    return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getInput()), 0}, {{typeOf(getResult()), 0}});
}

LogicalResult TopKOp::verify() {
  RankedTensorType input = typeOf(getInput()), values = typeOf(getValues()), rows = typeOf(getRows());
  if (failed(expectStaticColumns(*this, input)) || failed(expectStaticColumns(*this, values)) ||
      failed(expectSameDim(*this, "number of segments", {typeOf(getStarts()), 0}, {{values, 0}, {rows, 0}})) ||
      failed(expectSameDim(*this, "number of results", {values, 1}, {{rows, 1}})))
    return failure();
  int64_t count = values.getDimSize(1);
  if (count < 1 || count > input.getDimSize(1))
    return emitOpError() << "expects to take 1 to " << input.getDimSize(1) << " elements of a segment, got " << count;
  return success();
}

/// A kernel has a workgroup for each element of a column: vectors of a fixed extent are rows.
static LogicalResult expectColumn(Operation *op, StringRef what, RankedTensorType type) {
  if (type.isDynamicDim(0))
    return success();
  return op->emitOpError() << "expects a run-time number of " << what << ", got " << type;
}

LogicalResult DrawOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (failed(expectStaticColumns(*this, logits)) || failed(expectColumn(*this, "rows", logits)))
    return failure();
  return expectSameDim(*this, "number of rows", {logits, 0}, {{typeOf(getTemperature()), 0}, {typeOf(getTopK()), 0}});
}

LogicalResult PenaliseOp::verify() {
  if (failed(expectStaticColumns(*this, typeOf(getLogits()))) ||
      failed(expectColumn(*this, "places", typeOf(getRows()))))
    return failure();
  return expectSameDim(*this, "number of places", {typeOf(getRows()), 0}, {{typeOf(getPenalties()), 0}});
}

LogicalResult SegmentOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = getResult().getType(), starts = typeOf(getStarts());
  if (failed(expectStaticColumns(*this, input)) || failed(expectColumn(*this, "rows", input)) ||
      failed(expectColumn(*this, "segments", starts)) ||
      failed(expectSameDim(*this, "width", {input, 1}, {{result, 1}})) ||
      failed(expectSameDim(*this, "number of segments", {starts, 0}, {{result, 0}})))
    return failure();
  bool chooses = getPool() != Pool::Sum;
  if (chooses != static_cast<bool>(getChosen()))
    return emitOpError() << (chooses ? "expects a second result for the rows in which the chosen elements are"
                                     : "chooses no rows, so that a sum is its only result");
  if (!chooses)
    return success();
  RankedTensorType chosen = typeOf(getChosen());
  if (failed(expectSameDim(*this, "width", {result, 1}, {{chosen, 1}})))
    return failure();
  return expectSameDim(*this, "number of segments", {result, 0}, {{chosen, 0}});
}

LogicalResult ScatterAddOp::verify() { return verifyScatter(*this); }
LogicalResult ScatterRowsOp::verify() { return verifyScatter(*this); }

LogicalResult FindFirstOp::verify() {
  RankedTensorType first = typeOf(getFirst());
  return first.getRank() == 1 ? success() : expectOneColumn(*this, first);
}

LogicalResult SumEqualOp::verify() {
  if (failed(expectOneColumn(*this, typeOf(getFirst()))))
    return failure();
  return expectSameDim(*this, "number of rows", {typeOf(getIndices()), 0}, {{typeOf(getRows()), 0}});
}

//===-- Attention -----------------------------------------------------------------------------------------------===//

/// A row of indices for each sequence, or nothing.
static LogicalResult verifyKeyRows(Operation *op, Value keyRows, Value keyStarts) {
  if (!keyRows)
    return success();
  if (failed(expectStaticColumns(op, typeOf(keyRows))))
    return failure();
  return expectSameDim(op, "number of sequences", {typeOf(keyStarts), 0}, {{typeOf(keyRows), 0}});
}

/// Rows of queries, numbers among their keys, and how many these are, for each row of keys; or nothing.
static LogicalResult verifyUsers(Operation *op, ValueRange users, StringRef querySize, RankedTensorType keys) {
  if (users.empty())
    return success();
  auto isI32 = [](RankedTensorType type, int64_t rank) {
    return type.getElementType().isInteger(32) && type.getRank() == rank;
  };
  if (users.size() != 3 || !isI32(typeOf(users[0]), 2) || !isI32(typeOf(users[1]), 2) || !isI32(typeOf(users[2]), 1))
    return op->emitOpError()
           << "expects users as rows of queries and numbers of keys, matrices of i32, and their number, a "
           << "vector of i32";
  if (!querySize.empty())
    return op->emitOpError()
           << "expects queries that are alone in their sequences where keys have users, but their sequences "
           << "are as long as '" << querySize << "'";
  if (failed(expectStaticColumns(op, typeOf(users[0]))) ||
      failed(expectSameDim(op, "number of users", {typeOf(users[0]), 1}, {{typeOf(users[1]), 1}})))
    return failure();
  return expectSameDim(op, "number of rows of keys", {keys, 0},
                       {{typeOf(users[0]), 0}, {typeOf(users[1]), 0}, {typeOf(users[2]), 0}});
}

/// Scores are dynamic in the queries alone.
static LogicalResult verifyScores(Operation *op, RankedTensorType scores) {
  if (!scores.isDynamicDim(1) && !scores.isDynamicDim(2))
    return success();
  return op->emitOpError() << "expects a static number of heads and of keys, got " << scores;
}

/// `scores` has rows for those of `queries` and heads of which `queries` and `keys` have columns.
template <typename PairsOp>
static LogicalResult verifyPairs(PairsOp op, RankedTensorType scores, RankedTensorType queries, RankedTensorType keys) {
  if (failed(verifyScores(op, scores)) || failed(expectStaticColumns(op, queries)) ||
      failed(expectSameDim(op, "number of queries", {queries, 0}, {{scores, 0}})))
    return failure();
  if (queries.getDimSize(1) % scores.getDimSize(1) != 0)
    return op.emitOpError() << "expects heads that divide the width of " << queries << ", got " << scores;
  if (failed(expectHeadsOfKeys(op, queries, keys, scores.getDimSize(1))))
    return failure();
  return expectSameDim(
      op, "number of sequences", {typeOf(op.getQueryStarts()), 0},
      {{typeOf(op.getQueryLengths()), 0}, {typeOf(op.getKeyStarts()), 0}, {typeOf(op.getKeyLengths()), 0}});
}

/// The region gets elements of the query, the key and the parameters, and with `gradient` that of the score.
template <typename ScoresLike>
static LogicalResult verifyCombination(ScoresLike op, Region &region, StringRef name, bool gradient) {
  if (failed(expectSameDim(op, "width", {typeOf(op.getQuery()), 1}, {{typeOf(op.getKey()), 1}})))
    return failure();
  for (Value parameter : op.getParameters())
    if (failed(expectSameDim(op, "width", {typeOf(op.getQuery()), 1}, {{typeOf(parameter), 0}})))
      return failure();
  SmallVector<Type> expected(2 + op.getParameters().size() + (gradient ? 1 : 0), Float32Type::get(op.getContext()));
  Block &block = region.front();
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op.emitOpError() << "expects its " << name << " region to take an f32 of the query, of the key"
                            << (gradient ? ", of each parameter and the gradient" : " and of each parameter");
  return verifyElementwiseRegion(op, region, name);
}

LogicalResult ScoresOp::verify() {
  if (failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())) ||
      failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getKey()))) ||
      failed(verifyPairs(*this, getType(), typeOf(getQuery()), typeOf(getKey()))))
    return failure();
  if (getCombine().empty())
    return getParameters().empty() ? success() : emitOpError("expects parameters beside a combine region alone");
  if (getKeyRows() && !getQuerySize().empty())
    return emitOpError(
        "expects queries that are alone in their sequences where a region combines them with keys of lists");
  return verifyCombination(*this, getCombine(), "combine", /*gradient=*/false);
}

template <typename GradOp> static LogicalResult verifyScoresGrad(GradOp op, Value of) {
  if (failed(verifyPairs(op, typeOf(op.getGradient()), typeOf(op.getQuery()), typeOf(op.getKey()))))
    return failure();
  if (op.getType() != of.getType())
    return op.emitOpError() << "expects a result of the type " << of.getType() << ", got " << op.getType();
  return verifyCombination(op, op.getSlope(), "slope", /*gradient=*/true);
}

LogicalResult ScoresGradQueryOp::verify() {
  if (failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())))
    return failure();
  return verifyScoresGrad(*this, getQuery());
}

LogicalResult ScoresGradKeyOp::verify() {
  if (failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getKey()))))
    return failure();
  return verifyScoresGrad(*this, getKey());
}

LogicalResult ContextOp::verify() {
  if (failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())) ||
      failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getValue()))))
    return failure();
  return verifyPairs(*this, typeOf(getWeights()), typeOf(getResult()), typeOf(getValue()));
}

LogicalResult TransposedContextOp::verify() {
  if (failed(verifyUsers(*this, getUsers(), getQuerySize(), typeOf(getResult()))))
    return failure();
  return verifyPairs(*this, typeOf(getWeights()), typeOf(getInput()), typeOf(getResult()));
}

LogicalResult MaskOp::verify() {
  if (failed(verifyScores(*this, typeOf(getScores()))) ||
      failed(expectSameDim(*this, "number of queries", {typeOf(getScores()), 0}, {{typeOf(getPosition()), 0}})))
    return failure();
  return verifyMaskRegion(*this, getMask());
}

/// Factors may be of fewer bits than results.
static bool sameButBits(Value result, Value factor) {
  return typeOf(result).clone(typeOf(factor).getElementType()) == factor.getType();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)) || failed(verifyKeyRows(*this, getKeyRows(), getKeyStarts())))
    return failure();
  if (!sameButBits(getResult(), getQuery()))
    return emitOpError() << "expects a result of the query's type " << getQuery().getType() << ", got "
                         << getResult().getType();
  return expectPerHead(*this, "log_sum_exp", typeOf(getLogSumExp()), typeOf(getQuery()), getHeads());
}

LogicalResult AttentionDeltaOp::verify() {
  RankedTensorType gradient = typeOf(getGradient());
  int64_t heads = typeOf(getResult()).getDimSize(1);
  if (heads < 1 || gradient.getDimSize(1) % heads != 0)
    return emitOpError() << "expects a number of heads that divides the width of " << gradient << ", got " << heads;
  return expectPerHead(*this, "the result", typeOf(getResult()), gradient, heads);
}

LogicalResult AttentionGradQueryOp::verify() {
  if (failed(verifyAttentionGrad(*this)))
    return failure();
  if (!sameButBits(getResult(), getQuery()))
    return emitOpError("expects a result of the query's type");
  return success();
}

LogicalResult AttentionGradKeyValueOp::verify() {
  if (failed(verifyAttentionGrad(*this)))
    return failure();
  if (!sameButBits(getKeyGradient(), getKey()) || !sameButBits(getValueGradient(), getKey()))
    return emitOpError("expects results of the key's type");
  return success();
}
