// Softmax of rows, its gradient, the cross entropy, and a row's largest element.
#include "compiler/Kernel/Tiling/Frames/RowSoftmax.h"
#include "compiler/Kernel/Tiling/Rows/RowFrame.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

struct CrossEntropyKernel : KernelOpInterface::ExternalModel<CrossEntropyKernel, CrossEntropyOp> {
  // One pass: the sum of exponentials is kept relative to the largest logit so far.
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto entropy = cast<CrossEntropyOp>(op);
    auto &b = emitter.builder();
    Matrix logits = *Matrix::of(typeOf(entropy.getLogits()));
    bool hasEpilogue = emitter.hasResultOn(typeOf(entropy.getLogits()));
    RowFrame frame(emitter, logits, hasEpilogue ? 2 : 1);
    double smoothing = entropy.getSmoothing().convertToDouble();
    Value target = emitter.evaluate(entropy.getTargets(), frame.column());
    RowSoftmax softmax(emitter, frame.rows);
    SmallVector<Value> begin = softmax.begin();
    begin.append({frame.zero(), frame.zero()});
    SmallVector<Value> totals = frame.walk(begin, [&](const Place &place, ValueRange state) -> SmallVector<Value> {
      Value x = emitter.evaluate(entropy.getLogits(), place);
      Value present = frame.inside(x, place, RowSoftmax::kLowest);
      SmallVector<Value> next = softmax.add(state, present);
      Value sum = arith::AddFOp::create(b, state[2], emitter.reduce(tile::Combine::Sum, x, 1));
      Value hit = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, frame.wide(emitter.indices(place, 1), place),
                                        frame.wide(target, place));
      Value chosen = arith::SelectOp::create(b, hit, x, emitter.constant(frame.rows, place.columns, 0));
      Value score = arith::AddFOp::create(b, state[3], emitter.reduce(tile::Combine::Sum, chosen, 1));
      next.append({sum, score});
      return next;
    });
    Value logSumExp = arith::AddFOp::create(b, totals[0], math::LogOp::create(b, totals[1]));
    Value mapping = arith::MulFOp::create(
        b, totals[2], emitter.constant(frame.rows, 1, smoothing / static_cast<double>(frame.matrix.columns)));
    Value score = arith::MulFOp::create(b, totals[3], emitter.constant(frame.rows, 1, 1 - smoothing));
    Value loss = arith::SubFOp::create(b, arith::SubFOp::create(b, logSumExp, score), mapping);
    emitter.define(entropy.getLoss(), frame.column(), loss);
    emitter.define(entropy.getLogSumExp(), frame.column(), logSumExp);
    LogicalResult finished = emitter.finish(typeOf(entropy.getLoss()), frame.column());
    if (hasEpilogue && succeeded(finished))
      frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
        finished = emitter.finish(typeOf(entropy.getLogits()), place);
        return {};
      });
    return finished;
  }
  // The gradient is an epilogue: a second walk over the row, which may write it over the logits.
  bool takesEpilogue(Operation *) const { return true; }
  RankedTensorType getEpilogueType(Operation *op) const { return typeOf(cast<CrossEntropyOp>(op).getLogits()); }
  bool ownsRows(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned operand) const { return operand == 0; }
};

struct SoftmaxKernel : KernelOpInterface::ExternalModel<SoftmaxKernel, SoftmaxOp> {
  bool takesEpilogue(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto softmax = cast<SoftmaxOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(softmax.getType()), 2);
    RowSoftmax rows(emitter, frame.rows);
    auto input = [&](const Place &place) {
      Value x = emitter.evaluate(softmax.getInput(), place);
      return rows.raise(frame.inside(x, place, RowSoftmax::kLowest));
    };
    SmallVector<Value> totals =
        frame.walk(rows.begin(), [&](const Place &place, ValueRange state) { return rows.add(state, input(place)); });
    if (softmax.getSink()) { // one more element
      Value number = emitter.loadScalar(softmax.getSink(), frame.partNumber ? frame.partNumber : emitter.index(0));
      totals = rows.add(totals, tile::SplatOp::create(b, emitter.tileType(frame.rows, 1), number));
    }
    Value scale = rows.scale(totals);
    LogicalResult finished = success();
    frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
      Value powers = rows.power(input(place), totals[0]);
      emitter.define(softmax.getResult(), place, arith::MulFOp::create(b, powers, frame.wide(scale, place)));
      finished = emitter.finish(frame.matrix, place);
      return {};
    });
    return finished;
  }
};

struct SoftmaxGradKernel : KernelOpInterface::ExternalModel<SoftmaxGradKernel, SoftmaxGradOp> {
  bool takesEpilogue(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<SoftmaxGradOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(grad.getType()), 2);
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    Value total = frame.walk(frame.zero(), [&](const Place &place, ValueRange state) -> SmallVector<Value> {
      Value product = mul(emitter.evaluate(grad.getOutput(), place), emitter.evaluate(grad.getGradient(), place));
      return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, product, 1))};
    })[0];
    LogicalResult finished = success();
    frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
      Value centred = arith::SubFOp::create(b, emitter.evaluate(grad.getGradient(), place), frame.wide(total, place));
      emitter.define(grad.getResult(), place, mul(emitter.evaluate(grad.getOutput(), place), centred));
      finished = emitter.finish(frame.matrix, place);
      return {};
    });
    return finished;
  }
};

struct ArgmaxKernel : KernelOpInterface::ExternalModel<ArgmaxKernel, ArgmaxOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto argmax = cast<ArgmaxOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(typeOf(argmax.getInput())), 1);
    Value lowest = emitter.constant(frame.rows, 1, -std::numeric_limits<float>::max());
    Value none = emitter.constantInt(frame.rows, 1, 0);
    SmallVector<Value> best =
        frame.walk({lowest, none}, [&](const Place &place, ValueRange state) -> SmallVector<Value> {
          Value x = frame.inside(emitter.evaluate(argmax.getInput(), place), place, -std::numeric_limits<float>::max());
          Value largest = emitter.reduce(tile::Combine::Max, x, 1);
          Value hit = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, frame.wide(largest, place));
          Value columns = frame.wide(emitter.indices(place, 1), place);
          Value past = emitter.constantInt(frame.rows, place.columns, std::numeric_limits<int32_t>::max());
          Value first =
              emitter.reduce(tile::Combine::Min, arith::SelectOp::create(b, hit, columns, past).getResult(), 1);
          Value better = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, largest, state[0]);
          return {arith::SelectOp::create(b, better, largest, state[0]),
                  arith::SelectOp::create(b, better, first, state[1])};
        });
    emitter.store(argmax.getResult(), best[1], frame.column());
    return success();
  }
};

} // namespace

void heddle::registerSoftmaxKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    CrossEntropyOp::attachInterface<CrossEntropyKernel>(*context);
    SoftmaxOp::attachInterface<SoftmaxKernel>(*context);
    SoftmaxGradOp::attachInterface<SoftmaxGradKernel>(*context);
    ArgmaxOp::attachInterface<ArgmaxKernel>(*context);
  });
}
