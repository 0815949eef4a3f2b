#include "compiler/Autodiff/Optimizer.h"

#include "compiler/Places/Places.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

VariableOp heddle::lookupVariable(Operation *user, SymbolTable &symbols, const Twine &name, Type type) {
  std::string key = name.str();
  auto variable = symbols.lookup<VariableOp>(key);
  if (variable && variable.getType() == type)
    return variable;
  user->emitOpError() << "needs variable @\"" << key << "\" of type " << type
                      << (variable ? ", but it is of another type" : ", but the module has none; declare it");
  return nullptr;
}

Value heddle::buildRead(OpBuilder &builder, Location loc, VariableOp variable) {
  return ReadOp::create(builder, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable));
}

namespace {

/// Formulas on tensor<1xf32>.
class OptimizerStep {
public:
  OptimizerStep(Operation *root, const OptimizerOptions &options, SymbolTable &symbols)
      : options(options), symbols(symbols), root(root), builder(root), writes(root->getBlock()->getTerminator()),
        loc(root->getLoc()), scalar(RankedTensorType::get({1}, builder.getF32Type())) {}

  FailureOr<Value> build(ArrayRef<WeightGradient> weights);

private:
  Value fill(double value) { return FillOp::create(builder, loc, scalar, builder.getF32FloatAttr(value)); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value min(Value a, Value b) { return arith::MinimumFOp::create(builder, loc, a, b); }
  void write(VariableOp variable, Value value) {
    WriteOp::create(writes, loc, FlatSymbolRefAttr::get(variable), value);
  }

  Value buildStep(VariableOp counter);
  Value buildRate(Value step);
  Value buildCorrection(FloatAttr beta, Value step);
  Value buildSumOfSquares(Value gradient);
  Value buildGradientScale(ArrayRef<WeightGradient> weights);

  const OptimizerOptions &options;
  SymbolTable &symbols;
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

/// A linear rise to the peak over the warmup, then a fall with the inverse square root of the step.
Value OptimizerStep::buildRate(Value step) {
  Value peak = fill(options.peak);
  if (options.warmup == 0)
    return peak;
  Value warmup = fill(static_cast<double>(options.warmup));
  Value rise = div(step, warmup);
  Value fall = math::SqrtOp::create(builder, loc, div(warmup, step));
  return arith::MulFOp::create(builder, loc, peak, min(rise, fall));
}

/// 1 / (1 - beta^step), the power by way of the exponential.
Value OptimizerStep::buildCorrection(FloatAttr beta, Value step) {
  double base = beta.getValueAsDouble();
  if (base == 0)
    return fill(1);
  Value exponent = arith::MulFOp::create(builder, loc, step, fill(std::log(base)));
  Value power = math::ExpOp::create(builder, loc, exponent);
  Value one = fill(1);
  return div(one, arith::SubFOp::create(builder, loc, one, power));
}

Value OptimizerStep::buildSumOfSquares(Value gradient) {
  Value sum = arith::MulFOp::create(builder, loc, gradient, gradient);
  auto type = cast<RankedTensorType>(sum.getType());
  if (type.getRank() == 2)
    sum = SumOp::create(builder, loc, getDimType(type, 1, builder.getF32Type()), sum, /*columns=*/false);
  if (sum.getType() == scalar)
    return sum;
  return SumOp::create(builder, loc, scalar, sum, /*columns=*/true);
}

/// Clipping by the global norm scales all gradients alike.
Value OptimizerStep::buildGradientScale(ArrayRef<WeightGradient> weights) {
  if (!(options.clipNorm > 0))
    return fill(1);
  Value sum;
  for (WeightGradient weight : weights) {
    Value squares = buildSumOfSquares(weight.gradient);
    sum = sum ? arith::AddFOp::create(builder, loc, sum, squares) : squares;
  }
  Value norm = math::SqrtOp::create(builder, loc, sum);
  Value guarded = arith::AddFOp::create(builder, loc, norm, fill(1e-6));
  Value ratio = div(fill(options.clipNorm), guarded);
  return min(fill(1), ratio);
}

FailureOr<Value> OptimizerStep::build(ArrayRef<WeightGradient> weights) {
  if (options.warmup < 0)
    return root->emitOpError() << "expects a warmup of 0 steps or more, got " << options.warmup;
  auto counterType = RankedTensorType::get({1}, builder.getI32Type());
  VariableOp counter = lookupVariable(root, symbols, "step", counterType);
  if (!counter)
    return failure();
  Value step = buildStep(counter);
  Value rate = buildRate(step);
  Value firstCorrection = buildCorrection(options.beta1, step);
  Value secondCorrection = buildCorrection(options.beta2, step);
  Value scale = buildGradientScale(weights);

  for (WeightGradient weight : weights) {
    StringRef name = weight.weight.getSymName();
    Type type = weight.weight.getType();
    VariableOp first = lookupVariable(root, symbols, "adam.m." + name, type);
    VariableOp second = lookupVariable(root, symbols, "adam.v." + name, type);
    if (!first || !second)
      return failure();
    Value firstMoment = buildRead(builder, loc, first), secondMoment = buildRead(builder, loc, second);
    Location place = NameLoc::get(builder.getStringAttr("update of " + name), loc);
    auto adam =
        AdamOp::create(builder, place, type, type, type, weight.value, weight.gradient, firstMoment, secondMoment, rate,
                       firstCorrection, secondCorrection, scale, options.beta1, options.beta2, options.epsilon);
    write(weight.weight, adam.getNewWeight());
    write(first, adam.getNewFirstMoment());
    write(second, adam.getNewSecondMoment());
  }
  return rate;
}

FailureOr<Value> heddle::buildOptimizerStep(Operation *root, const OptimizerOptions &options,
                                            ArrayRef<WeightGradient> weights, SymbolTable &symbols) {
  return OptimizerStep(root, options, symbols).build(weights);
}
