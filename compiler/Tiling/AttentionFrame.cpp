#include "compiler/Tiling/AttentionFrame.h"

#include "compiler/Kernels/Fragments.h"
#include "compiler/Kernels/MaskBounds.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===-- The workgroup's rows, and those that it visits ----------------------------------------------------------===//

/// Heads up to which shared memory has room for the owned factors. Of wider heads they are read where they are.
static constexpr int64_t kWidestOwned = 128;

/// Whether the lanes along a row have a part of each of its columns, and shared memory has room.
static bool canHaveBlocks(const TargetProfile &profile, int64_t width) {
  constexpr int64_t widest = 256;
  return profile.blockLanes > 0 && width % profile.blockRowLanes == 0 && width <= widest;
}

/// Tensor cores' factors of 32 bits come from device memory to registers, of which the results of wide heads leave too
/// few: those are better off in blocks.
static bool canHaveFragments(const TargetProfile &profile, const Attention &attention, int64_t width,
                             int64_t products) {
  constexpr int64_t mostOfResults = 64; // registers of a lane
  int64_t results = (products > 3 ? 2 : 1) * width * profile.matrix.rows / profile.lanes;
  return attention.hasTensorFactors && profile.tensorAttentionSubgroups > 0 &&
         (isTensorFactor(attention.query.getType()) || results <= mostOfResults || !canHaveBlocks(profile, width));
}

AttentionFrame::AttentionFrame(KernelEmitter &emitter, const Attention &attention, Owns owns, int64_t products)
    : emitter(emitter), b(emitter.builder()), attention(attention), ownsQueries(owns != Owns::Keys),
      isOneQuery(owns == Owns::OneQuery),
      fragments(canHaveFragments(emitter.getProfile(), attention,
                                 typeOf(attention.query).getDimSize(1) / attention.heads, products)),
      blocks(!isOneQuery && !fragments && attention.pairKeys == 0 &&
             canHaveBlocks(emitter.getProfile(), typeOf(attention.query).getDimSize(1) / attention.heads)),
      width(typeOf(attention.query).getDimSize(1) / attention.heads) {
  if (attention.mask)
    for (const MaskBound &bound : getMaskBounds(*attention.mask, &boundsAreExact)) {
      auto [owned, visited] = ownsQueries ? std::pair(bound.query, bound.key) : std::pair(bound.key, bound.query);
      bounds.push_back({owned, visited, bound.constant});
    }
  // The scale goes to the owned rows once instead of to every score, unless that would round them once more. A maximum
  // of scores in any positive unit is one of scores.
  double &factor = fragments || (blocks && width > kWidestOwned) ? productScale : ownedScale;
  if (fragments && !attention.score && attention.scale > 0) {
    unit = attention.scale * std::numbers::log2e;
  } else if (attention.score) {
    factor = attention.scale;
    unit = std::numbers::log2e;
  } else {
    factor = attention.scale * std::numbers::log2e;
  }
  if (isOneQuery)
    chooseQuads();
  else if (fragments)
    chooseFragments(products);
  else if (blocks)
    chooseBlocks(products);
  else
    chooseRegisters(products);
}

void AttentionFrame::chooseBlocks(int64_t products) {
  // Bytes of shared memory that most devices have. Of the widest heads even the shortest step takes more.
  constexpr int64_t longestStep = 16, room = 32768;
  const TargetProfile &profile = emitter.getProfile();
  int64_t rowLanes = profile.blockRowLanes;
  bool isWide = width > kWidestOwned;
  emitter.setBlocks();
  emitter.setVector({width / rowLanes});
  int64_t down = profile.blockLanes / rowLanes;
  bool isGradient = products > 2;
  // Narrow heads leave room for more rows, which make more of each factor that a lane reads.
  rows = (isGradient || isWide ? 1 : 2) * (width <= 32 ? 2 : 1) * down;
  while (rows > down && rows / 2 >= maximumOwned())
    rows /= 2;
  step = longestStep;
  // Owned and visited factors, and tiles of scores that go into products.
  auto bytes = [&] {
    int64_t owned = isWide ? 0 : isGradient ? 2 : 1, scores = products > 3 ? 2 : 1;
    return 4 * ((owned * rows + 2 * step) * (width + 4) + scores * rows * (step + 4));
  };
  while (step > rowLanes && (step / 2 >= maximumVisited() || bytes() > room))
    step /= 2;
  step = emitter.stepFor(maximumVisited(), step);
}

void AttentionFrame::chooseRegisters(int64_t products) {
  emitter.setSpread(tile::Spread::Rows);
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

/// Lanes that share a row of keys: four read 64 neighbouring bytes of it. More where a lane's part would fill its
/// registers.
static int64_t lanesOfRow(const TargetProfile &profile, int64_t width) {
  return width > kWidestOwned && width % 8 == 0 && profile.lanes >= 8 ? 8 : 4;
}

bool AttentionFrame::isOfOneQuery(AttentionOp op) {
  int64_t width = typeOf(op.getQuery()).getDimSize(1) / static_cast<int64_t>(op.getHeads());
  // Random numbers are drawn for four keys together, as lanes that have the keys of a query have them.
  return op.getQuerySize().empty() && op.getDropout().isZero() && width % 4 == 0 &&
         !hasTensorFactors(op, op.getQuery());
}

void AttentionFrame::chooseQuads() {
  int64_t lanes = lanesOfRow(emitter.getProfile(), width);
  emitter.setQuads(lanes);
  emitter.setVector({width / lanes});
  // A lane has a sum for each element of its part of the step's keys, and needs room for keys and values too.
  constexpr int64_t most = 64, fewest = 4;
  int64_t rowsOfLane = emitter.getProfile().accumulators / 2 * lanes / width;
  rowsOfLane = llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rowsOfLane, 1, most));
  int64_t rowLanes = emitter.getLanes() / lanes;
  rows = rowsOfLane * rowLanes, step = 1;
  while (rows > std::max(fewest, rowLanes) && (rows > most || rows / 2 >= maximumVisited()))
    rows /= 2;
  rows = emitter.stepFor(maximumVisited(), rows);
}

void AttentionFrame::chooseFragments(int64_t products) {
  const TargetProfile &profile = emitter.getProfile();
  subgroups = profile.tensorAttentionSubgroups;
  emitter.setTensorTiles(subgroups);
  int64_t rowsOfSubgroup = profile.tensorAttentionRows;
  // A lane holds its part of the results, and of the scores two tiles where there are gradients of them.
  int64_t results = products > 3 ? 2 : 1, tiles = products > 2 ? 2 : 1;
  // Owned factors that cannot come from shared memory have to fit as well.
  int64_t bits = typeOf(attention.query).getElementTypeBitWidth();
  bool staysInRegisters =
      !isTensorFactor(attention.query.getType()) || !canCopyFactors(typeOf(attention.query).getDimSize(1), width);
  int64_t kept = staysInRegisters ? tiles * width * bits / 32 : 0;
  // Visited factors then come from device memory as well, and their addresses need registers.
  int64_t most = staysInRegisters ? profile.tensorAttentionRegisters * 3 / 4 : profile.tensorAttentionRegisters;
  // Dropout's factors are one more tile of the scores' shape, and so are scaled scores that their gradient is to see.
  int64_t more = (attention.dropout == 0 ? 0 : 1) + (attention.scoreGradient ? 1 : 0);
  // What else takes registers, by ptxas's reports (docs/cuda-kernels.md): drawing random numbers and the arithmetic of
  // scores; the addresses of wide heads' factors, and a band's two bounds beside them.
  if (more > 0)
    most -= 40;
  if (!staysInRegisters && width > 64 && (products != 3 || bounds.size() > 1))
    most -= 32;
  auto registers = [&] {
    return rowsOfSubgroup * (results * width + (tiles + more) * step + kept) / emitter.getLanes();
  };
  // Twice the rows read the visited side half as often, if sequences fill them; they are worth shorter steps.
  auto shortestStep = [&] {
    bool isWorthRows = !staysInRegisters && rowsOfSubgroup > profile.matrix.rows;
    return isWorthRows ? 2 * profile.matrix.depth : profile.matrix.depth;
  };
  while (rowsOfSubgroup > profile.matrix.rows && maximumOwned() < 4 * subgroups * rowsOfSubgroup)
    rowsOfSubgroup /= 2;
  auto longestStep = [&] {
    return profile.tensorAttentionKeys / (tiles > 1 ? rowsOfSubgroup / profile.matrix.rows : 1);
  };
  step = longestStep();
  while (registers() > most && (step > shortestStep() || rowsOfSubgroup > profile.matrix.rows)) {
    if (step > shortestStep()) {
      step /= 2;
    } else {
      rowsOfSubgroup /= 2;
      step = longestStep();
    }
  }
  if (!staysInRegisters || registers() > most)
    registersLeft = most - registers() + rowsOfSubgroup * kept / emitter.getLanes();
  // By the same reports there is no room for owned factors that could be elsewhere.
  if (!staysInRegisters && more > 0)
    registersLeft = 0;
  rows = subgroups * rowsOfSubgroup;
  while (step / 2 >= maximumVisited() && step > profile.matrix.depth)
    step /= 2;
}

void AttentionFrame::emit(function_ref<void()> body) {
  RankedTensorType sequences = typeOf(attention.queryStarts);
  // Where a mask makes some rows visit more than others, those of all heads that visit most come first, so that none is
  // left over when the others are done.
  bool inOrder = fragments && llvm::any_of(bounds, [](const Bound &bound) { return bound.owned * bound.visited < 0; });
  Value block =
      emitter.setGrid(inOrder ? 1 : 0, 1, ownsQueries ? attention.querySize : attention.keySize, ownedAtOnce());
  head = emitter.setGrid(inOrder ? 0 : 1, attention.heads, {}, 1);
  sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
  queryStart = emitter.loadIndex(attention.queryStarts, sequence);
  Value queryLength = emitter.loadIndex(attention.queryLengths, sequence);
  Value keyStart = emitter.loadIndex(attention.keyStarts, sequence);
  Value keyLength = emitter.loadIndex(attention.keyLengths, sequence);
  Value ownedStart = ownsQueries ? queryStart : keyStart;
  ownedLength = ownsQueries ? queryLength : keyLength;
  visitedStart = ownsQueries ? keyStart : queryStart;
  visitedLength = ownsQueries ? keyLength : queryLength;
  Value begin = emitter.mul(block, ownedAtOnce());
  first = begin;
  if (inOrder && llvm::any_of(bounds, [](const Bound &bound) { return bound.visited < 0; })) {
    // The last rows visit most.
    Value blocks =
        b.createOrFold<arith::DivUIOp>(emitter.add(ownedLength, emitter.index(rows - 1)), emitter.index(rows));
    Value last = b.createOrFold<arith::SubIOp>(emitter.mul(blocks, rows), emitter.index(rows));
    first = b.createOrFold<arith::SubIOp>(last, begin);
  }
  ownedPlace = {emitter.add(ownedStart, first),
                emitter.mul(head, width),
                ownedAtOnce(),
                width,
                emitter.add(ownedStart, ownedLength),
                {}};

  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, begin, ownedLength);
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
    if (std::abs(bound.visited) != 1)
      continue;
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
    visitedShared.clear();
    isFirstOfStep = true;
    Value index = indices(at, isOneQuery ? 0 : 1), visitedIndex = broadcast(index);
    Step now{at, Place{emitter.add(visitedStart, at), ownedPlace.column, visitedAtOnce(), width, pastLast, {}},
             ownsQueries ? ownedIndex : visitedIndex, ownsQueries ? visitedIndex : ownedIndex};
    if (!fragments)
      now.counts = pairsThatCount(now);
    if (attention.keyRows)
      now.rows = emitter.load(emitter.memoryOf(attention.keyRows),
                              {sequence, now.visited.row, 1, visitedAtOnce(), {}, now.visited.rowLimit}, Padding::Zero,
                              /*transposed=*/true);
    return body(now, state);
  });
}

Value AttentionFrame::pairsThatCount(const Step &at) {
  Value index = emitter.indices(Place{at.first, at.first, rows, step, {}, {}}, isOneQuery ? 0 : 1);
  Value length = arith::IndexCastOp::create(b, b.getI32Type(), visitedLength);
  Value counts = broadcast(
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, tile::SplatOp::create(b, index.getType(), length)));
  if (attention.mask)
    counts = arith::AndIOp::create(b, counts, emitter.inlineRegion(*attention.mask, {at.query, at.key}));
  return counts;
}

Value AttentionFrame::allCount(Value at) {
  if (!boundsAreExact)
    return {};
  auto isAtLeast = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x, y); };
  Value all = isAtLeast(visitedLength, emitter.add(at, emitter.index(step)));
  // A condition holds for all pairs just where it does for those of the rows that make its sum smallest.
  for (const Bound &bound : bounds) {
    int64_t smallest = bound.constant + std::min<int64_t>(bound.owned, 0) * (rows - 1) +
                       std::min<int64_t>(bound.visited, 0) * (step - 1);
    Value sum = emitter.add(emitter.mul(first, bound.owned), emitter.mul(at, bound.visited));
    all = arith::AndIOp::create(b, all, isAtLeast(sum, emitter.index(-smallest)));
  }
  return all;
}

Value AttentionFrame::where(const Step &at, Value tile, double otherwise) {
  auto select = [&](Value counts) -> Value { return arith::SelectOp::create(b, counts, tile, splat(otherwise, tile)); };
  if (at.counts)
    return select(at.counts);
  Value all = allCount(at.first);
  if (!all)
    return select(pairsThatCount(at));
  // Most steps are inside of the sequence and the mask.
  auto branch = scf::IfOp::create(b, tile.getType(), all, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, tile);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, select(pairsThatCount(at)));
  return branch.getResult(0);
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

Value AttentionFrame::load(Value value, const Place &place) {
  Value tile = emitter.evaluate(value, place, Padding::Any);
  return fragments ? tile : emitter.widen(tile);
}

Value AttentionFrame::loadVisited(Value value, const Step &at) {
  if (!blocks)
    return loadVisitedTile(value, at);
  Value &shared = visitedShared[value];
  if (!shared)
    shared = share(loadVisitedTile(value, at));
  return shared;
}

Value AttentionFrame::loadVisitedTile(Value value, const Step &at) {
  if (!at.rows)
    return load(value, at.visited);
  RankedTensorType type = emitter.tileType(visitedAtOnce(), width, typeOf(value).getElementType());
  Value tile = tile::GatherOp::create(b, type, emitter.memoryOf(value), at.rows, at.visited.column, Value());
  return fragments ? tile : emitter.widen(tile);
}

Value AttentionFrame::share(Value tile) {
  Value shared = emitter.sharedTile(typeOf(tile)), zero = emitter.index(0);
  if (isFirstOfStep)
    tile::WaitOp::create(b, 0);
  isFirstOfStep = false;
  isPending = true;
  tile::StoreOp::create(b, tile, shared, zero, zero, Value(), Value());
  return shared;
}

void AttentionFrame::meet() {
  if (isPending)
    tile::WaitOp::create(b, 0);
  isPending = false;
}

Value AttentionFrame::multiplyShared(Value lhs, Value rhs, int64_t depth, bool transposeRhs, Value accumulator) {
  meet();
  ArrayRef<int64_t> shape = typeOf(accumulator).getShape();
  // Of so many places a lane has the factors' registers at once.
  int64_t part = shape[1] > kWidestOwned ? 4 : depth >= kWidestOwned ? 16 : 8;
  Value zero = emitter.index(0);
  return emitter.loop(zero, emitter.index(depth), part, depth, accumulator, [&](Value k, ValueRange state) {
    Value left =
        isa<MemRefType>(lhs.getType())
            ? emitter.load(lhs, {zero, k, shape[0], part, {}, {}}, Padding::Any)
            : load(lhs, {ownedPlace.row, emitter.add(ownedPlace.column, k), shape[0], part, ownedPlace.rowLimit, {}});
    Place place = transposeRhs ? Place{zero, k, shape[1], part, {}, {}} : Place{k, zero, part, shape[1], {}, {}};
    Value right = emitter.load(rhs, place, Padding::Any);
    return SmallVector<Value>{
        tile::DotOp::create(b, accumulator.getType(), left, right, state[0], /*transposeLhs=*/false, transposeRhs)};
  })[0];
}

AttentionFrame::OwnedFactor AttentionFrame::ownedFactor(Value value) {
  if (blocks && width > kWidestOwned)
    return [value] { return value; };
  if (blocks)
    return [shared = share(load(value, ownedPlace))] { return shared; };
  // Where tensor cores multiply; others stay in any case.
  int64_t bits = typeOf(value).getElementTypeBitWidth();
  int64_t registers = fragments ? rows * width * bits / (32 * emitter.getLanes() * subgroups) : 0;
  if (registers <= registersLeft) {
    registersLeft -= registers;
    return [tile = load(value, ownedPlace)] { return tile; };
  }
  return [this, value] { return load(value, ownedPlace); };
}

AttentionFrame::OwnedFactor AttentionFrame::ownedOfScores(Value value) {
  if (ownedScale == 1)
    return ownedFactor(value);
  if (blocks)
    return [shared = share(mul(load(value, ownedPlace), ownedScale))] { return shared; };
  return [tile = mul(load(value, ownedPlace), ownedScale)] { return tile; };
}

Value AttentionFrame::scaled(Value ownedRows, Value visitedRows) {
  Value scores = products(ownedRows, visitedRows);
  return productScale == 1 ? scores : mul(scores, productScale);
}

Value AttentionFrame::scores(Value scaled, const Step &at) {
  return attention.score ? applyToScores(*attention.score, scaled, at, {}) : scaled;
}

Value AttentionFrame::scaledGradient(Value scaled, const Step &at, Value gradient) {
  if (!attention.scoreGradient)
    return gradient;
  // Where a pair does not count its score is any number, of which the slope need not be finite.
  Value slope = applyToScores(*attention.scoreGradient, scaled, at, gradient);
  return where(at, slope, 0);
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

Value AttentionFrame::products(Value ownedRows, Value visitedRows, Value sums) {
  if (isOneQuery)
    return emitter.reduce(tile::Combine::Sum, mul(emitter.broadcast(ownedRows, rows, width), visitedRows), 1);
  if (!sums)
    sums = emitter.constant(rows, step, 0);
  if (blocks)
    return multiplyShared(ownedRows, visitedRows, width, /*transposeRhs=*/true, sums);
  return tile::DotOp::create(b, sums.getType(), ownedRows, visitedRows, sums, false, /*transposeRhs=*/true);
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
  if (blocks) {
    Value right = loadVisited(value, at);
    return multiplyShared(share(weights), right, step, /*transposeRhs=*/false, accumulator);
  }
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

Value AttentionFrame::powers(const Step &at, Value scores, Value reference) {
  Value result = power(sub(inLogs(scores), broadcast(reference)));
  return fragments || blocks ? result : where(at, result, 0);
}

Value AttentionFrame::probabilities(const Step &at, Value scores, Value logSumExp) {
  return powers(at, fragments || blocks ? where(at, scores, kNever) : scores, logSumExp);
}
