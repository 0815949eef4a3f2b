// Attention with an online softmax over tiles of keys (FlashAttention's recurrence), forward and backward. A lane owns
// whole rows of the scores, or lanes of a subgroup share them (four on tensor cores, eight in blocks). The rows are
// queries in the forward pass and in the query's gradient, and keys in the gradient of keys and values. Softmax and
// sums stay within these lanes, and the T x T scores are never in memory. Scores are kept in units of log(2), so that
// the exponential is a power of two.
#include "compiler/Kernel/Tiling/Attention/AttentionKernels.h"
#include "compiler/Kernel/Tiling/Attention/AttentionFrame.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

namespace {

using Owns = AttentionFrame::Owns;
using Step = AttentionFrame::Step;

/// Only attention on tensor cores takes epilogues. In other kernels a lane has whole rows and no registers to spare.
template <typename AttentionLike> bool takesEpilogueOf(AttentionLike op) {
  return hasTensorOperands(op, op.getQuery());
}

struct AttentionKernel : KernelOpInterface::ExternalModel<AttentionKernel, AttentionOp> {
  bool takesEpilogue(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    return takesEpilogueOf(attention) || AttentionFrame::isOfOneQuery(attention);
  }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto attention = cast<AttentionOp>(op);
    auto &b = emitter.builder();
    // A thread takes a query like many: the scores of a group's heads are a small matmul.
    Attention all = Attention::of(attention);
    all.together = AttentionFrame::areTogether(attention, emitter);
    bool isOneQuery = !all.together && AttentionFrame::isOfOneQuery(attention) && emitter.getProfile().registers == 0;
    AttentionFrame frame(emitter, isOneQuery ? all : all.withMembers(emitter, op),
                         isOneQuery ? Owns::OneQuery : Owns::Queries, /*products=*/2);
    int64_t rows = frame.getRows();
    frame.emit([&] {
      SmallVector<AttentionFrame::OwnedOperand> queries;
      SmallVector<Value> begin; // for each head: largest score, sum of powers, sum of weighted values
      for (int64_t head = 0; head < frame.getHeads(); ++head) {
        frame.setHead(head);
        queries.push_back(frame.ownedOfScores(attention.getQuery()));
        // With -infinity instead of kLowest the difference of two of them would be NaN.
        begin.append({emitter.constant(rows, 1, frame.kLowest), emitter.constant(rows, 1, 0),
                      frame.beginSums(attention.getValue())});
      }
      SmallVector<Value> last = frame.visit(begin, [&](const Step &at, ValueRange states) -> SmallVector<Value> {
        SmallVector<Value> next;
        Value keys = frame.loadVisited(attention.getKey(), at);
        for (auto [head, query] : llvm::enumerate(queries)) {
          frame.setHead(static_cast<int64_t>(head));
          ValueRange state = states.slice(kStates * head, kStates);
          Value scores = frame.where(at, frame.scores(frame.scaled(query(), keys), at), frame.kNever);
          Value largest = emitter.reduce(tile::Combine::Max, scores, 1), sum = state[1], rescale;
          if (frame.hasSumsInMemory()) {
            std::tie(largest, sum) = scaleIfMuchLarger(attention, frame, emitter, state, largest);
          } else {
            largest = arith::MaximumFOp::create(b, state[0], largest);
            // Subtract before scaling: the difference of two equal numbers is zero however large they are.
            rescale = frame.power(frame.inLogs(frame.sub(state[0], largest)));
          }
          Value powers = frame.powers(at, scores, frame.inLogs(largest));
          Value ofStep = emitter.reduce(tile::Combine::Sum, powers, 1);
          sum = rescale ? math::FmaOp::create(b, sum, rescale, ofStep).getResult()
                        : arith::AddFOp::create(b, sum, ofStep).getResult();
          if (Value factor = frame.dropoutFactor(at))
            powers = frame.mul(powers, factor);
          next.append({largest, sum, frame.accumulate(powers, attention.getValue(), at, state[2], rescale)});
        }
        return next;
      });
      for (int64_t head = 0; head < frame.getHeads(); ++head) {
        frame.setHead(head);
        MutableArrayRef<Value> state = MutableArrayRef(last).slice(kStates * head, kStates);
        state.back() = frame.endSums(attention.getValue(), state.back());
        finish(attention, frame, emitter, state, isOneQuery);
      }
    });
    return success();
  }

private:
  static constexpr size_t kStates = 3;

  /// The largest excess of a score over its row's reference for which sums stay as they are. 2^8 or e^8, by the unit of
  /// scores, times 2^31 keys is a small part of the range of f32.
  static constexpr float kMostExcess = 8;

  /// Returns the reference of each row, which is subtracted from its scores, and the sum of powers so far. `largest`:
  /// each row's largest score of the step. In rows where it exceeds the reference by at most kMostExcess, both stay as in
  /// `state`. In others it becomes the reference, and all sums so far are multiplied by a power of the difference, those
  /// in memory too. Few steps have such rows. A row's sums do not depend on other rows.
  static std::pair<Value, Value> scaleIfMuchLarger(AttentionOp attention, AttentionFrame &frame, KernelEmitter &emitter,
                                                   ValueRange state, Value largest) {
    auto &b = emitter.builder();
    Value difference = frame.sub(state[0], largest);
    int64_t rows = frame.getRows();
    auto compare = [&](arith::CmpFPredicate how, Value column, double number) -> Value {
      return arith::CmpFOp::create(b, how, column, emitter.constant(rows, 1, number));
    };
    Value isMuch = compare(arith::CmpFPredicate::ULT, difference, -kMostExcess); // also if it is NaN
    auto branch = scf::IfOp::create(b, TypeRange{largest.getType(), state[1].getType()}, isAny(emitter, isMuch, rows),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value reference = arith::SelectOp::create(b, isMuch, largest, state[0]);
    // In the first step all sums are zero.
    Value isPositive = compare(arith::CmpFPredicate::UGT, state[1], 0);
    auto scale = scf::IfOp::create(b, TypeRange{state[1].getType()}, isAny(emitter, isPositive, rows),
                                   /*withElseRegion=*/true);
    scf::YieldOp::create(b, ValueRange{reference, scale.getResult(0)});
    b.setInsertionPointToStart(scale.thenBlock());
    Value factors =
        arith::SelectOp::create(b, isMuch, frame.power(frame.inLogs(difference)), emitter.constant(rows, 1, 1));
    frame.scaleSums(attention.getValue(), factors);
    scf::YieldOp::create(b, frame.mul(state[1], factors));
    b.setInsertionPointToStart(scale.elseBlock());
    scf::YieldOp::create(b, state[1]);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, state.take_front(2));
    return {branch.getResult(0), branch.getResult(1)};
  }

  /// Returns true if an element of the column `conditions` is true.
  static Value isAny(KernelEmitter &emitter, Value conditions, int64_t rows) {
    auto &b = emitter.builder();
    Value numbers = arith::SelectOp::create(b, conditions, emitter.constant(rows, 1, 1), emitter.constant(rows, 1, 0));
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                 emitter.onlyElement(emitter.reduce(tile::Combine::Max, numbers, 0)),
                                 arith::ConstantOp::create(b, b.getF32FloatAttr(0)));
  }

  static void finish(AttentionOp attention, AttentionFrame &frame, KernelEmitter &emitter, ArrayRef<Value> state,
                     bool isOneQuery) {
    auto &b = emitter.builder();
    int64_t rows = frame.getRows(), width = frame.getWidth();
    SmallVector<Value> last(state);
    if (isOneQuery) { // merges the softmaxes of all rows
      Value largest = emitter.reduce(tile::Combine::Max, last[0], 0);
      Value rescale = frame.power(frame.inLogs(frame.sub(last[0], emitter.broadcast(largest, rows, 1))));
      auto total = [&](Value tile, int64_t columns) {
        return emitter.reduce(tile::Combine::Sum, frame.mul(tile, emitter.broadcast(rescale, rows, columns)), 0);
      };
      last = {largest, total(last[1], 1), total(last[2], width)};
    }
    Value largest = frame.inLogs(last[0]), rescale;
    if (Value sink = attention.getSink()) { // one more score
      Value score = frame.mul(frame.numbersOfHeads(sink), std::numbers::log2e);
      Value all = arith::MaximumFOp::create(b, largest, score);
      rescale = frame.power(frame.sub(largest, all));
      last[1] = math::FmaOp::create(b, last[1], rescale, frame.power(frame.sub(score, all)));
      largest = all;
    }
    // A query without keys gets zeros instead of a division by zero.
    int64_t queries = frame.owned().rows;
    Value one = emitter.constant(queries, 1, 1);
    Value any = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, last[1], emitter.constant(queries, 1, 0));
    Value sum = arith::SelectOp::create(b, any, last[1], one);
    Value inverse = arith::DivFOp::create(b, rescale ? rescale : one, sum);
    auto logSumExp = [&]() -> Value {
      return arith::AddFOp::create(b, frame.mul(largest, std::numbers::ln2), math::LogOp::create(b, sum));
    };
    // If a head has one column, log-sum-exp has the result's shape, and `finish` writes both.
    if (width == 1)
      frame.definePerQuery(attention.getLogSumExp(), logSumExp());
    frame.finish({{attention.getResult(), frame.scaleRows(last[2], inverse)}});
    if (width > 1)
      frame.storePerQuery(attention.getLogSumExp(), logSumExp());
  }
};

/// Computes, from a step's scores, what both halves of the backward pass need. `owned` and `visited` are queries and
/// gradient, or keys and values. With the probabilities P and dropout's factor D: dP = D * (dO V^T), and dS = P * (dP -
/// delta), times the slope of the score region. All of these tiles have the owned side's rows.
struct StepGradient {
  Value dropped; // D * P, which gives the value's gradient
  Value scores;  // dS

  StepGradient(AttentionFrame &frame, const Step &at, std::pair<Value, Value> owned, std::pair<Value, Value> visited,
               Value logSumExp, Value delta) {
    Value scaled = frame.scaled(owned.first, visited.first);
    Value p = frame.probabilities(at, frame.scores(scaled, at), logSumExp);
    dropped = p;
    Value factor = frame.dropoutFactor(at), difference;
    if (factor) {
      dropped = frame.mul(p, factor);
      difference = frame.sub(frame.mul(frame.products(owned.second, visited.second), factor), frame.broadcast(delta));
    } else {
      // The accumulator starts at -delta, which saves the subtraction.
      difference = frame.products(owned.second, visited.second, frame.broadcast(frame.mul(delta, -1)));
    }
    scores = frame.scaledGradient(scaled, at, frame.mul(p, difference));
  }
};

// dQ = scale * dS K.
struct AttentionGradQueryKernel : KernelOpInterface::ExternalModel<AttentionGradQueryKernel, AttentionGradQueryOp> {
  bool takesEpilogue(Operation *op) const { return takesEpilogueOf(cast<AttentionGradQueryOp>(op)); }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<AttentionGradQueryOp>(op);
    AttentionFrame frame(emitter, Attention::of(grad).withMembers(emitter, op), Owns::Queries, /*products=*/3);
    frame.emit([&] {
      AttentionFrame::OwnedOperand query = frame.ownedOfScores(grad.getQuery()),
                                   gradient = frame.ownedOperand(grad.getGradient());
      Value logSumExp = frame.mul(frame.loadPerQuery(grad.getLogSumExp(), frame.owned()), std::numbers::log2e);
      Value delta = frame.loadPerQuery(grad.getDelta(), frame.owned());
      Value total =
          frame.visit(frame.beginSums(grad.getKey()), [&](const Step &at, ValueRange state) -> SmallVector<Value> {
            Value keys = frame.loadVisited(grad.getKey(), at), values = frame.loadVisited(grad.getValue(), at);
            StepGradient step(frame, at, {query(), gradient()}, {keys, values}, logSumExp, delta);
            return {frame.accumulate(step.scores, grad.getKey(), at, state[0])};
          })[0];
      total = frame.endSums(grad.getKey(), total);
      frame.finish({{grad.getResult(), frame.mul(total, grad.getScale().convertToDouble())}});
    });
    return success();
  }
};

// The same, transposed: a lane owns keys, and the loop visits queries. dV = (D P)^T dO, dK = scale * dS^T Q.
struct AttentionGradKeyValueKernel
    : KernelOpInterface::ExternalModel<AttentionGradKeyValueKernel, AttentionGradKeyValueOp> {
  bool takesEpilogue(Operation *op) const { return takesEpilogueOf(cast<AttentionGradKeyValueOp>(op)); }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<AttentionGradKeyValueOp>(op);
    AttentionFrame frame(emitter, Attention::of(grad), Owns::Keys, /*products=*/4);
    frame.emit([&] {
      AttentionFrame::OwnedOperand keys = frame.ownedOfScores(grad.getKey()),
                                   values = frame.ownedOperand(grad.getValue());
      SmallVector<Value> totals =
          frame.visit({frame.beginSums(grad.getQuery()), frame.beginSums(grad.getGradient())},
                      [&](const Step &at, ValueRange state) -> SmallVector<Value> {
                        Value queries = frame.loadVisited(grad.getQuery(), at),
                              gradient = frame.loadVisited(grad.getGradient(), at);
                        Value logSumExp =
                            frame.mul(frame.loadPerQuery(grad.getLogSumExp(), at.visited), std::numbers::log2e);
                        Value delta = frame.loadPerQuery(grad.getDelta(), at.visited);
                        StepGradient step(frame, at, {keys(), values()}, {queries, gradient}, logSumExp, delta);
                        return {frame.accumulate(step.scores, grad.getQuery(), at, state[0]),
                                frame.accumulate(step.dropped, grad.getGradient(), at, state[1])};
                      });
      Value keyTotal = frame.endSums(grad.getQuery(), totals[0]);
      frame.finish({{grad.getKeyGradient(), frame.mul(keyTotal, grad.getScale().convertToDouble())},
                    {grad.getValueGradient(), frame.endSums(grad.getGradient(), totals[1])}});
    });
    return success();
  }
};

} // namespace

void heddle::registerAttentionKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    AttentionOp::attachInterface<AttentionKernel>(*context);
    AttentionGradQueryOp::attachInterface<AttentionGradQueryKernel>(*context);
    AttentionGradKeyValueOp::attachInterface<AttentionGradKeyValueKernel>(*context);
  });
}
