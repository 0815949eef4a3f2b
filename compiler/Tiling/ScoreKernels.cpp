// Attention with its scores in memory: its two products and their gradients, a product for each sequence and head.
// Workgroups and loops are those of fused attention; what a step makes or takes lies in a tensor<T x H x K>.
#include "compiler/Tiling/AttentionFrame.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

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
    emitter.setSpread(tile::Spread::Rows);
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

//===-- Scores that a region makes ------------------------------------------------------------------------------===//
// Elements of a query and of a key meet column by column, which no tensor core does: lanes have neighbouring keys each, or
// neighbouring columns.

/// Columns of a query and of keys, or rows of the other side, that a lane takes at a time.
constexpr int64_t kCombined = 8;

/// A workgroup owns one query or key of a sequence, in one head, and of `extent` elements as many as its lanes have.
template <typename ScoresLike> struct CombinedFrame {
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  ScoresLike op;
  Region &region;
  bool ownsQueries;
  int64_t heads, room, width, lanes = 0; // room: keys that a query has scores for; width: of a head
  Value first, owned, head, headColumn, ownedRow, otherStart, otherLength;

  CombinedFrame(KernelEmitter &emitter, ScoresLike op, RankedTensorType scores, Region &region, bool ownsQueries)
      : emitter(emitter), b(emitter.builder()), op(op), region(region), ownsQueries(ownsQueries),
        heads(scores.getDimSize(1)), room(scores.getDimSize(2)),
        width(cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1) / heads) {}

  void emit(int64_t extent, function_ref<void()> body) {
    auto sequences = cast<RankedTensorType>(op.getQueryStarts().getType());
    emitter.setSpread(tile::Spread::Columns);
    emitter.setVector({extent});
    emitter.narrowVector(extent);
    lanes = emitter.getLanes() * emitter.getVector();
    first = emitter.mul(emitter.setGrid(0, extent, {}, lanes), lanes);
    Value number = emitter.setGrid(1, 1, ownsQueries ? op.getQuerySize() : op.getKeySize(), 1, heads);
    Value sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
    owned = b.createOrFold<arith::DivUIOp>(number, emitter.index(heads));
    head = b.createOrFold<arith::RemUIOp>(number, emitter.index(heads));
    headColumn = emitter.mul(head, width);
    Value starts[] = {emitter.loadIndex(op.getQueryStarts(), sequence), emitter.loadIndex(op.getKeyStarts(), sequence)};
    Value lengths[] = {emitter.loadIndex(op.getQueryLengths(), sequence), emitter.loadIndex(op.getKeyLengths(), sequence)};
    int own = ownsQueries ? 0 : 1;
    ownedRow = emitter.add(starts[own], owned);
    otherStart = starts[1 - own];
    otherLength = lengths[1 - own];
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, owned, lengths[own]);
    inside = emitter.isSequence(op.getQueryStarts(), sequence, inside);
    auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  /// What the region makes of tiles of queries, keys and parameters, repeated over `rows` x `columns`.
  Value combine(ArrayRef<Value> tiles, int64_t rows, int64_t columns) {
    SmallVector<Value> arguments;
    for (Value tile : tiles)
      arguments.push_back(emitter.broadcast(tile, rows, columns));
    return emitter.inlineRegion(region, arguments);
  }

  /// The tile where the indices along `dim` from `from` on are below `limit`, zero elsewhere.
  Value whereBelow(Value tile, Value from, int64_t dim, Value limit) {
    auto type = cast<RankedTensorType>(tile.getType());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    Value index = emitter.indices(Place{from, from, rows, columns, {}, {}}, static_cast<int>(dim));
    Value last = tile::SplatOp::create(b, index.getType(), arith::IndexCastOp::create(b, b.getI32Type(), limit));
    Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, last);
    return arith::SelectOp::create(b, emitter.broadcast(counts, rows, columns), tile, emitter.constant(rows, columns, 0));
  }

  /// The first element past a head's `extent` of columns, where the lanes may reach beyond.
  Value limitOf(Value begin, int64_t extent) {
    return extent % lanes == 0 ? Value() : emitter.add(begin, emitter.index(extent));
  }
};

/// A lane has keys, and goes through the columns.
LogicalResult emitCombinedScores(ScoresOp op, KernelEmitter &emitter) {
  CombinedFrame frame(emitter, op, op.getType(), op.getCombine(), /*ownsQueries=*/true);
  auto &b = emitter.builder();
  LogicalResult finished = success();
  frame.emit(frame.room, [&] {
    int64_t columns = chunkOf(frame.width, 1, kCombined), lanes = frame.lanes;
    Value none = emitter.index(0);
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, frame.first, frame.otherLength);
    Value end = arith::SelectOp::create(b, isThere, emitter.index(frame.width), none);
    Value pastKeys = emitter.add(frame.otherStart, frame.otherLength);
    Value sums = emitter.loop(none, end, columns, frame.width, emitter.constant(1, lanes, 0),
                              [&](Value column, ValueRange state) -> SmallVector<Value> {
                                Value at = emitter.add(frame.headColumn, column);
                                auto load = [&](Value value, Value row, int64_t rows, Value limit) {
                                  return emitter.load(emitter.memoryOf(value), {row, at, rows, columns, limit, {}},
                                                      Padding::Zero, /*transposed=*/true);
                                };
                                SmallVector<Value> tiles{load(op.getQuery(), frame.ownedRow, 1, {}),
                                                         load(op.getKey(), emitter.add(frame.otherStart, frame.first),
                                                              lanes, pastKeys)};
                                for (Value parameter : op.getParameters())
                                  tiles.push_back(load(parameter, none, 1, {}));
                                Value parts = frame.combine(tiles, columns, lanes);
                                return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, parts, 0))};
                              })[0];
    Value firstOfHead = emitter.mul(frame.head, frame.room);
    Place place{frame.ownedRow, emitter.add(firstOfHead, frame.first), 1, lanes, {}, frame.limitOf(firstOfHead, frame.room)};
    emitter.define(op.getResult(), place, frame.whereBelow(sums, frame.first, 1, frame.otherLength));
    finished = emitter.finish(*Matrix::of(op.getType()), place);
  });
  return finished;
}

/// A lane has columns, and goes through the rows of the other side.
template <typename GradOp>
struct ScoresGradKernel : KernelOpInterface::ExternalModel<ScoresGradKernel<GradOp>, GradOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<GradOp>(op);
    constexpr bool ownsQueries = std::is_same_v<GradOp, ScoresGradQueryOp>;
    auto scores = cast<RankedTensorType>(grad.getGradient().getType());
    CombinedFrame frame(emitter, grad, scores, grad.getSlope(), ownsQueries);
    auto &b = emitter.builder();
    frame.emit(frame.width, [&] {
      int64_t lanes = frame.lanes;
      Value column = emitter.add(frame.headColumn, frame.first);
      Value columnLimit = frame.limitOf(frame.headColumn, frame.width), firstOfHead = emitter.mul(frame.head, frame.room);
      int64_t most = ownsQueries                  ? frame.room
                     : grad.getQuerySize().empty() ? 1
                                                   : emitter.maximumOf(grad.getQuerySize());
      int64_t rows = emitter.stepFor(most, std::min(most, kCombined));
      auto load = [&](Value value, Value row, int64_t count, Value limit) {
        return emitter.load(emitter.memoryOf(value), {row, column, count, lanes, limit, columnLimit});
      };
      Value own = load(ownsQueries ? grad.getQuery() : grad.getKey(), frame.ownedRow, 1, {});
      SmallVector<Value> parameters;
      for (Value parameter : grad.getParameters())
        parameters.push_back(load(parameter, emitter.index(0), 1, {}));
      Value total = emitter.loop(
          emitter.index(0), frame.otherLength, rows, most, emitter.constant(1, lanes, 0),
          [&](Value at, ValueRange state) -> SmallVector<Value> {
            Value row = emitter.add(frame.otherStart, at), end = emitter.add(frame.otherStart, frame.otherLength);
            Value other = load(ownsQueries ? grad.getKey() : grad.getQuery(), row, rows, end);
            Place pairs{row, emitter.add(firstOfHead, frame.owned), rows, 1, end, {}};
            if (ownsQueries)
              pairs = {frame.ownedRow, emitter.add(firstOfHead, at), 1, rows, {}, emitter.add(firstOfHead, frame.otherLength)};
            Value gradient = emitter.load(emitter.memoryOf(grad.getGradient()), pairs, Padding::Zero,
                                          /*transposed=*/ownsQueries);
            SmallVector<Value> tiles{ownsQueries ? own : other, ownsQueries ? other : own};
            llvm::append_range(tiles, parameters);
            tiles.push_back(gradient);
            Value parts = frame.whereBelow(frame.combine(tiles, rows, lanes), at, 0, frame.otherLength);
            return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, parts, 0))};
          })[0];
      emitter.store(grad.getResult(), total, {frame.ownedRow, column, 1, lanes, {}, columnLimit});
    });
    return success();
  }
};

//===-- Products ------------------------------------------------------------------------------------------------===//

struct ScoresKernel : KernelOpInterface::ExternalModel<ScoresKernel, ScoresOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto scores = cast<ScoresOp>(op);
    if (!scores.getCombine().empty())
      return emitCombinedScores(scores, emitter);
    auto &b = emitter.builder();
    Matrix result = *Matrix::of(scores.getType());
    Attention attention =
        Attention::ofPairs(scores, scores.getResult(), scores.getQuery(), scores.getKey(), scores.getKeyRows());
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
      // What the loop has not visited.
      int64_t keys = result.partColumns(), step = frame.getStep();
      Value rounded = emitter.add(frame.getVisitedLength(), emitter.index(step - 1));
      Value visited = b.createOrFold<arith::DivUIOp>(rounded, emitter.index(step));
      emitter.loop(emitter.mul(visited, step), emitter.index(keys), step, keys, {},
                   [&](Value first, ValueRange) { return finish(first, zeros); });
    });
    return finished;
  }
};

/// The tile of weights of a step; those of no pair are zero, whatever lies in memory.
Value loadWeights(KernelEmitter &emitter, const AttentionFrame &frame, Value weights, const Step &at, bool transposed) {
  Value tile = emitter.load(emitter.memoryOf(weights), frame.pairs(at.first), Padding::Any, transposed);
  return arith::SelectOp::create(emitter.builder(), at.counts, tile,
                                 emitter.constant(frame.getRows(), frame.getStep(), 0));
}

struct ContextKernel : KernelOpInterface::ExternalModel<ContextKernel, ContextOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto context = cast<ContextOp>(op);
    Attention attention = Attention::ofPairs(context, context.getWeights(), context.getResult(), context.getValue(),
                                             context.getKeyRows());
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
    Attention attention =
        Attention::ofPairs(context, context.getWeights(), context.getInput(), context.getResult(), /*keyRows=*/{});
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
