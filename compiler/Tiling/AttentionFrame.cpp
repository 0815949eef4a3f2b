#include "compiler/Tiling/AttentionFrame.h"

#include "compiler/Tiling/Fragments.h"
#include "compiler/Tiling/MaskBounds.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===-- The workgroup's rows, and those that it visits ----------------------------------------------------------===//

AttentionFrame::AttentionFrame(KernelEmitter &emitter, const Attention &attention, Owns owns, int64_t products)
    : emitter(emitter), b(emitter.builder()), attention(attention), ownsQueries(owns != Owns::Keys),
      isOneQuery(owns == Owns::OneQuery),
      fragments(attention.hasTensorFactors && emitter.getProfile().tensorAttentionSubgroups > 0),
      width(typeOf(attention.query).getDimSize(1) / attention.heads) {
  for (const MaskBound &bound : attention.mask ? getMaskBounds(*attention.mask) : SmallVector<MaskBound>()) {
    auto [owned, visited] = ownsQueries ? std::pair(bound.query, bound.key) : std::pair(bound.key, bound.query);
    if (visited == 1 || visited == -1)
      bounds.push_back({owned, visited, bound.constant});
  }
  if (isOneQuery)
    chooseQuads();
  else if (fragments)
    chooseFragments(products);
  else
    chooseRegisters(products);
}

void AttentionFrame::chooseRegisters(int64_t products) {
  emitter.setSpread(KernelEmitter::Spread::Rows);
  emitter.setVector({width, attention.pairKeys});
  const TargetProfile &profile = emitter.getProfile();
  // Where sequences are short, a lane need not own as many rows as it could.
  int64_t rowsOfLane = std::min<int64_t>(profile.attentionRows, llvm::divideCeil(maximumOwned(), emitter.getLanes()));
  step = profile.attentionKeys;
  auto work = [&] { return rowsOfLane * step * width * products; };
  while (work() > profile.attentionWork && step % (2 * emitter.getVector()) == 0)
    step /= 2;
  while (work() > profile.attentionWork && rowsOfLane > 1)
    rowsOfLane = (rowsOfLane + 1) / 2;
  rows = rowsOfLane * emitter.getLanes();
  while (step / 2 >= maximumVisited() && step % (2 * emitter.getVector()) == 0)
    step /= 2;
  step = emitter.stepFor(maximumVisited(), step);
}

/// Lanes that share a row of keys: they read 64 neighbouring bytes of it.
static constexpr int64_t kQuad = 4;

bool AttentionFrame::isOfOneQuery(AttentionOp op) {
  int64_t width = typeOf(op.getQuery()).getDimSize(1) / static_cast<int64_t>(op.getHeads());
  // Random numbers are drawn for four keys together, as lanes that have the keys of a query have them.
  return op.getQuerySize().empty() && op.getDropout().isZero() && width % kQuad == 0 &&
         !hasTensorFactors(op, op.getQuery());
}

void AttentionFrame::chooseQuads() {
  emitter.setSpread(KernelEmitter::Spread::Quads);
  emitter.setVector({width / kQuad});
  // A lane has a sum for each element of its part of the step's keys, and needs room for keys and values too.
  constexpr int64_t most = 64, fewest = 4;
  int64_t rowsOfLane = emitter.getProfile().accumulators / 2 * kQuad / width;
  rowsOfLane = llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rowsOfLane, 1, most));
  int64_t rowLanes = emitter.getLanes() / kQuad;
  rows = rowsOfLane * rowLanes, step = 1;
  while (rows > std::max(fewest, rowLanes) && (rows > most || rows / 2 >= maximumVisited()))
    rows /= 2;
  rows = emitter.stepFor(maximumVisited(), rows);
}

/// Up to so many products and columns a head a lane has registers for two fragments' rows.
static constexpr int64_t kFewProducts = 3, kNarrowHead = 64;

void AttentionFrame::chooseFragments(int64_t products) {
  const TargetProfile &profile = emitter.getProfile();
  emitter.setTensorTiles(profile.tensorAttentionSubgroups);
  // Twice the rows read the visited side half as often, if a lane has room for them and sequences fill them.
  int64_t rowsOfSubgroup = profile.tensorAttentionRows;
  auto owned = [&] { return rowsOfSubgroup * profile.tensorAttentionSubgroups; };
  while (rowsOfSubgroup > kFragmentRows &&
         (products > kFewProducts || width > kNarrowHead || maximumOwned() < 4 * owned()))
    rowsOfSubgroup /= 2;
  rows = owned();
  step = profile.tensorAttentionKeys * kFragmentRows / rowsOfSubgroup;
  // A lane holds a tile of scores for each product but those that add up to results, and those results.
  while (step > 2 * kFragmentDepth && products > 2 && width > 64)
    step /= 2;
  while (step / 2 >= maximumVisited() && step > kFragmentDepth)
    step /= 2;
}

void AttentionFrame::emit(function_ref<void()> body) {
  RankedTensorType sequences = typeOf(attention.queryStarts);
  Value block = emitter.setGrid(0, 1, ownsQueries ? attention.querySize : attention.keySize, ownedAtOnce());
  head = emitter.setGrid(1, attention.heads, {}, 1);
  sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
  queryStart = emitter.loadIndex(attention.queryStarts, sequence);
  Value queryLength = emitter.loadIndex(attention.queryLengths, sequence);
  Value keyStart = emitter.loadIndex(attention.keyStarts, sequence);
  Value keyLength = emitter.loadIndex(attention.keyLengths, sequence);
  Value ownedStart = ownsQueries ? queryStart : keyStart;
  ownedLength = ownsQueries ? queryLength : keyLength;
  visitedStart = ownsQueries ? keyStart : queryStart;
  visitedLength = ownsQueries ? keyLength : queryLength;
  first = emitter.mul(block, ownedAtOnce());
  ownedPlace = {emitter.add(ownedStart, first),
                emitter.mul(head, width),
                ownedAtOnce(),
                width,
                emitter.add(ownedStart, ownedLength),
                {}};

  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, ownedLength);
  auto ifOp = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

/// The longest sequence of the side whose rows are owned.
int64_t AttentionFrame::maximumOwned() {
  StringRef longest = ownsQueries ? attention.querySize : attention.keySize;
  return longest.empty() ? 1 : emitter.maximumOf(longest);
}

/// How many rows of the other side the loop passes at most. Two conditions that leave a band along the diagonal bound
/// it.
int64_t AttentionFrame::maximumVisited() {
  StringRef longest = ownsQueries ? attention.keySize : attention.querySize;
  int64_t maximum = 1;
  if (!longest.empty())
    maximum = emitter.maximumOf(longest);
  else if (ownsQueries)
    maximum = emitter.maximumRows(*Matrix::of(typeOf(attention.key)));
  for (const Bound &lower : bounds)
    for (const Bound &upper : bounds)
      if (lower.visited == 1 && upper.visited == -1 && lower.owned == -upper.owned)
        maximum = std::min(maximum, lower.constant + upper.constant + std::abs(lower.owned) * (ownedAtOnce() - 1) +
                                        visitedAtOnce());
  return std::max<int64_t>(maximum, 1);
}

std::pair<Value, Value> AttentionFrame::visitedRange() {
  // A condition holds for some owned row just where it holds for the row that makes its sum largest: the last or the
  // first.
  Value begin = emitter.index(0), end = visitedLength;
  for (const Bound &bound : bounds) {
    int64_t constant = bound.constant + (bound.owned > 0 ? bound.owned * (ownedAtOnce() - 1) : 0);
    if (bound.visited == 1)
      begin = b.createOrFold<arith::MaxSIOp>(begin,
                                             emitter.add(emitter.mul(first, -bound.owned), emitter.index(-constant)));
    else
      end = b.createOrFold<arith::MinSIOp>(end,
                                           emitter.add(emitter.mul(first, bound.owned), emitter.index(constant + 1)));
  }
  // Whole steps from 0 on: random numbers are drawn for four columns together.
  Value over = b.createOrFold<arith::RemUIOp>(begin, emitter.index(visitedAtOnce()));
  return {b.createOrFold<arith::SubIOp>(begin, over), end};
}

SmallVector<Value> AttentionFrame::visit(ValueRange state,
                                         function_ref<SmallVector<Value>(const Step &, ValueRange)> body) {
  auto [begin, end] = visitedRange();
  auto indices = [&](Value from, int64_t dim) { return emitter.indices(Place{from, from, rows, step, {}, {}}, dim); };
  Value ownedIndex = broadcast(indices(first, isOneQuery ? 1 : 0));
  Value pastLast = emitter.add(visitedStart, visitedLength);
  return emitter.loop(begin, end, visitedAtOnce(), maximumVisited(), state, [&](Value at, ValueRange state) {
    Value index = indices(at, isOneQuery ? 0 : 1), visitedIndex = broadcast(index);
    Step now{at,
             Place{emitter.add(visitedStart, at), ownedPlace.column, visitedAtOnce(), width, pastLast, {}},
             ownsQueries ? ownedIndex : visitedIndex,
             ownsQueries ? visitedIndex : ownedIndex,
             {}};
    Value length = arith::IndexCastOp::create(b, b.getI32Type(), visitedLength);
    Value inside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, tile::SplatOp::create(b, index.getType(), length));
    now.counts = broadcast(inside);
    if (attention.mask)
      now.counts = arith::AndIOp::create(b, now.counts, emitter.inlineRegion(*attention.mask, {now.query, now.key}));
    if (attention.keyRows)
      now.rows = emitter.load(emitter.memoryOf(attention.keyRows),
                              {sequence, now.visited.row, 1, visitedAtOnce(), {}, now.visited.rowLimit}, Padding::Zero,
                              /*transposed=*/true);
    return body(now, state);
  });
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

Value AttentionFrame::load(Value value, const Place &place) {
  Value tile = emitter.evaluate(value, place, Padding::Any);
  return fragments ? tile : emitter.widen(tile);
}

Value AttentionFrame::loadVisited(Value value, const Step &at) {
  if (!at.rows)
    return load(value, at.visited);
  RankedTensorType type = emitter.tileType(visitedAtOnce(), width, typeOf(value).getElementType());
  Value tile = tile::GatherOp::create(b, type, emitter.memoryOf(value), at.rows, at.visited.column, Value());
  return fragments ? tile : emitter.widen(tile);
}

double AttentionFrame::scale() const { return attention.scale * (attention.score ? 1 : std::numbers::log2e); }

// The scale goes to the owned rows once instead of to every score, unless that would round them once more.
Value AttentionFrame::loadOwned(Value value) {
  Value rows = load(value, ownedPlace);
  return fragments ? rows : mul(rows, scale());
}

Value AttentionFrame::scaled(Value ownedRows, Value visitedRows) {
  Value scores = products(ownedRows, visitedRows);
  return fragments ? mul(scores, scale()) : scores;
}

Value AttentionFrame::scores(Value scaled, const Step &at) {
  return attention.score ? mul(applyToScores(*attention.score, scaled, at, {}), std::numbers::log2e) : scaled;
}

Value AttentionFrame::scaledGradient(Value scaled, const Step &at, Value gradient) {
  if (!attention.scoreGradient)
    return gradient;
  // Where a pair does not count its score is any number, of which the slope need not be finite.
  Value slope = applyToScores(*attention.scoreGradient, scaled, at, gradient);
  return arith::SelectOp::create(b, at.counts, slope, splat(0, slope));
}

Value AttentionFrame::applyToScores(Region &region, Value scaled, const Step &at, ValueRange more) {
  Value number = arith::IndexCastOp::create(b, b.getI32Type(), head);
  SmallVector<Value> arguments{scaled, at.query, at.key, tile::SplatOp::create(b, at.query.getType(), number)};
  llvm::append_range(arguments, more);
  return emitter.inlineRegion(region, arguments);
}

Value AttentionFrame::loadPerQuery(Value value, const Place &place) {
  Place at{place.row, head, place.rows, 1, place.rowLimit, {}};
  return emitter.load(emitter.memoryOf(value), at, Padding::Any, /*transposed=*/!ownsQueries);
}

void AttentionFrame::storePerQuery(Value result, Value tile) {
  emitter.store(result, tile, {ownedPlace.row, head, ownedAtOnce(), 1, ownedPlace.rowLimit, {}});
}

void AttentionFrame::finish(ArrayRef<std::pair<Value, Value>> results) {
  for (auto [result, tile] : results)
    emitter.define(result, ownedPlace, tile);
  (void)emitter.finish(*Matrix::of(typeOf(results.front().first)), ownedPlace); // the emitter knows if it failed
}

Place AttentionFrame::pairs(Value visited) const {
  Value firstOfHead = emitter.mul(head, attention.pairKeys);
  Value pastHead = emitter.add(firstOfHead, emitter.index(attention.pairKeys));
  if (ownsQueries)
    return {ownedPlace.row,
            emitter.add(firstOfHead, visited),
            rows,
            step,
            ownedPlace.rowLimit,
            attention.pairKeys % step == 0 ? Value() : pastHead};
  return {emitter.add(visitedStart, visited),
          emitter.add(firstOfHead, first),
          step,
          rows,
          emitter.add(visitedStart, visitedLength),
          pastHead};
}

//===-- Arithmetic ----------------------------------------------------------------------------------------------===//

Value AttentionFrame::splat(double value, Value like) {
  return emitter.constant(typeOf(like).getDimSize(0), typeOf(like).getDimSize(1), value);
}
Value AttentionFrame::mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
Value AttentionFrame::mul(Value x, double factor) { return mul(x, splat(factor, x)); }
Value AttentionFrame::sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }

Value AttentionFrame::products(Value ownedRows, Value visitedRows) {
  if (isOneQuery)
    return emitter.reduce(tile::Combine::Sum, mul(emitter.broadcast(ownedRows, rows, width), visitedRows), 1);
  Value zeros = emitter.constant(rows, step, 0);
  return tile::DotOp::create(b, zeros.getType(), ownedRows, visitedRows, zeros, false, /*transposeRhs=*/true);
}

Value AttentionFrame::asFactor(Value tile) {
  Type element = typeOf(attention.query).getElementType();
  if (!fragments || typeOf(tile).getElementType() == element)
    return tile;
  return arith::TruncFOp::create(b, typeOf(tile).clone(element), tile);
}

Value AttentionFrame::accumulate(Value weights, Value value, const Step &at, Value accumulator) {
  if (isOneQuery)
    return math::FmaOp::create(b, emitter.broadcast(weights, rows, width), loadVisited(value, at), accumulator);
  // Tensor cores take the right side transposed.
  Value right = fragments ? emitter.load(emitter.memoryOf(value), at.visited, Padding::Any, /*transposed=*/true)
                          : loadVisited(value, at);
  return tile::DotOp::create(b, accumulator.getType(), asFactor(weights), right, accumulator, false, fragments);
}

Value AttentionFrame::dropoutFactor(const Step &at) {
  if (attention.dropout == 0)
    return {};
  // It depends on the query's row in the batch, the key's index and the head, whichever way round a kernel looks at
  // them.
  Type shape = at.query.getType();
  Value offset = tile::SplatOp::create(b, shape, arith::IndexCastOp::create(b, b.getI32Type(), queryStart));
  Value queryRows = arith::AddIOp::create(b, at.query, offset);
  Value stream = emitter.streamOfHead(attention.stream, head);
  Value random = tile::RandomOp::create(b, emitter.tileType(rows, step), emitter.loadScalar(attention.seed, 0),
                                        emitter.loadScalar(attention.seed, 1), emitter.loadScalar(attention.step, 0),
                                        stream, queryRows, at.key);
  Value keep = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, random, splat(attention.dropout, random));
  return arith::SelectOp::create(b, keep, splat(1 / (1 - attention.dropout), random), splat(0, random));
}

Value AttentionFrame::probabilities(const Step &at, Value scores, Value logSumExp) {
  Value power = math::Exp2Op::create(b, sub(scores, broadcast(logSumExp)));
  return arith::SelectOp::create(b, at.counts, power, splat(0, power));
}
