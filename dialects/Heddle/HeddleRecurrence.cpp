// Verifiers and canonicalization of the ops of recurrence, and the gradient rules of `heddle.columns` and
// `heddle.join`. The gradient of `heddle.scan` is itself a scan: compiler/Graph/Autodiff/ScanGradient.cpp.
#include "dialects/Heddle/Checks.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::heddle;

/// Returns `type` with the run-time size `size` as its first dimension.
static RankedTensorType withRows(RankedTensorType type, StringAttr size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = ShapedType::kDynamic;
  SmallVector<StringAttr> names{size};
  if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
    llvm::append_range(names, dims.getNames().drop_front(type.isDynamicDim(0) ? 1 : 0));
  return RankedTensorType::get(shape, type.getElementType(), DimsAttr::get(type.getContext(), names));
}

static bool haveSameRows(RankedTensorType a, RankedTensorType b) {
  return a.getRank() == b.getRank() && a.getElementType() == b.getElementType() &&
         a.getShape().drop_front() == b.getShape().drop_front();
}

//===-- Scans ---------------------------------------------------------------------------------------------------===//

RankedTensorType ScanOp::getStepType(Type type) { return withRows(cast<RankedTensorType>(type), getStepAttr()); }

RankedTensorType ScanOp::getTokenType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  bool isOfStep = tensor.getRank() > 0 && tensor.isDynamicDim(0) && getSizeName(tensor, 0) == getStep();
  StringRef tokens = getSizeName(typeOf(getRows().front()), 0);
  return isOfStep ? withRows(tensor, StringAttr::get(getContext(), tokens)) : tensor;
}

Value ScanOp::getOutside(BlockArgument argument) {
  size_t index = argument.getArgNumber(), rows = getRows().size(), states = getStates().size();
  if (index < rows)
    return getRows()[index];
  return index < rows + states ? Value() : getConstants()[index - rows - states];
}

namespace {

/// Replaces an output by an earlier output of the same value.
struct ShareOutputs : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    auto yielded = cast<YieldOp>(op.getBody().front().getTerminator()).getOperands();
    size_t first = op.getStates().size();
    for (size_t i = first; i < yielded.size(); ++i)
      for (size_t j = first; j < i; ++j)
        if (yielded[i] == yielded[j] && !op.getResult(i).use_empty()) {
          rewriter.replaceAllUsesWith(op.getResult(i), op.getResult(j));
          return success();
        }
    return failure();
  }
};

/// Drops outputs that nobody uses, and rows and constants that the region does not use.
struct DropUnused : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    Block &block = op.getBody().front();
    auto yield = cast<YieldOp>(block.getTerminator());
    llvm::BitVector arguments(block.getNumArguments()), outputs(op.getNumResults());
    for (auto [i, argument] : llvm::enumerate(op.getRowArguments()))
      if (argument.use_empty() && i > 0) // the first rows give the number of tokens
        arguments.set(argument.getArgNumber());
    for (BlockArgument argument : op.getConstantArguments())
      if (argument.use_empty())
        arguments.set(argument.getArgNumber());
    for (OpResult output : op.getOutputs())
      if (output.use_empty())
        outputs.set(output.getResultNumber());
    if (arguments.none() && outputs.none())
      return failure();

    SmallVector<Value> rows, constants, yielded;
    SmallVector<Type> types;
    for (BlockArgument argument : op.getRowArguments())
      if (!arguments.test(argument.getArgNumber()))
        rows.push_back(op.getOutside(argument));
    for (BlockArgument argument : op.getConstantArguments())
      if (!arguments.test(argument.getArgNumber()))
        constants.push_back(op.getOutside(argument));
    for (auto [i, value] : llvm::enumerate(yield.getOperands()))
      if (!outputs.test(i)) {
        yielded.push_back(value);
        types.push_back(op.getResult(i).getType());
      }
    auto fewer = ScanOp::create(rewriter, op.getLoc(), types, rows, op.getStates(), constants, op.getStarts(),
                                op.getLengths(), op.getRowSizeAttr(), op.getStepAttr(), op.getReverseAttr());
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
    rewriter.inlineRegionBefore(op.getBody(), fewer.getBody(), fewer.getBody().end());
    fewer.getBody().front().eraseArguments(arguments);
    SmallVector<Value> results;
    for (size_t i = 0, next = 0; i < op.getNumResults(); ++i)
      results.push_back(outputs.test(i) ? Value() : fewer.getResult(next++));
    for (auto [old, result] : llvm::zip_equal(op.getResults(), results))
      if (result)
        rewriter.replaceAllUsesWith(old, result);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnused, ShareOutputs>(context);
}

LogicalResult ScanOp::verify() {
  RankedTensorType sequences = typeOf(getStarts());
  if (typeOf(getLengths()) != sequences || !sequences.isDynamicDim(0))
    return emitOpError() << "expects starts and lengths for the same number of sequences, known at run time, got "
                         << sequences << " and " << getLengths().getType();
  auto isOf = [](Value value, StringRef size) {
    return typeOf(value).isDynamicDim(0) && getSizeName(typeOf(value), 0) == size;
  };
  StringRef tokens = getRows().empty() ? StringRef() : getSizeName(typeOf(getRows().front()), 0);
  if (tokens.empty())
    return emitOpError("expects at least one operand of `rows`, whose first dimension says how many tokens there are");
  for (Value rows : getRows())
    if (!isOf(rows, tokens))
      return emitOpError() << "expects rows of the same tokens, got " << getRows().front().getType() << " and "
                           << rows.getType();
  for (Value state : getStates())
    if (!isOf(state, getSizeName(sequences, 0)))
      return emitOpError() << "expects states with a row for each sequence, got " << state.getType() << " beside "
                           << sequences;
  SmallVector<Type> expected;
  for (Value value : getRows())
    expected.push_back(getStepType(value.getType()));
  for (Value value : getStates())
    expected.push_back(getStepType(value.getType()));
  llvm::append_range(expected, getConstants().getTypes());
  Block &block = getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return emitOpError("expects its region to take a step's rows, the states and the constants, in this order");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getNumOperands() != getNumResults() || getNumResults() < getStates().size())
    return emitOpError("expects its region to yield the new states and then the outputs, one for each result");
  for (auto [value, state] : llvm::zip_first(getStateArguments(), yield.getOperands()))
    if (value.getType() != state.getType())
      return emitOpError() << "expects its region to yield a state of the type " << value.getType() << ", got "
                           << state.getType();
  for (auto [state, last] : llvm::zip_first(getStates(), getLast()))
    if (state.getType() != last.getType())
      return emitOpError() << "gives a state of the type " << last.getType() << ", which began as " << state.getType();
  for (auto [value, output] : llvm::zip(yield.getOperands().drop_front(getStates().size()), getOutputs()))
    if (!isOf(output, tokens) || value.getType() != getStepType(output.getType()))
      return emitOpError() << "expects a row of the output " << output.getType() << " for each token, got "
                           << value.getType();
  return success();
}

LogicalResult RepeatOp::verify() {
  if (getStarts().getType() != getCounts().getType() || !typeOf(getStarts()).hasStaticShape())
    return emitOpError() << "expects the starts and the counts of as many steps, got " << getStarts().getType()
                         << " and " << getCounts().getType();
  SmallVector<Type> expected{RankedTensorType::get({1}, IntegerType::get(getContext(), 32))};
  llvm::append_range(expected, getCarried().getTypes());
  llvm::append_range(expected, getConstants().getTypes());
  Block &block = getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return emitOpError("expects its region to take a number of a row, the carried values and the constants");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getCarried().getTypes() || getResultTypes() != getCarried().getTypes())
    return emitOpError("expects its region to yield, and the op to give, values of the carried ones' types");
  return success();
}

LogicalResult StepRowsOp::verify() {
  if (haveSameRows(typeOf(getInput()), typeOf(getResult())))
    return success();
  return emitOpError() << "expects rows of the same type in " << getInput().getType() << " and "
                       << getResult().getType();
}

LogicalResult InsertRowsOp::verify() {
  if (haveSameRows(typeOf(getRows()), typeOf(getDestination())))
    return success();
  return emitOpError() << "expects rows of the same type in " << getRows().getType() << " and "
                       << getDestination().getType();
}

LogicalResult ReplaceFirstOp::verify() {
  if (haveSameRows(typeOf(getRows()), typeOf(getDestination())))
    return success();
  return emitOpError() << "expects rows of the same type in " << getRows().getType() << " and "
                       << getDestination().getType();
}

LogicalResult StepSizesOp::verify() {
  if (typeOf(getStarts()).hasStaticShape())
    return success();
  return emitOpError() << "expects as many steps as the longest sequence may have, got " << getStarts().getType();
}

//===-- Columns -------------------------------------------------------------------------------------------------===//

static LogicalResult verifySameNumberOfRows(Operation *op, RankedTensorType a, RankedTensorType b) {
  if (a.getDimSize(0) == b.getDimSize(0) && getSizeName(a, 0) == getSizeName(b, 0) && !a.isDynamicDim(1) &&
      !b.isDynamicDim(1))
    return success();
  return op->emitOpError() << "expects as many rows, of a static number of columns, in " << a << " and " << b;
}

LogicalResult ColumnsOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (failed(verifySameNumberOfRows(*this, input, result)))
    return failure();
  auto from = static_cast<int64_t>(getFrom());
  if (from < 0 || from > input.getDimSize(1) - result.getDimSize(1))
    return emitOpError() << "takes " << result.getDimSize(1) << " columns from " << from << " on of "
                         << input.getDimSize(1);
  return success();
}

LogicalResult JoinOp::verify() {
  if (getParts().empty())
    return emitOpError("expects at least one part");
  int64_t columns = 0;
  for (Value part : getParts()) {
    if (failed(verifySameNumberOfRows(*this, typeOf(part), typeOf(getResult()))))
      return failure();
    columns += typeOf(part).getDimSize(1);
  }
  if (columns != typeOf(getResult()).getDimSize(1))
    return emitOpError() << "expects a result of its parts' " << columns << " columns, got " << getResult().getType();
  return success();
}

OpFoldResult JoinOp::fold(FoldAdaptor) { return getParts().size() == 1 ? getParts().front() : Value(); }

static Value zerosOf(OpBuilder &builder, Location loc, RankedTensorType like, int64_t columns) {
  auto type = RankedTensorType::get({like.getDimSize(0), columns}, like.getElementType(), like.getEncoding());
  return FillOp::create(builder, loc, type, builder.getF32FloatAttr(0));
}

FailureOr<SmallVector<Value>> ColumnsOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  RankedTensorType input = typeOf(getInput());
  int64_t before = static_cast<int64_t>(getFrom()),
          behind = input.getDimSize(1) - before - typeOf(getResult()).getDimSize(1);
  SmallVector<Value> parts;
  if (before > 0)
    parts.push_back(zerosOf(builder, getLoc(), input, before));
  parts.push_back(resultGradients[0]);
  if (behind > 0)
    parts.push_back(zerosOf(builder, getLoc(), input, behind));
  return SmallVector<Value>{JoinOp::create(builder, getLoc(), input, parts)};
}

FailureOr<SmallVector<Value>> JoinOp::buildGradient(OpBuilder &builder, ValueRange resultGradients) {
  SmallVector<Value> gradients;
  int64_t from = 0;
  for (Value part : getParts()) {
    gradients.push_back(ColumnsOp::create(builder, getLoc(), part.getType(), resultGradients[0], from));
    from += typeOf(part).getDimSize(1);
  }
  return gradients;
}
