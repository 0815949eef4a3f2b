#include "compiler/Graph/Autodiff/Optimizer.h"

#include "compiler/Analysis/Locations/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::heddle;

Value heddle::buildRead(OpBuilder &builder, Location loc, VariableOp variable) {
  return ReadOp::create(builder, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable));
}

namespace {

/// The upper bound of the loss scale: its inverse is still a normal number.
constexpr double kLargestScale = 0x1p120;

/// The numbers that Adam's updates share. `decay` is null without weight decay.
struct AdamNumbers {
  Value rate, first, second, scale, decay;
};

/// The numbers that the updates of a text share.
struct TextNumbers {
  Value rate, step, scale;
};

/// Builds one optimizer step, with formulas on tensor<1xf32>.
class OptimizerStep {
public:
  OptimizerStep(Operation *root, const OptimizerOptions &options, const VariableRoles &variables)
      : options(options), variables(variables), root(root), builder(root), writes(root->getBlock()->getTerminator()),
        loc(root->getLoc()), scalar(RankedTensorType::get({1}, builder.getF32Type())) {}

  FailureOr<Value> build(ArrayRef<WeightGradient> weights);

private:
  Value fill(double value) { return FillOp::create(builder, loc, scalar, builder.getF32FloatAttr(value)); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value min(Value a, Value b) { return arith::MinimumFOp::create(builder, loc, a, b); }
  VariableOp find(VariableRole role, Type type) { return variables.find(root, role, {}, type); }
  void write(VariableOp variable, Value value) {
    WriteOp::create(writes, loc, FlatSymbolRefAttr::get(variable), value);
  }

  Value buildStep(VariableOp counter);
  Value buildRate(Value step);
  Value buildCorrection(FloatAttr beta, Value step);
  Value buildSumOfSquares(ArrayRef<WeightGradient> weights);
  FailureOr<Value> buildGradientScale(ArrayRef<WeightGradient> weights);
  Value buildClipping(Value norm);
  FailureOr<Value> buildLossScale(Value sumOfSquares);
  FailureOr<Value> buildStepsTaken(Value step);
  Value buildDecay(Value rate, Value gradientScale);
  LogicalResult buildAdam(const WeightGradient &weight, const AdamNumbers &adam);
  LogicalResult buildUpdate(const WeightGradient &weight, FlatSymbolRefAttr rule, const TextNumbers &numbers);

  const OptimizerOptions &options;
  const VariableRoles &variables;
  Operation *root;
  OpBuilder builder, writes;
  Location loc;
  RankedTensorType scalar;
};

} // namespace

/// Counts the step, from 1 on, and returns its number.
Value OptimizerStep::buildStep(VariableOp counter) {
  auto type = counter.getTensorType();
  Value before = buildRead(builder, loc, counter);
  Value one = FillOp::create(builder, loc, type, builder.getI32IntegerAttr(1));
  Value step = arith::AddIOp::create(builder, loc, before, one);
  write(counter, step);
  return arith::SIToFPOp::create(builder, loc, scalar, step);
}

Value OptimizerStep::buildRate(Value step) {
  Block &body = options.rate.front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), step);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

/// Returns 1 / (1 - beta^step), with the power computed as an exponential.
Value OptimizerStep::buildCorrection(FloatAttr beta, Value step) {
  double base = beta.getValueAsDouble();
  if (base == 0)
    return fill(1);
  Value exponent = arith::MulFOp::create(builder, loc, step, fill(std::log(base)));
  Value power = math::ExpOp::create(builder, loc, exponent);
  Value one = fill(1);
  return div(one, arith::SubFOp::create(builder, loc, one, power));
}

/// Returns the sum of the squares of all gradients. It takes one launch per gradient, for the sums of its columns, and
/// then a launch that adds up all of these.
Value OptimizerStep::buildSumOfSquares(ArrayRef<WeightGradient> weights) {
  SmallVector<Value> parts;
  int64_t count = 0;
  for (const WeightGradient &weight : weights) {
    Value squares = arith::MulFOp::create(builder, loc, weight.gradient, weight.gradient);
    auto type = cast<RankedTensorType>(squares.getType());
    if (type.getRank() == 2)
      squares = SumOp::create(builder, loc, getDimType(type, 1, builder.getF32Type()), squares, /*columns=*/false);
    count += cast<RankedTensorType>(squares.getType()).getNumElements();
    parts.push_back(squares);
  }
  // A kernel writes a part in vectors. Their length is at most the largest power of two that divides the part's size.
  // In this order each part begins at a multiple of that power.
  llvm::stable_sort(parts, [](Value a, Value b) {
    auto power = [](Value part) {
      return llvm::countr_zero<uint64_t>(cast<RankedTensorType>(part.getType()).getNumElements());
    };
    return power(a) > power(b);
  });
  auto all = RankedTensorType::get({count}, builder.getF32Type());
  Value squares = parts.size() == 1 ? parts.front() : ConcatOp::create(builder, loc, all, parts).getResult();
  return count == 1 ? squares : SumOp::create(builder, loc, scalar, squares, /*columns=*/true);
}

/// Returns the factor for all gradients. Clipping by the global norm scales all of them equally.
FailureOr<Value> OptimizerStep::buildGradientScale(ArrayRef<WeightGradient> weights) {
  bool clips = options.clipNorm > 0, scales = bool(options.scaleInterval);
  if (!clips && !scales)
    return fill(1);
  Value sum = buildSumOfSquares(weights);
  if (scales)
    return buildLossScale(sum);
  return buildClipping(math::SqrtOp::create(builder, loc, sum));
}

/// Returns the factor that clips gradients of this norm.
Value OptimizerStep::buildClipping(Value norm) {
  Value guarded = arith::AddFOp::create(builder, loc, norm, fill(1e-6));
  Value ratio = div(fill(options.clipNorm), guarded);
  return min(fill(1), ratio);
}

/// Returns the factor that undoes the loss scale, and updates the scale for the next step. The sum of the squares of
/// the scaled gradients is finite only if all of them are.
FailureOr<Value> OptimizerStep::buildLossScale(Value sumOfSquares) {
  VariableOp scaleVariable = find(VariableRole::LossScale, scalar);
  auto count = RankedTensorType::get({1}, builder.getI32Type());
  VariableOp good = find(VariableRole::GoodSteps, count), skipped = find(VariableRole::SkippedSteps, count);
  if (!scaleVariable || !good || !skipped)
    return failure();
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  auto mul = [&](Value a, Value b) -> Value { return arith::MulFOp::create(builder, loc, a, b); };
  auto whole = [&](int64_t value) -> Value {
    return FillOp::create(builder, loc, count, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  auto next = [&](VariableOp variable) -> Value {
    return arith::AddIOp::create(builder, loc, buildRead(builder, loc, variable), whole(1));
  };
  Value scale = buildRead(builder, loc, scaleVariable);
  Value isFinite = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE, sumOfSquares,
                                         fill(std::numeric_limits<float>::max()));
  Value gradientScale = div(fill(1), scale);
  if (options.clipNorm > 0) {
    Value norm = mul(math::SqrtOp::create(builder, loc, sumOfSquares), gradientScale);
    gradientScale = mul(gradientScale, buildClipping(norm));
  }

  Value goodOnes = next(good);
  Value isDue =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, goodOnes, whole(options.scaleInterval.getInt()));
  Value larger = min(mul(scale, fill(2)), fill(kLargestScale));
  Value smaller = arith::MaximumFOp::create(builder, loc, mul(scale, fill(0.5)), fill(1 / kLargestScale));
  write(scaleVariable, select(isFinite, select(isDue, larger, scale), smaller));
  write(good, select(isFinite, select(isDue, whole(0), goodOnes), whole(0)));
  write(skipped, select(isFinite, buildRead(builder, loc, skipped), next(skipped)));
  return select(isFinite, gradientScale, fill(0));
}

/// Returns the number of steps for Adam's corrections, which do not count earlier steps that were skipped.
FailureOr<Value> OptimizerStep::buildStepsTaken(Value step) {
  if (!options.scaleInterval)
    return step;
  VariableOp skipped = find(VariableRole::SkippedSteps, RankedTensorType::get({1}, builder.getI32Type()));
  if (!skipped)
    return failure();
  Value count = arith::SIToFPOp::create(builder, loc, scalar, buildRead(builder, loc, skipped));
  return Value(arith::SubFOp::create(builder, loc, step, count));
}

/// Returns the factor that shrinks matrices in a step, or null without weight decay. It is 1 in a skipped step.
Value OptimizerStep::buildDecay(Value rate, Value gradientScale) {
  if (!options.weightDecay)
    return {};
  Value loss = arith::MulFOp::create(builder, loc, rate, fill(options.weightDecay.getValueAsDouble()));
  Value one = fill(1), kept = arith::SubFOp::create(builder, loc, one, loss);
  if (!options.scaleInterval)
    return kept;
  Value isTaken = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, gradientScale, fill(0));
  return arith::SelectOp::create(builder, loc, isTaken, kept, one);
}

LogicalResult OptimizerStep::buildAdam(const WeightGradient &weight, const AdamNumbers &numbers) {
  VariableOp variable = weight.weight;
  StringRef name = variable.getSymName();
  Type type = variable.getType();
  VariableOp first = variables.find(root, VariableRole::FirstMoment, name, type);
  VariableOp second = variables.find(root, VariableRole::SecondMoment, name, type);
  if (!first || !second)
    return failure();
  Value firstMoment = buildRead(builder, loc, first), secondMoment = buildRead(builder, loc, second), average;
  VariableOp averageVariable;
  if (options.averageDecay) {
    averageVariable = variables.find(root, VariableRole::Average, name, type);
    if (!averageVariable)
      return failure();
    average = buildRead(builder, loc, averageVariable);
  }
  Location place = NameLoc::get(builder.getStringAttr("update of " + name), loc);
  Value value = weight.value;
  if (numbers.decay && cast<RankedTensorType>(type).getRank() == 2 && !variable->hasAttr(kNoDecayAttrName))
    value = arith::MulFOp::create(builder, place, value, BroadcastOp::create(builder, place, type, numbers.decay));
  auto adam = AdamOp::create(builder, place, type, type, type, average ? type : Type(), value, weight.gradient,
                             firstMoment, secondMoment, numbers.rate, numbers.first, numbers.second, numbers.scale,
                             average, /*step=*/Value(), options.beta1, options.beta2, options.epsilon,
                             options.averageDecay, options.scaleInterval ? builder.getUnitAttr() : UnitAttr());
  write(variable, adam.getNewWeight());
  write(first, adam.getNewFirstMoment());
  write(second, adam.getNewSecondMoment());
  if (average)
    write(averageVariable, adam.getNewAverage());
  return success();
}

/// Builds the update of a weight by its text's function, in a region of its own. Gradient clipping, skipped steps and
/// the average of the weights are the same for all texts, so they are added here.
LogicalResult OptimizerStep::buildUpdate(const WeightGradient &weight, FlatSymbolRefAttr rule,
                                         const TextNumbers &numbers) {
  VariableOp variable = weight.weight;
  auto type = cast<RankedTensorType>(variable.getType());
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(root, rule);
  if (!function || function.getNumArguments() < 4 || function.getArgumentTypes().front() != type ||
      function.getNumResults() + 3 != function.getNumArguments())
    return variable.emitOpError() << "@" << variable.getSymName() << " has no function " << rule << " that updates a "
                                  << type;
  SmallVector<VariableOp> states;
  SmallVector<Value> inputs;
  auto addState = [&](VariableOp state) {
    states.push_back(state);
    inputs.push_back(buildRead(builder, loc, state));
  };
  for (unsigned i = 2; i + 2 < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "heddle.name");
    std::string symbol = getStateName(name ? name.getValue() : "", variable.getSymName());
    auto state = SymbolTable::lookupNearestSymbolFrom<VariableOp>(root, builder.getStringAttr(symbol));
    if (!state || state.getType() != function.getArgumentTypes()[i])
      return variable.emitOpError() << "@" << variable.getSymName() << " lacks its optimizer state @\"" << symbol
                                    << "\", of type " << function.getArgumentTypes()[i];
    addState(state);
  }
  if (options.averageDecay) {
    VariableOp average = variables.find(root, VariableRole::Average, variable.getSymName(), type);
    if (!average)
      return failure();
    addState(average);
  }
  auto types = llvm::map_to_vector(states, [](VariableOp state) { return Type(state.getType()); });
  bool scales = options.clipNorm > 0 || options.scaleInterval;
  inputs.append({numbers.rate, numbers.step});
  if (scales)
    inputs.push_back(numbers.scale);

  NameLoc place = NameLoc::get(builder.getStringAttr("update of " + variable.getSymName()), loc);
  auto update = UpdateOp::create(builder, place, type, types, weight.value, weight.gradient, inputs);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> places(update->getNumOperands(), place);
  Block *block = builder.createBlock(&update.getBody(), {}, update->getOperandTypes(), places);
  auto widen = [&](Value number, Type to) -> Value { return BroadcastOp::create(builder, place, to, number); };
  Value gradient = block->getArgument(1);
  if (scales)
    gradient = arith::MulFOp::create(builder, place, gradient, widen(block->getArguments().back(), type));
  IRMapping mapping;
  unsigned rate = static_cast<unsigned>(states.size()) + 2;
  for (BlockArgument argument : function.getArguments())
    mapping.map(argument, block->getArgument(argument.getArgNumber()));
  mapping.map(function.getArgument(1), gradient);
  for (unsigned i : {0U, 1U})
    mapping.map(function.getArgument(function.getNumArguments() - 2 + i), block->getArgument(rate + i));
  for (Operation &op : function.getBody().front().without_terminator())
    builder.clone(op, mapping)->setLoc(NameLoc::get(place.getName(), op.getLoc()));
  SmallVector<Value> results;
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.push_back(mapping.lookup(value));
  if (options.averageDecay) {
    double decay = options.averageDecay.getValueAsDouble();
    auto times = [&](Value value, double by) -> Value {
      return arith::MulFOp::create(
          builder, place, value, FillOp::create(builder, place, type, builder.getF32FloatAttr(static_cast<float>(by))));
    };
    Value before = block->getArgument(static_cast<unsigned>(states.size()) + 1);
    results.push_back(arith::AddFOp::create(builder, place, times(before, decay), times(results.front(), 1 - decay)));
  }
  if (options.scaleInterval) // a gradient scale of 0 skips the step
    for (auto [i, result] : llvm::enumerate(results)) {
      Value before = block->getArgument(i == 0 ? 0 : static_cast<unsigned>(i) + 1);
      Value zero = FillOp::create(builder, place, result.getType(), builder.getF32FloatAttr(0));
      Value taken = arith::CmpFOp::create(builder, place, arith::CmpFPredicate::OGT,
                                          widen(block->getArguments().back(), result.getType()), zero);
      results[i] = arith::SelectOp::create(builder, place, taken, result, before);
    }
  YieldOp::create(builder, place, results);
  write(variable, update.getNewWeight());
  for (auto [state, value] : llvm::zip_equal(states, update.getNewStates()))
    write(state, value);
  return success();
}

FailureOr<Value> OptimizerStep::build(ArrayRef<WeightGradient> weights) {
  VariableOp counter = find(VariableRole::Steps, RankedTensorType::get({1}, builder.getI32Type()));
  if (!counter)
    return failure();
  Value step = buildStep(counter);
  Value rate = buildRate(step);
  FailureOr<Value> taken = buildStepsTaken(step);
  if (failed(taken))
    return failure();
  // The first moment's correction is part of the rate: a kernel has few arguments, and a constant needs none.
  AdamNumbers adam;
  adam.rate = arith::MulFOp::create(builder, loc, rate, buildCorrection(options.beta1, *taken));
  adam.first = fill(1), adam.second = buildCorrection(options.beta2, *taken);
  FailureOr<Value> scale = buildGradientScale(weights);
  if (failed(scale))
    return failure();

  adam.scale = *scale;
  adam.decay = buildDecay(rate, *scale);
  for (const WeightGradient &weight : weights) {
    auto rule = weight.weight->getAttrOfType<FlatSymbolRefAttr>(kUpdateAttrName);
    if (failed(rule ? buildUpdate(weight, rule, {rate, *taken, *scale}) : buildAdam(weight, adam)))
      return failure();
  }
  return rate;
}

FailureOr<Value> heddle::buildOptimizerStep(Operation *root, const OptimizerOptions &options,
                                            ArrayRef<WeightGradient> weights, const VariableRoles &variables) {
  return OptimizerStep(root, options, variables).build(weights);
}
