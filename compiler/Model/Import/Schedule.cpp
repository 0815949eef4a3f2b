#include "compiler/Model/Import/Schedule.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Format.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr StringLiteral kRate = "rate";

class Schedule {
public:
  Schedule(ModuleOp module, const Description &description)
      : d(description), builder(OpBuilder::atBlockEnd(module.getBody())),
        where(NameLoc::get(builder.getStringAttr("optimizer"),
                           d.whereIs(d.given.contains("schedule") ? "schedule" : "warmup"))),
        scalar(RankedTensorType::get({1}, builder.getF32Type())) {}

  void build() {
    auto function = func::FuncOp::create(builder, where, kRate, builder.getFunctionType({scalar}, {scalar}));
    function.setPrivate();
    function->setAttr("heddle.model", builder.getUnitAttr());
    function.setArgAttr(0, "heddle.name", builder.getStringAttr("step"));
    function.setResultAttr(0, "heddle.name", builder.getStringAttr(kRate));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    func::ReturnOp::create(builder, where, rate(body->getArgument(0)));
  }

private:
  Value fill(double value) {
    return FillOp::create(builder, where, scalar, builder.getF32FloatAttr(static_cast<float>(value)));
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, where, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, where, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, where, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, where, a, b); }
  Value min(Value a, Value b) { return arith::MinimumFOp::create(builder, where, a, b); }
  Value max(Value a, Value b) { return arith::MaximumFOp::create(builder, where, a, b); }

  Value rate(Value step);
  Value fall(Value step);

  const Description &d;
  OpBuilder builder;
  Location where;
  RankedTensorType scalar;
};

} // namespace

/// Returns a linear rise to the peak over the warm-up, followed by the schedule.
Value Schedule::rate(Value step) {
  Value peak = fill(d.learningRate);
  Value warmup = fill(static_cast<double>(d.warmup));
  Value rise = div(step, warmup);
  if (d.schedule == "paper") {
    Value root = math::SqrtOp::create(builder, where, div(warmup, step));
    return mul(peak, min(rise, root));
  }
  Value rising = mul(peak, min(rise, fill(1)));
  return d.schedule == "constant" ? rising : min(rising, fall(sub(step, warmup)));
}

/// Falls from the peak to the final rate, which later steps keep, along a straight line or half a cosine wave.
Value Schedule::fall(Value stepsSince) {
  Value whole = fill(static_cast<double>(d.decaySteps - d.warmup));
  Value left = sub(fill(1), min(max(div(stepsSince, whole), fill(0)), fill(1)));
  if (d.schedule == "cosine") {
    // (1 + cos(pi (1 - left))) / 2, computed as a squared sine to avoid cancellation near the end.
    Value turn = mul(left, fill(std::numbers::pi / 2));
    Value sine = math::SinOp::create(builder, where, turn);
    left = mul(sine, sine);
  }
  return add(fill(d.finalLearningRate), mul(fill(d.learningRate - d.finalLearningRate), left));
}

static std::string show(double rate) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", rate);
  return text;
}

static LogicalResult check(const Description &d) {
  auto failAt = [&](StringRef key) { return emitError(d.whereIs(key)); };
  if (d.schedule == "paper" || d.schedule == "constant") {
    for (StringRef key : {"decay_steps", "final_learning_rate"})
      if (d.given.contains(key))
        return failAt(key) << "'" << key << "' is for schedule = \"linear\" or \"cosine\", and the schedule is \""
                           << d.schedule << "\"; remove the key or change the schedule";
    return success();
  }
  if (d.decaySteps <= d.warmup)
    return failAt(d.given.contains("decay_steps") ? "decay_steps" : "schedule")
           << "schedule = \"" << d.schedule << "\" falls from step 'warmup' = " << d.warmup
           << " to step 'decay_steps', "
           << (d.given.contains("decay_steps") ? "which is " + std::to_string(d.decaySteps) : "which is not given")
           << "; give the steps of the whole training as 'decay_steps'";
  if (d.finalLearningRate > d.learningRate)
    return failAt("final_learning_rate") << "'final_learning_rate' is " << show(d.finalLearningRate)
                                         << ", but the rate falls from 'learning_rate' = " << show(d.learningRate)
                                         << "; give at most that";
  return success();
}

LogicalResult mlir::heddle::addSchedule(ModuleOp module, const Description &d) {
  if (module.lookupSymbol(kRate)) {
    for (StringRef key : {"schedule", "learning_rate", "warmup", "decay_steps", "final_learning_rate"})
      if (d.given.contains(key))
        return emitError(d.whereIs(key)) << "'" << key
                                         << "' says the learning rate, and so does the model's part 'rate'; "
                                         << "remove either of them";
    return success();
  }
  if (failed(check(d)))
    return failure();
  Schedule(module, d).build();
  return success();
}
