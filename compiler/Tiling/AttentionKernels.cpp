// Attention with an online softmax over tiles of keys (FlashAttention's recurrence), forward and backward. A lane owns
// rows of the scores whole, queries in the forward pass and in the query's gradient, keys in the other: products, softmax
// and sums stay within a lane, and the T x T scores are never in memory.
#include "compiler/Tiling/KernelEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A score below every real one. Infinity would make NaN of the difference of two.
constexpr double kLowest = -1e30;

/// mask(query, key) = key <= query: then keys past the last query of a tile need no visit.
bool isCausal(Region &mask) {
  if (mask.empty())
    return false;
  Block &block = mask.front();
  auto compare = block.getTerminator()->getOperand(0).getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  Value query = block.getArgument(0), key = block.getArgument(1);
  using arith::CmpIPredicate;
  return (compare.getPredicate() == CmpIPredicate::sle && compare.getLhs() == key && compare.getRhs() == query) ||
         (compare.getPredicate() == CmpIPredicate::sge && compare.getLhs() == query && compare.getRhs() == key);
}

/// What the three kernels share: this workgroup's sequence and head, the places of its tiles, and the probabilities.
template <typename AttentionLike>
struct AttentionFrame {
  KernelEmitter &emitter;
  AttentionLike op;
  ImplicitLocOpBuilder &b;
  int64_t width; // of a head
  bool causal;
  Value head, sequence, headColumn;
  Value queryStart, queryLength, queryEnd, keyStart, keyLength, keyEnd;

  AttentionFrame(KernelEmitter &emitter, AttentionLike op)
      : emitter(emitter), op(op), b(emitter.builder()), width(typeOf(op.getQuery()).getDimSize(1) / op.getHeads()),
        causal(isCausal(op.getMask())) {
    emitter.setSpread(KernelEmitter::Spread::Rows);
    emitter.setVector({width});
  }

  /// Starts workgroups for `tile` rows of the longest sequence each, for each head and sequence; returns the first row
  /// of this one, counted from its sequence's start.
  Value start(StringRef longest, int64_t tile) {
    RankedTensorType sequences = typeOf(op.getQueryStarts());
    Value block = emitter.setGrid(0, 1, longest, tile);
    head = emitter.setGrid(1, op.getHeads(), {}, 1);
    sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
    headColumn = emitter.mul(head, width);
    queryStart = emitter.loadIndex(op.getQueryStarts(), sequence);
    queryLength = emitter.loadIndex(op.getQueryLengths(), sequence);
    keyStart = emitter.loadIndex(op.getKeyStarts(), sequence);
    keyLength = emitter.loadIndex(op.getKeyLengths(), sequence);
    queryEnd = emitter.add(queryStart, queryLength);
    keyEnd = emitter.add(keyStart, keyLength);
    return emitter.mul(block, tile);
  }

  Place queries(Value first, int64_t count) {
    return {emitter.add(queryStart, first), headColumn, count, width, queryEnd, {}};
  }
  Place keys(Value first, int64_t count) {
    return {emitter.add(keyStart, first), headColumn, count, width, keyEnd, {}};
  }
  /// Rows past a sequence's end only reach scores that `counts` excludes or rows that are not stored.
  Value load(Value value, const Place &place) {
    return emitter.load(emitter.memoryOf(value), place, Padding::Any);
  }
  /// One number per query of this head, as a column, or as a row.
  Value perQuery(Value value, const Place &place, bool asRow = false) {
    Place at{place.row, head, place.rows, 1, place.rowLimit, {}};
    return emitter.load(emitter.memoryOf(value), at, Padding::Any, asRow);
  }
  void storeColumn(Value result, Value tile, const Place &place) {
    emitter.store(result, tile, {place.row, head, place.rows, 1, place.rowLimit, {}});
  }

  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value dot(Value lhs, Value rhs, Value accumulator, bool transposeRhs) {
    return tile::DotOp::create(b, accumulator.getType(), lhs, rhs, accumulator, false, transposeRhs);
  }
  Value scores(Value rows, Value columns) {
    int64_t m = typeOf(rows).getDimSize(0), n = typeOf(columns).getDimSize(0);
    return dot(rows, columns, emitter.constant(m, n, 0), true);
  }

  /// Which (query, key) pairs of a tile count: both inside their sequence, and not masked. `queryIndex` and `keyIndex`
  /// are i32 tiles of the scores' shape.
  Value counts(Value queryIndex, Value keyIndex) {
    RankedTensorType shape = typeOf(queryIndex);
    int64_t m = shape.getDimSize(0), n = shape.getDimSize(1);
    auto below = [&](Value index, Value length) -> Value {
      Value limit = tile::SplatOp::create(b, shape, arith::IndexCastOp::create(b, b.getI32Type(), length));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, limit);
    };
    Value result = arith::AndIOp::create(b, below(queryIndex, queryLength), below(keyIndex, keyLength));
    if (op.getMask().empty())
      return result;
    IRMapping mapping;
    Block &mask = op.getMask().front();
    mapping.map(mask.getArguments(), ValueRange{queryIndex, keyIndex});
    for (Operation &inner : mask.without_terminator()) {
      if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
        RankedTensorType type = emitter.tileType(m, n, constant.getType());
        mapping.map(constant.getResult(),
                    arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<Attribute>(constant.getValue())))
                        .getResult());
        continue;
      }
      if (!OpTrait::hasElementwiseMappableTraits(&inner)) {
        emitter.fail() << "'" << inner.getName() << "' in the mask is not elementwise";
        return result;
      }
      Operation *clone = b.clone(inner, mapping);
      for (Value value : clone->getResults())
        value.setType(emitter.tileType(m, n, value.getType()));
    }
    return arith::AndIOp::create(b, result, mapping.lookup(mask.getTerminator()->getOperand(0)));
  }

  /// The factor that dropout puts on each probability: 0 or 1 / (1 - rate); null without dropout. It depends on the
  /// query's row in the batch, the key's index and the head, whichever way round a kernel looks at them.
  Value dropoutFactor(Value queryIndex, Value keyIndex) {
    double rate = op.getDropout().convertToDouble();
    if (rate == 0)
      return {};
    RankedTensorType shape = typeOf(queryIndex);
    int64_t m = shape.getDimSize(0), n = shape.getDimSize(1);
    Value offset = tile::SplatOp::create(b, shape, arith::IndexCastOp::create(b, b.getI32Type(), queryStart));
    Value rows = arith::AddIOp::create(b, queryIndex, offset);
    // Streams of other sites are small numbers, too: a site's heads take numbers far above them.
    Value site = arith::ShLIOp::create(b, emitter.number(int64_t(op.getStream()) + 1),
                                       arith::ConstantIntOp::create(b, b.getI32Type(), 16));
    Value stream = arith::AddIOp::create(b, site, arith::IndexCastOp::create(b, b.getI32Type(), head));
    Value random = tile::RandomOp::create(b, emitter.tileType(m, n), emitter.loadScalar(op.getSeed(), 0),
                                          emitter.loadScalar(op.getSeed(), 1), emitter.loadScalar(op.getStep(), 0),
                                          stream, rows, keyIndex);
    Value keep = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, random, emitter.constant(m, n, rate));
    return arith::SelectOp::create(b, keep, emitter.constant(m, n, 1 / (1 - rate)), emitter.constant(m, n, 0));
  }

  /// Backward: the probabilities again, from the scores' dot products and each query's log-sum-exp.
  Value probabilities(Value products, Value logSumExp, Value counting) {
    int64_t m = typeOf(products).getDimSize(0), n = typeOf(products).getDimSize(1);
    Value scaled = mul(products, emitter.constant(m, n, op.getScale().convertToDouble()));
    Value power = math::ExpOp::create(b, arith::SubFOp::create(b, scaled, emitter.broadcast(logSumExp, m, n)));
    return arith::SelectOp::create(b, counting, power, emitter.constant(m, n, 0));
  }

  /// `then` runs where this workgroup's first row lies inside of its sequence.
  void guarded(Value first, Value length, function_ref<void()> then) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, length);
    auto ifOp = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    then();
  }

  Value broadcastIndex(Value first, int64_t rows, int64_t columns, int64_t dim) {
    Place place{first, first, rows, columns, {}, {}};
    return emitter.broadcast(emitter.indices(place, dim), rows, columns);
  }
  Value smaller(Value x, Value y) { return arith::MinUIOp::create(b, x, y); }

  /// Past this, counted from the sequence's start, no key counts for `rows` queries from `first` on.
  Value lastKey(Value first, int64_t rows) {
    return causal ? smaller(keyLength, emitter.add(first, emitter.index(rows))) : keyLength;
  }
  int64_t maximumKeys() {
    return op.getKeySize().empty() ? cast<ShapedType>(op.getKey().getType()).isDynamicDim(0)
                                         ? emitter.maximumOf(getSizeName(typeOf(op.getKey()), 0))
                                         : typeOf(op.getKey()).getDimSize(0)
                                   : emitter.maximumOf(op.getKeySize());
  }
  int64_t stepFor(int64_t maximum) { return emitter.stepFor(maximum, emitter.getProfile().attentionKeys); }
  /// Where every sequence has one query, a lane need not own more than one row.
  int64_t rowsPerLane(StringRef longest) { return longest.empty() ? 1 : emitter.getProfile().attentionRows; }
};

struct AttentionKernel : KernelOpInterface::ExternalModel<AttentionKernel, AttentionOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto attention = cast<AttentionOp>(op);
    auto &b = emitter.builder();
    AttentionFrame frame(emitter, attention);
    int64_t rows = emitter.getLanes() * frame.rowsPerLane(attention.getQuerySize());
    int64_t maximum = frame.maximumKeys(), step = frame.stepFor(maximum);
    Value first = frame.start(attention.getQuerySize(), rows);
    frame.guarded(first, frame.queryLength, [&] {
      Place place = frame.queries(first, rows);
      // The scale goes to the query once instead of to every score.
      Value query = frame.mul(frame.load(attention.getQuery(), place),
                              emitter.constant(rows, frame.width, attention.getScale().convertToDouble()));
      Value queryIndex = frame.broadcastIndex(first, rows, step, 0);
      Value zeros = emitter.constant(rows, step, 0);
      SmallVector<Value> state = emitter.loop(
          emitter.index(0), frame.lastKey(first, rows), step, maximum,
          {emitter.constant(rows, 1, kLowest), emitter.constant(rows, 1, 0), emitter.constant(rows, frame.width, 0)},
          [&](Value key, ValueRange state) -> SmallVector<Value> {
            Place keyPlace = frame.keys(key, step);
            Value keyIndex = frame.broadcastIndex(key, rows, step, 1);
            Value counting = frame.counts(queryIndex, keyIndex);
            Value scores = frame.scores(query, frame.load(attention.getKey(), keyPlace));
            scores = arith::SelectOp::create(b, counting, scores, emitter.constant(rows, step, kLowest));
            Value largest = arith::MaximumFOp::create(b, state[0], emitter.reduce(tile::Combine::Max, scores, 1));
            Value rescale = math::ExpOp::create(b, arith::SubFOp::create(b, state[0], largest));
            Value powers = math::ExpOp::create(
                b, arith::SubFOp::create(b, scores, emitter.broadcast(largest, rows, step)));
            powers = arith::SelectOp::create(b, counting, powers, zeros);
            Value sum = math::FmaOp::create(b, state[1], rescale, emitter.reduce(tile::Combine::Sum, powers, 1));
            if (Value factor = frame.dropoutFactor(queryIndex, keyIndex))
              powers = frame.mul(powers, factor);
            Value rescaled = frame.mul(state[2], emitter.broadcast(rescale, rows, frame.width));
            Value values = frame.load(attention.getValue(), keyPlace);
            return {largest, sum, frame.dot(powers, values, rescaled, false)};
          });
      // A query without any key gets zeros, not a division by zero.
      Value one = emitter.constant(rows, 1, 1);
      Value any = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, state[1], emitter.constant(rows, 1, 0));
      Value inverse = arith::DivFOp::create(b, one, arith::SelectOp::create(b, any, state[1], one));
      emitter.store(attention.getResult(), frame.mul(state[2], emitter.broadcast(inverse, rows, frame.width)), place);
      Value logSumExp = arith::AddFOp::create(b, state[0], math::LogOp::create(b, arith::SelectOp::create(b, any, state[1], one)));
      frame.storeColumn(attention.getLogSumExp(), logSumExp, place);
    });
    return success();
  }
};

// With P the probabilities and D = dropout's factor: dP = D * (dO V^T), dS = P * (dP - delta), dQ = scale * dS K.
struct AttentionGradQueryKernel : KernelOpInterface::ExternalModel<AttentionGradQueryKernel, AttentionGradQueryOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<AttentionGradQueryOp>(op);
    auto &b = emitter.builder();
    AttentionFrame frame(emitter, grad);
    int64_t rows = emitter.getLanes() * frame.rowsPerLane(grad.getQuerySize());
    int64_t maximum = frame.maximumKeys(), step = frame.stepFor(maximum);
    Value first = frame.start(grad.getQuerySize(), rows);
    frame.guarded(first, frame.queryLength, [&] {
      Place place = frame.queries(first, rows);
      Value query = frame.load(grad.getQuery(), place), gradient = frame.load(grad.getGradient(), place);
      Value logSumExp = frame.perQuery(grad.getLogSumExp(), place), delta = frame.perQuery(grad.getDelta(), place);
      Value queryIndex = frame.broadcastIndex(first, rows, step, 0);
      Value total = emitter.loop(
          emitter.index(0), frame.lastKey(first, rows), step, maximum, emitter.constant(rows, frame.width, 0),
          [&](Value key, ValueRange state) -> SmallVector<Value> {
            Place keyPlace = frame.keys(key, step);
            Value keyIndex = frame.broadcastIndex(key, rows, step, 1);
            Value keys = frame.load(grad.getKey(), keyPlace), values = frame.load(grad.getValue(), keyPlace);
            Value p = frame.probabilities(frame.scores(query, keys), logSumExp, frame.counts(queryIndex, keyIndex));
            Value dp = frame.scores(gradient, values);
            if (Value factor = frame.dropoutFactor(queryIndex, keyIndex))
              dp = frame.mul(dp, factor);
            Value ds = frame.mul(p, arith::SubFOp::create(b, dp, emitter.broadcast(delta, rows, step)));
            return {frame.dot(ds, keys, state[0], false)};
          })[0];
      Value scale = emitter.constant(rows, frame.width, grad.getScale().convertToDouble());
      emitter.store(grad.getResult(), frame.mul(total, scale), place);
    });
    return success();
  }
};

// The same, transposed: a lane owns keys, and the loop walks over queries. dV = (P D)^T dO, dK = scale * dS^T Q.
struct AttentionGradKeyValueKernel
    : KernelOpInterface::ExternalModel<AttentionGradKeyValueKernel, AttentionGradKeyValueOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<AttentionGradKeyValueOp>(op);
    auto &b = emitter.builder();
    AttentionFrame frame(emitter, grad);
    int64_t rows = emitter.getLanes() * frame.rowsPerLane(grad.getKeySize());
    int64_t maximum = grad.getQuerySize().empty() ? 1 : emitter.maximumOf(grad.getQuerySize());
    int64_t step = frame.stepFor(maximum);
    Value first = frame.start(grad.getKeySize(), rows);
    frame.guarded(first, frame.keyLength, [&] {
      Place place = frame.keys(first, rows);
      Value keys = frame.load(grad.getKey(), place), values = frame.load(grad.getValue(), place);
      Value keyIndex = frame.broadcastIndex(first, rows, step, 0);
      Value zeros = emitter.constant(rows, frame.width, 0);
      // Under a causal mask no query before the tile's first key counts.
      SmallVector<Value> totals = emitter.loop(
          frame.causal ? first : emitter.index(0), frame.queryLength, step, maximum, {zeros, zeros},
          [&](Value query, ValueRange state) -> SmallVector<Value> {
            Place queryPlace = frame.queries(query, step);
            Value queryIndex = frame.broadcastIndex(query, rows, step, 1);
            Value queries = frame.load(grad.getQuery(), queryPlace);
            Value gradient = frame.load(grad.getGradient(), queryPlace);
            Value logSumExp = frame.perQuery(grad.getLogSumExp(), queryPlace, true);
            Value delta = frame.perQuery(grad.getDelta(), queryPlace, true);
            Value p = frame.probabilities(frame.scores(keys, queries), logSumExp, frame.counts(queryIndex, keyIndex));
            Value dp = frame.scores(values, gradient), dropped = p;
            if (Value factor = frame.dropoutFactor(queryIndex, keyIndex)) {
              dp = frame.mul(dp, factor);
              dropped = frame.mul(p, factor);
            }
            Value ds = frame.mul(p, arith::SubFOp::create(b, dp, emitter.broadcast(delta, rows, step)));
            return {frame.dot(ds, queries, state[0], false), frame.dot(dropped, gradient, state[1], false)};
          });
      Value scale = emitter.constant(rows, frame.width, grad.getScale().convertToDouble());
      emitter.store(grad.getKeyGradient(), frame.mul(totals[0], scale), place);
      emitter.store(grad.getValueGradient(), totals[1], place);
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
