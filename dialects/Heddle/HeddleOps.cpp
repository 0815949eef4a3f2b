// Sizes, variables, tasks, training, kernels, and views of tensors: verifiers, folds and gradients.
#include "dialects/Heddle/Checks.h"
#include "dialects/Heddle/Limits.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

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
    return getWithin() ? emitOpError("is within bounds of no size") : success();
  auto whole = lookup<SizeOp>(*this, symbols, getOfAttr(), "size");
  if (!whole)
    return failure();
  auto times = static_cast<int64_t>(getTimes()), from = static_cast<int64_t>(getFrom()),
       maximum = static_cast<int64_t>(getMaximum());
  if (whole.getOfAttr() || whole.getFixed())
    return emitOpError() << "expects " << getOfAttr() << " to be bound by an input";
  if (times < 1 || times > kLargestSize)
    return emitOpError() << "is a multiple of " << getOfAttr() << " by a factor of 1 to " << kLargestSize << ", got "
                         << times;
  int64_t most = static_cast<int64_t>(whole.getMaximum()) * times;
  bool isMultiple = times != 1 && from == 0 && !getWithin() && maximum == most;
  if (auto [of, factor] = getFactorOfSize(getSymName());
      factor != 1 ? !isMultiple || of != whole.getSymName() || factor != times : isMultiple)
    return emitOpError() << "@" << getSymName() << " is not called like a multiple: " << getOfAttr()
                         << " times N is @\"" << whole.getSymName() << "*N\"";
  if (getWithin() && (from < 0 || from >= maximum || maximum > most))
    return emitOpError() << "is " << getOfAttr() << " above " << from << " and at most " << maximum
                         << ", and that is at most " << most;
  if (!getWithin() && (from < 0 || from > most - maximum))
    return emitOpError() << "covers " << maximum << " from " << from << " on of " << getOfAttr()
                         << ", whose maximum is " << most;
  return success();
}

/// Returns true if the number is finite as an element of this type.
static bool isFinite(FloatAttr number, Type element) {
  double value = number.getValueAsDouble();
  if (element.isInteger(32))
    return std::abs(value) <= std::numeric_limits<int32_t>::max();
  return std::abs(value) <= std::numeric_limits<float>::max(); // also false for NaN
}

RankedTensorType VariableOp::getTypeOfCallers() {
  RankedTensorType type = getTensorType();
  std::optional<uint64_t> columns = getColumns();
  auto width = static_cast<int64_t>(columns.value_or(0));
  return columns ? type.clone({type.getNumElements() / width, width}) : type;
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
  if (std::optional<uint64_t> columns = getColumns();
      columns && (!isWeight() || getStorageAttr() || getRole() || getTensorType().getRank() != 2 || *columns == 0 ||
                  getTensorType().getNumElements() % *columns != 0 || *columns % getTensorType().getDimSize(1) != 0))
    return emitOpError() << "@" << getSymName() << " is in panels of " << getType()
                         << ", which are no whole panels of a weight with " << *columns << " columns";
  if (getSymName() == "__metadata__")
    return emitOpError() << "cannot be called @__metadata__: checkpoints have their metadata by that name";
  if (std::optional<StartAttr> start = getStart(); start && !isFinite(start->getScale(), element))
    return emitOpError() << "@" << getSymName() << " begins with " << start->getScale()
                         << ", which is beyond the numbers of " << element;
  if (std::optional<StartAttr> start = getStart(); start && start->getKind() != StartKind::Constant && !element.isF32())
    return emitOpError() << "@" << getSymName() << " is a " << getType() << ", and f32 alone begins at random";
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
  bool isFrozen = isPartOfPacked(*role) && getKind() == VariableKind::Frozen; // like its weight
  if (getKind() != heddle::getKind(*role) && !isFrozen)
    return emitOpError() << "is " << stringifyVariableKind(getKind()) << ", but its role " << name << " is of kind "
                         << stringifyVariableKind(heddle::getKind(*role));
  auto words = RankedTensorType::get({2}, IntegerType::get(getContext(), 32));
  if (*role == VariableRole::Seed && getTensorType() != words)
    return emitOpError() << "is the model's seed, which is a " << words << ", got " << getType();
  return success();
}

/// Fails unless both types have the same element type, and the same dimensions except the first.
static LogicalResult expectSameRows(Operation *op, RankedTensorType a, RankedTensorType b) {
  bool same = a.getElementType() == b.getElementType() && a.getRank() == b.getRank();
  for (int64_t dim = 1; same && dim < a.getRank(); ++dim)
    same = sameDim({a, dim}, {b, dim});
  if (same)
    return success();
  return op->emitOpError() << "expects rows of the same type in " << a << " and " << b;
}

/// Fails unless the variable's type fits the weight that it belongs to: the same shape for a rounded copy or a bf16
/// moment, a matrix for a part of a packed weight, and otherwise the same type.
static LogicalResult verifyOwner(VariableOp variable, SymbolTableCollection &symbols) {
  auto owner = lookup<VariableOp>(variable, symbols, variable.getOwnerAttr(), "variable");
  if (!owner)
    return failure();
  if (!owner.isWeight())
    return variable.emitOpError() << "belongs to " << variable.getOwnerAttr() << ", which is "
                                  << stringifyVariableKind(owner.getKind()) << " and no weight";
  RankedTensorType type = variable.getTensorType(), whole = owner.getTensorType();
  if (isPartOfPacked(*variable.getRole())) {
    bool isHigh = variable.getRole() == VariableRole::HighBits;
    Type element = type.getElementType();
    bool isKnown = element.isInteger(32) || (!isHigh && isa<Float32Type, Float16Type, BFloat16Type>(element));
    if (whole.getElementType().isInteger(32) && whole.getRank() == 2 && isKnown && type.getRank() == 2)
      return success();
    return variable.emitOpError() << "is a " << type << " of " << stringifyVariableRole(*variable.getRole()) << ", and "
                                  << variable.getOwnerAttr() << " a " << whole << "; expects a matrix of "
                                  << (isHigh ? "words" : "f32, f16, bf16 or words") << " for a matrix of packed words";
  }
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
  if (from < 0 || from > whole.getDimSize(0) - view.getDimSize(0))
    return emitOpError() << "expects rows that " << getStorageAttr() << " has, got " << view << " from row " << from
                         << " of " << whole;
  llvm::SmallPtrSet<Operation *, 8> chain; // the views from here to the memory
  for (; storage && storage.getStorageAttr() && chain.insert(storage).second;
       storage = symbols.lookupNearestSymbolFrom<VariableOp>(*this, storage.getStorageAttr()))
    if (storage == *this)
      return emitOpError() << "@" << getSymName() << " is a view of itself";
  return success();
}

static LogicalResult verifyVariableUse(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name,
                                       Type type) {
  auto variable = lookup<VariableOp>(op, symbols, name, "variable");
  if (!variable)
    return failure();
  if (variable.getType() != type)
    return op->emitOpError() << "has type " << type << ", but variable " << name << " is " << variable.getType();
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, symbols, getVariableAttr(), getResult().getType());
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, symbols, getVariableAttr(), getValue().getType());
}

/// Fails unless the region computes the learning rate by elementwise arithmetic: it joins the kernel that updates
/// counters.
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

LogicalResult TaskOp::verify() {
  if (static_cast<int64_t>(getBeam()) < 1)
    return emitOpError() << "expects a beam of at least 1, got " << getBeam();
  if (std::optional<uint64_t> rows = getCacheRows(); rows && static_cast<int64_t>(*rows) < 1)
    return emitOpError() << "expects at least 1 of cache_rows, got " << static_cast<int64_t>(*rows);
  return success();
}

LogicalResult TrainingOp::verify() {
  if (getLossScale().has_value() != getScaleInterval().has_value())
    return emitOpError() << "expects loss_scale and scale_interval together or not at all";
  bool hasPreference = getPreference().has_value();
  if (hasPreference != getPreferenceBeta().has_value() || hasPreference != getPreferenceSmoothing().has_value())
    return emitOpError() << "expects preference, preference_beta and preference_smoothing together or not at all";
  if (hasPreference && *getPreference() != "dpo" && *getPreference() != "ipo")
    return emitOpError() << "expects the preference \"dpo\" or \"ipo\", got \"" << *getPreference() << "\"";
  if (hasPreference && !getTokenWeights())
    return emitOpError() << "expects token_weights with a preference: they select the tokens of the answers";
  return success();
}

LogicalResult ApplyOp::verify() { return verifyRate(*this, getRate()); }

SmallVector<std::pair<Value, Value>> UpdateOp::getStates() {
  SmallVector<std::pair<Value, Value>> states;
  for (auto [before, after] : llvm::zip(getInputs(), getNewStates()))
    states.push_back({before, after});
  return states;
}

/// True if all ops are elementwise, on tensors of the weight's shape or on single numbers.
bool UpdateOp::isRowwiseStep() {
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && (tensor.getNumElements() == 1 ||
                      tensor.getShape() == cast<RankedTensorType>(getWeight().getType()).getShape());
  };
  return llvm::all_of(getOperandTypes(), fits) &&
         llvm::all_of(getBody().front().without_terminator(),
                      [&](Operation &op) { return isElementwise(&op) && llvm::all_of(op.getResultTypes(), fits); });
}

LogicalResult UpdateOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError("expects its region's arguments to have the operands' types");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("expects its region to yield the results' types");
  if (getInputs().size() < getNewStates().size() ||
      TypeRange(getInputs().getTypes()).take_front(getNewStates().size()) != getNewStates().getTypes())
    return emitOpError("expects its first inputs to be the states, of the new states' types");
  for (Operation &op : block.without_terminator())
    if (!isPure(&op))
      return emitOpError() << "expects a region that only computes, not '" << op.getName() << "'";
  return success();
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

LogicalResult SliceOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  int64_t from = static_cast<int64_t>(getFrom());
  if (failed(expectSameRows(*this, input, result)))
    return failure();
  if (from < 0 ||
      (!input.isDynamicDim(0) && !result.isDynamicDim(0) && from > input.getDimSize(0) - result.getDimSize(0)))
    return emitOpError() << "expects rows that " << input << " has, got " << result << " from row " << from << " on";
  return success();
}

Gradients SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (!input.hasStaticShape() || !result.hasStaticShape())
    return emitOpError() << "has no gradient rule for rows of " << input;
  int64_t before = static_cast<int64_t>(getFrom()), behind = input.getDimSize(0) - before - result.getDimSize(0);
  SmallVector<Value> parts;
  auto addZeros = [&](int64_t rows) {
    SmallVector<int64_t> shape(input.getShape());
    shape[0] = rows;
    if (rows > 0)
      parts.push_back(FillOp::create(builder, getLoc(), input.clone(shape), builder.getF32FloatAttr(0)));
  };
  addZeros(before);
  parts.push_back(resultGradients[0]);
  addZeros(behind);
  return SmallVector<Value>{ConcatOp::create(builder, getLoc(), input, parts)};
}

LogicalResult ReshapeOp::verify() {
  if (failed(expectTensorsOfKernels(*this)))
    return failure();
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (failed(expectSameElements(*this, input, result)))
    return failure();
  if (sameElements(input, result))
    return success();
  return emitOpError() << "cannot take " << input << " as " << result << ": expects as many elements in as many rows";
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  setOperand(inner.getInput());
  return getResult();
}

Gradients ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  return SmallVector<Value>{ReshapeOp::create(builder, getLoc(), getInput().getType(), resultGradients[0])};
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
