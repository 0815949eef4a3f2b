// Built-in functions for models that are trained on samples: keys drawn at random by attention's weights, values
// without gradients, and moving averages (Xu et al. 2015, section 4.1).
#include "compiler/Model/Language/Builtins.h"
#include "compiler/Model/Language/Elaborator.h"
#include "compiler/Model/Language/Parts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// Replaces weights of zero before the logarithm is taken. With any noise, a key of this weight still loses to every
/// key that may be drawn.
static constexpr float kLeastWeight = 1.17549435e-38f;

/// sample(weights): draws one key for each query, with probabilities `weights`. The key gets the weight 1, and
/// all other keys get 0. Entries other than training take the key with the largest weight.
Item Elaborator::sample(BuiltinCall &call) {
  const TensorItem *weights = scoresOrNull(call.given[0].item);
  Value value = weights ? import(weights->value) : Value();
  if (!weights || typeOf(value).getDimSize(1) != 1)
    return fail(call.where()) << "sample() draws a key for each query by weights of one head, such as "
                                 "softmax(mask(pairs(query, key))), not "
                              << "by " << describe(call.given[0].item);
  RankedTensorType type = typeOf(value);
  if (scanState && !isOfStep(type))
    return refuseQueries(*weights, call.where());
  Location at = place(call.where());
  // In a scan, a step has only some of the queries. Their indices in the batch, which select the random numbers, are
  // computed outside and passed in.
  Value numbers, seed, step;
  {
    OpBuilder::InsertionGuard guard(builder);
    if (scanState)
      builder.setInsertionPointToEnd(&part->function.getBody().front());
    RankedTensorType perQuery = scanState ? columnOf(getScanSide()->tokens) : getDimType(type, 0, builder.getI32Type());
    numbers = IotaOp::create(builder, at, perQuery, 0);
    seed = ReadOp::create(builder, at, RankedTensorType::get({2}, builder.getI32Type()),
                          getVariableName(VariableRole::Seed));
    step = ReadOp::create(builder, at, RankedTensorType::get({1}, builder.getI32Type()),
                          getVariableName(VariableRole::Steps));
  }
  if (scanState)
    numbers = capture(numbers), seed = capture(seed), step = capture(step);

  // The Gumbel-max trick: the argmax of log p + noise is a sample of p.
  RankedTensorType matrix = getTypeOfDims({{type, 0}, {type, 2}}, builder.getF32Type());
  Value flat = ReshapeOp::create(builder, at, matrix, value);
  Value logs = math::LogOp::create(
      builder, at, arith::MaximumFOp::create(builder, at, flat, fill(matrix, kLeastWeight, call.where())));
  Value noise = GumbelOp::create(builder, at, matrix, numbers, seed, step, builder.getI32IntegerAttr(streams++));
  Value drawn = ArgmaxOp::create(builder, at, getDimType(type, 0, builder.getI32Type()),
                                 arith::AddFOp::create(builder, at, logs, noise));
  auto keys = RankedTensorType::get(type.getShape(), builder.getI32Type(), type.getEncoding());
  Value isDrawn = arith::CmpIOp::create(builder, at, arith::CmpIPredicate::eq, IotaOp::create(builder, at, keys, 2),
                                        BroadcastOp::create(builder, at, keys, drawn));
  return make(arith::SelectOp::create(builder, at, isDrawn, fill(type, 1, call.where()), fill(type, 0, call.where())),
              weights->keys);
}

/// stop_gradient(x): x, but treated as a constant by differentiation.
Item Elaborator::stopGradient(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what stop_gradient() is of");
  if (!x)
    return mistake();
  if (!isa<RankedTensorType>(x.getType()) || !typeOf(x).getElementType().isF32())
    return fail(call.where()) << "stop_gradient() takes numbers of the model, not " << describe(call.given[0].item);
  return make(StopGradientOp::create(builder, place(call.where()), x), call.given[0].item.keys());
}

/// moving_average(x, keep): a moving average over the steps, broadcast to the shape of x. Returns the average before
/// this step, and updates it to keep * average + (1 - keep) * mean(x).
Item Elaborator::movingAverage(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what moving_average() is of");
  std::optional<double> keep = x ? real(call.given[1], "what a moving average keeps") : std::nullopt;
  if (!keep)
    return mistake();
  if (*keep < 0 || *keep >= 1)
    return fail(call.given[1].where) << "a moving average keeps from 0 to below 1 of itself, not "
                                     << describe(call.given[1].item);
  RankedTensorType type = typeOf(x);
  if (!isColumn(type) || !type.getElementType().isF32() || part->syntax->name.text != "loss" || scanState)
    return fail(call.where())
           << "moving_average() takes a number for each token or sequence, in the part 'loss' and outside of scans, as "
           << "training alone moves it; here is " << describe(call.given[0].item) << " in '" << part->syntax->name.text
           << "'";
  Location at = place(call.where());
  auto scalar = RankedTensorType::get({1}, builder.getF32Type());
  std::string base = path.empty() ? "moving_average" : path, name = base;
  for (int64_t i = 2; !weightNames.insert(name).second; ++i)
    name = base + "_" + std::to_string(i);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(parts.front()->function);
    auto zero = StartAttr::get(builder.getContext(), StartKind::Constant, builder.getF64FloatAttr(0));
    VariableOp::create(builder, at, name, VariableKind::OptimizerState, scalar, zero);
  }
  Value before = ReadOp::create(builder, at, scalar, name);
  Value sum = SumOp::create(builder, at, scalar, x, /*columns=*/false);
  Value count = SumOp::create(builder, at, scalar, fill(type, 1, call.where()), /*columns=*/false);
  Value mean = arith::DivFOp::create(builder, at, sum, count);
  Value kept = arith::MulFOp::create(builder, at, before, fill(scalar, *keep, call.where()));
  Value added = arith::MulFOp::create(builder, at, mean, fill(scalar, 1 - *keep, call.where()));
  WriteOp::create(builder, at, name, arith::AddFOp::create(builder, at, kept, added));
  return make(BroadcastOp::create(builder, at, type, before));
}
