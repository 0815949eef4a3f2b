// Attention with its scores in memory: its two products and their gradients, a product for each sequence and head, and scores of
// other kinds. What a step makes or takes lies in a tensor<T x H x K>. Workgroups and loops are those of fused attention, or
// pairs are taken one by one.
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

//===-- Pairs one by one ----------------------------------------------------------------------------------------===//
// A query and a key meet column by column where a region says what becomes of them, where a query is alone in its sequence, so
// that a tile of queries would be empty but for a row, and where heads are too wide for a tile's registers. Lanes have
// neighbouring keys each, or neighbouring columns.

/// Columns of a query and of keys, or rows of the other side, that a lane takes at a time.
constexpr int64_t kAtOnce = 8;

/// Columns of a head for which tiles of several queries have registers.
constexpr int64_t kWidestTiles = 128;

/// Whether the dot products of these pairs are made one by one.
bool isOneByOne(const Attention &attention) {
  return !attention.keyRows && (attention.querySize.empty() || attention.width() > kWidestTiles);
}

/// A workgroup owns one query or key of a sequence, in one head, and of `extent` elements as many as its lanes have.
struct PairsFrame {
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  const Attention &attention;
  Region *region; // what becomes of elements that meet; null: their product
  bool ownsQueries;
  int64_t lanes = 0;
  Value first, owned, head, headColumn, ownedRow, otherStart, otherLength;

  PairsFrame(KernelEmitter &emitter, const Attention &attention, Region *region, bool ownsQueries)
      : emitter(emitter), b(emitter.builder()), attention(attention), region(region), ownsQueries(ownsQueries) {}

  void emit(int64_t extent, function_ref<void()> body) {
    auto sequences = cast<RankedTensorType>(attention.queryStarts.getType());
    emitter.setSpread(tile::Spread::Columns);
    emitter.setVector({extent});
    emitter.narrowVector(extent);
    lanes = emitter.getLanes() * emitter.getVector();
    first = emitter.mul(emitter.setGrid(0, extent, {}, lanes), lanes);
    Value number = emitter.setGrid(1, 1, ownsQueries ? attention.querySize : attention.keySize, 1, attention.heads);
    Value sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
    owned = b.createOrFold<arith::DivUIOp>(number, emitter.index(attention.heads));
    head = b.createOrFold<arith::RemUIOp>(number, emitter.index(attention.heads));
    headColumn = emitter.mul(head, attention.width());
    Value starts[] = {emitter.loadIndex(attention.queryStarts, sequence), emitter.loadIndex(attention.keyStarts, sequence)};
    Value lengths[] = {emitter.loadIndex(attention.queryLengths, sequence),
                       emitter.loadIndex(attention.keyLengths, sequence)};
    int own = ownsQueries ? 0 : 1;
    ownedRow = emitter.add(starts[own], owned);
    otherStart = starts[1 - own];
    otherLength = lengths[1 - own];
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, owned, lengths[own]);
    inside = emitter.isSequence(attention.queryStarts, sequence, inside);
    auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  /// `sum` plus what becomes of tiles that meet, each repeated over `rows` x `columns`, summed up over the rows.
  Value accumulate(Value sum, ArrayRef<Value> tiles, int64_t rows, int64_t columns, Value firstRow, Value rowLimit) {
    SmallVector<Value> arguments;
    for (Value tile : tiles)
      arguments.push_back(emitter.broadcast(tile, rows, columns));
    Value parts = region ? emitter.inlineRegion(*region, arguments)
                         : arith::MulFOp::create(b, arguments.front(), arguments.back()).getResult();
    if (rowLimit)
      parts = whereBelow(parts, firstRow, 0, rowLimit);
    return arith::AddFOp::create(b, sum, emitter.reduce(tile::Combine::Sum, parts, 0));
  }

  /// The tile where the indices along `dim` from `from` on are below `limit`, zero elsewhere.
  Value whereBelow(Value tile, Value from, int64_t dim, Value limit) {
    auto type = cast<RankedTensorType>(tile.getType());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    Value index = emitter.indices(Place{from, from, rows, columns, {}, {}}, dim);
    Value last = tile::SplatOp::create(b, index.getType(), arith::IndexCastOp::create(b, b.getI32Type(), limit));
    Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, last);
    return arith::SelectOp::create(b, emitter.broadcast(counts, rows, columns), tile, emitter.constant(rows, columns, 0));
  }

  /// The first element past a head's `extent` of columns, where the lanes may reach beyond.
  Value limitOf(Value begin, int64_t extent) {
    return extent % lanes == 0 ? Value() : emitter.add(begin, emitter.index(extent));
  }
};

/// Scores: a lane has keys, and goes through the columns.
LogicalResult emitScoresOneByOne(ScoresOp op, const Attention &attention, KernelEmitter &emitter) {
  PairsFrame frame(emitter, attention, Attention::orNull(op.getCombine()), /*ownsQueries=*/true);
  auto &b = emitter.builder();
  LogicalResult finished = success();
  int64_t room = attention.pairKeys, width = attention.width();
  frame.emit(room, [&] {
    int64_t columns = chunkOf(width, 1, kAtOnce), lanes = frame.lanes;
    Value none = emitter.index(0), pastKeys = emitter.add(frame.otherStart, frame.otherLength);
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, frame.first, frame.otherLength);
    Value end = arith::SelectOp::create(b, isThere, emitter.index(width), none);
    Value sums = emitter.loop(none, end, columns, width, emitter.constant(1, lanes, 0),
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
                                return {frame.accumulate(state[0], tiles, columns, lanes, {}, {})};
                              })[0];
    Value firstOfHead = emitter.mul(frame.head, room);
    Place place{frame.ownedRow, emitter.add(firstOfHead, frame.first), 1, lanes, {}, frame.limitOf(firstOfHead, room)};
    emitter.define(op.getResult(), place, frame.whereBelow(sums, frame.first, 1, frame.otherLength));
    finished = emitter.finish(*Matrix::of(op.getType()), place);
  });
  return finished;
}

/// For each query the sum over its keys, or for each key over its queries, of what the elements of both make of a number of the
/// pair in `scores`: a lane has columns, and goes through the rows of the other side. Without a region that is the other side's
/// element times the number.
LogicalResult emitSumsOneByOne(const Attention &attention, bool ownsQueries, Value scores, ValueRange parameters, Region *region,
                               Value result, KernelEmitter &emitter) {
  PairsFrame frame(emitter, attention, region, ownsQueries);
  int64_t room = attention.pairKeys, width = attention.width();
  frame.emit(width, [&] {
    int64_t lanes = frame.lanes;
    Value column = emitter.add(frame.headColumn, frame.first);
    Value columnLimit = frame.limitOf(frame.headColumn, width), firstOfHead = emitter.mul(frame.head, room);
    int64_t most = ownsQueries ? room : attention.querySize.empty() ? 1 : emitter.maximumOf(attention.querySize);
    int64_t rows = emitter.stepFor(most, std::min(most, kAtOnce));
    auto load = [&](Value value, Value row, int64_t count, Value limit) {
      return emitter.load(emitter.memoryOf(value), {row, column, count, lanes, limit, columnLimit});
    };
    Value own;
    SmallVector<Value> ofParameters;
    if (region)
      own = load(ownsQueries ? attention.query : attention.key, frame.ownedRow, 1, {});
    for (Value parameter : parameters)
      ofParameters.push_back(load(parameter, emitter.index(0), 1, {}));
    Value total = emitter.loop(
        emitter.index(0), frame.otherLength, rows, most, emitter.constant(1, lanes, 0),
        [&](Value at, ValueRange state) -> SmallVector<Value> {
          Value row = emitter.add(frame.otherStart, at), end = emitter.add(frame.otherStart, frame.otherLength);
          Value other = load(ownsQueries ? attention.key : attention.query, row, rows, end);
          Place pairs{row, emitter.add(firstOfHead, frame.owned), rows, 1, end, {}};
          if (ownsQueries)
            pairs = {frame.ownedRow, emitter.add(firstOfHead, at), 1, rows, {}, emitter.add(firstOfHead, frame.otherLength)};
          Value number = emitter.load(emitter.memoryOf(scores), pairs, Padding::Zero, /*transposed=*/ownsQueries);
          SmallVector<Value> tiles{other};
          if (region) {
            tiles.insert(ownsQueries ? tiles.begin() : tiles.end(), own);
            llvm::append_range(tiles, ofParameters);
          }
          tiles.push_back(number);
          return {frame.accumulate(state[0], tiles, rows, lanes, at, region ? frame.otherLength : Value())};
        })[0];
    emitter.store(result, total, {frame.ownedRow, column, 1, lanes, {}, columnLimit});
  });
  return success();
}

template <typename GradOp>
struct ScoresGradKernel : KernelOpInterface::ExternalModel<ScoresGradKernel<GradOp>, GradOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<GradOp>(op);
    Attention attention =
        Attention::ofPairs(grad, grad.getGradient(), grad.getQuery(), grad.getKey(), /*keyRows=*/{});
    return emitSumsOneByOne(attention, std::is_same_v<GradOp, ScoresGradQueryOp>, grad.getGradient(), grad.getParameters(),
                            &grad.getSlope(), grad.getResult(), emitter);
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
    if (isOneByOne(attention))
      return emitSumsOneByOne(attention, /*ownsQueries=*/true, context.getWeights(), {}, nullptr, context.getResult(), emitter);
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
    if (isOneByOne(attention))
      return emitSumsOneByOne(attention, /*ownsQueries=*/false, context.getWeights(), {}, nullptr, context.getResult(), emitter);
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
