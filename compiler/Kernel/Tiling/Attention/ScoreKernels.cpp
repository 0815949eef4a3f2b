// Attention with its scores in memory: its two matmuls and their gradients, one matmul for each sequence and head, and
// scores of other kinds. Scores, weights and their gradients are tensor<T x H x K>. Workgroups and loops are those of
// fused attention, or pairs are taken one by one.
#include "compiler/Kernel/Tiling/Attention/AttentionFrame.h"
#include "compiler/Kernel/Tiling/Attention/AttentionKernels.h"
#include "compiler/Kernel/Tiling/Attention/ScoreChain.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

using Owns = AttentionFrame::Owns;
using Step = AttentionFrame::Step;

struct LocateKernel : KernelOpInterface::ExternalModel<LocateKernel, LocateOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto locate = cast<LocateOp>(op);
    auto &b = emitter.builder();
    auto sequences = cast<RankedTensorType>(locate.getStarts().getType());
    emitter.setMapping(tile::LaneMapping::Rows);
    int64_t rows = emitter.getLanes();
    Value first = emitter.mul(emitter.setGrid(0, 1, locate.getRowSize(), rows), rows);
    Value sequence = emitter.setGrid(1, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
    Value start = emitter.loadIndex(locate.getStarts(), sequence);
    Value end = emitter.add(start, emitter.loadIndex(locate.getLengths(), sequence));
    Place place{emitter.add(start, first), emitter.index(0), rows, 1, end, {}};
    Value position = emitter.indices({first, first, rows, 1, {}, {}}, 0);
    Value number = tile::SplatOp::create(b, position.getType(),
                                         arith::IndexCastOp::create(b, b.getI32Type(), sequence).getResult());
    emitter.store(locate.getPosition(), position, place);
    emitter.store(locate.getSequence(), number, place);
    return success();
  }
};

//===-- Pairs one by one ----------------------------------------------------------------------------------------===//

/// A lane has keys, and loops over the columns.
LogicalResult emitScoresOneByOne(ScoresOp op, const Attention &attention, KernelEmitter &emitter) {
  PairsFrame frame(emitter, attention, /*ownsQueries=*/true);
  LogicalResult finished = success();
  frame.emit({attention.pairKeys}, /*whole=*/false, [&] {
    Place place = frame.pairs(frame.first);
    emitter.define(op.getResult(), place, frame.scores(op, frame.first));
    finished = emitter.finish(op.getType(), place);
  });
  return finished;
}

template <typename GradOp>
struct ScoresGradKernel : KernelOpInterface::ExternalModel<ScoresGradKernel<GradOp>, GradOp> {
  static constexpr bool ownsQueries = std::is_same_v<GradOp, ScoresGradQueryOp>;

  static Attention attentionOf(ScoresGradQueryOp op) {
    return Attention::ofPairs(op, op.getGradient(), op.getQuery(), op.getKey(), op.getKeyRows());
  }
  static Attention attentionOf(ScoresGradKeyOp op) {
    return Attention::ofPairs(op, op.getGradient(), op.getQuery(), op.getKey(), /*keyRows=*/{}, op.getUsers());
  }

  bool takesEpilogue(Operation *) const { return true; }
  SmallVector<Operation *> getChain(Operation *op) const {
    auto grad = cast<GradOp>(op);
    return ownsQueries ? ScoreChain::opsOf(op, attentionOf(grad), grad.getGradient()) : SmallVector<Operation *>();
  }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<GradOp>(op);
    return emitSumsOneByOne(op, attentionOf(grad), ownsQueries, grad.getGradient(), grad.getParameters(),
                            &grad.getSlope(), emitter);
  }
};

//===-- Products ------------------------------------------------------------------------------------------------===//

struct ScoresKernel : KernelOpInterface::ExternalModel<ScoresKernel, ScoresOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto scores = cast<ScoresOp>(op);
    auto &b = emitter.builder();
    Matrix result = *Matrix::of(scores.getType());
    Attention attention =
        Attention::ofPairs(scores, scores.getResult(), scores.getQuery(), scores.getKey(), scores.getKeyRows());
    if (!scores.getCombine().empty() || isOneByOne(attention))
      return emitScoresOneByOne(scores, attention, emitter);
    AttentionFrame frame(emitter, attention, Owns::Queries, /*products=*/1);
    LogicalResult finished = success();
    frame.emit([&] {
      Value query = frame.load(scores.getQuery(), frame.owned());
      Value zeros = emitter.constant(frame.getRows(), frame.getStep(), 0);
      auto finish = [&](Value first, Value tile) -> SmallVector<Value> {
        Place place = frame.pairs(first);
        emitter.define(scores.getResult(), place, tile);
        finished = emitter.finish(result, place);
        return {};
      };
      frame.visit({}, [&](const Step &at, ValueRange) {
        Value products = frame.products(query, frame.loadVisited(scores.getKey(), at));
        return finish(at.first, arith::SelectOp::create(b, at.counts, products, zeros));
      });
      // Writes zeros to the keys that the loop has not visited.
      int64_t keys = result.partColumns(), step = frame.getStep();
      Value rounded = emitter.add(frame.getVisitedLength(), emitter.index(step - 1));
      Value visited = b.createOrFold<arith::DivUIOp>(rounded, emitter.index(step));
      emitter.loop(emitter.mul(visited, step), emitter.index(keys), step, keys, {},
                   [&](Value first, ValueRange) { return finish(first, zeros); });
    });
    return finished;
  }
};

/// Loads the weights of a step. Weights that belong to no pair become zero, whatever is in memory.
Value loadWeights(KernelEmitter &emitter, const AttentionFrame &frame, Value weights, const Step &at, bool transposed) {
  Value tile = emitter.load(emitter.memoryOf(weights), frame.pairs(at.first), Padding::Any, transposed);
  return arith::SelectOp::create(emitter.builder(), at.counts, tile,
                                 emitter.constant(frame.getRows(), frame.getStep(), 0));
}

struct ContextKernel : KernelOpInterface::ExternalModel<ContextKernel, ContextOp> {
  static Attention attentionOf(ContextOp op) {
    return Attention::ofPairs(op, op.getWeights(), op.getResult(), op.getValue(), op.getKeyRows());
  }

  bool takesEpilogue(Operation *op) const { return isOneByOne(attentionOf(cast<ContextOp>(op))); }
  SmallVector<Operation *> getChain(Operation *op) const {
    auto context = cast<ContextOp>(op);
    Attention attention = attentionOf(context);
    return isOneByOne(attention) ? ScoreChain::opsOf(op, attention, context.getWeights()) : SmallVector<Operation *>();
  }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto context = cast<ContextOp>(op);
    Attention attention = attentionOf(context);
    if (isOneByOne(attention))
      return emitSumsOneByOne(op, attention, /*ownsQueries=*/true, context.getWeights(), {}, nullptr, emitter);
    AttentionFrame frame(emitter, attention, Owns::Queries, /*products=*/1);
    frame.emit([&] {
      Value total = frame.visit(emitter.constant(frame.getRows(), frame.getWidth(), 0),
                                [&](const Step &at, ValueRange state) -> SmallVector<Value> {
                                  Value weights = loadWeights(emitter, frame, context.getWeights(), at, false);
                                  return {frame.accumulate(weights, context.getValue(), at, state[0])};
                                })[0];
      emitter.store(context.getResult(), total, frame.owned());
    });
    return success();
  }
};

struct TransposedContextKernel : KernelOpInterface::ExternalModel<TransposedContextKernel, TransposedContextOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto context = cast<TransposedContextOp>(op);
    Attention attention = Attention::ofPairs(context, context.getWeights(), context.getInput(), context.getResult(),
                                             /*keyRows=*/{}, context.getUsers());
    // A lane with whole rows of keys and queries would run out of registers on a GPU.
    if (isOneByOne(attention) || emitter.getProfile().blocks.lanes)
      return emitSumsOneByOne(op, attention, /*ownsQueries=*/false, context.getWeights(), {}, nullptr, emitter);
    AttentionFrame frame(emitter, attention, Owns::Keys, /*products=*/1);
    frame.emit([&] {
      Value total = frame.visit(emitter.constant(frame.getRows(), frame.getWidth(), 0),
                                [&](const Step &at, ValueRange state) -> SmallVector<Value> {
                                  Value weights = loadWeights(emitter, frame, context.getWeights(), at, true);
                                  return {frame.accumulate(weights, context.getInput(), at, state[0])};
                                })[0];
      emitter.store(context.getResult(), total, frame.owned());
    });
    return success();
  }
};

} // namespace

void heddle::registerScoreKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    LocateOp::attachInterface<LocateKernel>(*context);
    ScoresOp::attachInterface<ScoresKernel>(*context);
    ScoresGradQueryOp::attachInterface<ScoresGradKernel<ScoresGradQueryOp>>(*context);
    ScoresGradKeyOp::attachInterface<ScoresGradKernel<ScoresGradKeyOp>>(*context);
    ContextOp::attachInterface<ContextKernel>(*context);
    TransposedContextOp::attachInterface<TransposedContextKernel>(*context);
  });
}
