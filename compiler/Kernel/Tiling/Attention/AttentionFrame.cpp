#include "compiler/Kernel/Tiling/Attention/AttentionFrame.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numbers>

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===-- Owned rows and visited rows -----------------------------------------------------------------------------===//

bool AttentionFrame::isOfOneQuery(AttentionOp op) {
  int64_t width = typeOf(op.getQuery()).getDimSize(1) / static_cast<int64_t>(op.getHeads());
  // Dropout draws random numbers for four keys together, but here a query's keys are distributed over lanes.
  return op.getQuerySize().empty() && op.getDropout().isZero() && width % 4 == 0 &&
         !hasTensorOperands(op, op.getQuery());
}

AttentionFrame::AttentionFrame(KernelEmitter &emitter, const Attention &attention, Owns owns, int64_t products)
    : emitter(emitter), b(emitter.builder()), attention(attention), ownsQueries(owns != Owns::Keys),
      bounds(emitter, this->attention, ownsQueries),
      sharing(
          AttentionSharing::choose({emitter, this->attention, bounds, products, owns == Owns::OneQuery, ownsQueries})) {
  chooseScales();
}

/// The scale is applied once to the owned rows instead of to every score, unless that would round them once more.
/// Scores may be in any positive unit, because that does not change which one is largest.
void AttentionFrame::chooseScales() {
  using Scales = AttentionSharing::Scales;
  Scales scales = sharing->scales();
  if (scales == Scales::Unit && !attention.score && attention.scale > 0) {
    unit = attention.scale * std::numbers::log2e;
    return;
  }
  double &factor = scales == Scales::Owned ? ownedScale : productScale;
  factor = attention.score ? attention.scale : attention.scale * std::numbers::log2e;
  unit = attention.score ? std::numbers::log2e : 1;
}

void AttentionFrame::emit(function_ref<void()> body) {
  if (attention.together)
    return emitTogether(body);
  RankedTensorType sequences = typeOf(attention.queryStarts);
  bool inOrder = sharing->putsLongestFirst() && bounds.visitUnequally();
  int64_t ownedAtOnce = sharing->ownedAtOnce(), rows = getRows(), members = attention.members;
  int64_t ownedInAll = ownedAtOnce * sharing->tilesOfWorkgroup().value_or(1);
  sums = emitter.partialSums();
  Value block = !sums.empty()
                    ? setGridOfSums(inOrder ? 1 : 0, ownedInAll)
                    : emitter.setGrid(inOrder ? 1 : 0, 1, ownsQueries ? attention.querySize : attention.keySize,
                                      std::max<int64_t>(ownedInAll / members, 1),
                                      /*repeat=*/llvm::divideCeil(members, std::min(ownedInAll, members)));
  int64_t headsAtOnce = getHeads() * members;
  Value ownHeads =
      emitter.setGrid(inOrder ? 0 : 1, ownsQueries ? attention.heads : attention.keyHeads(), {}, headsAtOnce);
  Value ownHead = emitter.mul(ownHeads, headsAtOnce);
  firstHead = head = ownHead;
  sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1, /*repeat=*/attention.parts);
  if (attention.partKeys > 0) {
    Value parts = emitter.index(attention.parts);
    part = b.createOrFold<arith::RemUIOp>(sequence, parts);
    sequence = b.createOrFold<arith::DivUIOp>(sequence, parts);
  }
  queryStart = emitter.loadIndex(attention.queryStarts, sequence);
  Value queryLength = emitter.loadIndex(attention.queryLengths, sequence);
  Value keyStart = emitter.loadIndex(attention.keyStarts, sequence);
  Value keyLength = emitter.loadIndex(attention.keyLengths, sequence);
  Value hasKeys = part ? narrowToPart(keyStart, keyLength) : Value();
  Value ownedStart = ownsQueries ? queryStart : keyStart;
  ownedStart = emitter.mul(ownedStart, members);
  ownedLength = emitter.mul(ownsQueries ? queryLength : keyLength, members);
  visitedStart = ownsQueries ? keyStart : queryStart;
  visitedLength = ownsQueries ? keyLength : queryLength;
  Value begin = emitter.mul(block, ownedInAll);
  first = begin;
  if (inOrder && bounds.lastVisitMost()) {
    Value blocks =
        b.createOrFold<arith::DivUIOp>(emitter.add(ownedLength, emitter.index(rows - 1)), emitter.index(rows));
    Value last = b.createOrFold<arith::SubIOp>(emitter.mul(blocks, rows), emitter.index(rows));
    first = b.createOrFold<arith::SubIOp>(last, begin);
  }
  ownedPlace = {emitter.add(ownedStart, first),
                emitter.mul(ownHead, getWidth()),
                ownedAtOnce,
                getWidth(),
                emitter.add(ownedStart, ownedLength),
                {},
                {},
                members,
                members > 1 ? getWidth() : 0};
  Value visitedHead = ownHead;
  if (ownsQueries && attention.group() > 1)
    visitedHead = attention.group() == members
                      ? ownHeads
                      : b.createOrFold<arith::DivUIOp>(ownHead, emitter.index(attention.group()));
  visitedColumn = emitter.mul(visitedHead, getWidth());
  sharing->setOwned(ownedPlace);

  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, begin, ownedLength);
  inside = emitter.isSequence(attention.queryStarts, sequence, inside);
  if (hasKeys)
    inside = arith::AndIOp::create(b, inside, hasKeys);
  if (!sums.empty())
    rowOfSums = emitter.add(emitter.mul(sequence, rowsOfSequence()), block);
  auto ifOp = scf::IfOp::create(b, inside, /*withElseRegion=*/!sums.empty());
  OpBuilder::InsertionGuard guard(b);
  if (!sums.empty()) {
    b.setInsertionPointToStart(ifOp.elseBlock());
    storeSums({});
  }
  b.setInsertionPointToStart(ifOp.thenBlock());
  if (sharing->tilesOfWorkgroup())
    walkOver(ownedStart, ownedInAll);
  body();
}

Value AttentionFrame::narrowToPart(Value &start, Value &length) {
  Value first = emitter.mul(part, attention.partKeys);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, emitter.index(0));
  Value hasKeys = arith::OrIOp::create(b, isFirst, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, length));
  start = emitter.add(start, first);
  Value left = arith::SubIOp::create(b, length, first);
  length = b.createOrFold<arith::MinSIOp>(left, emitter.index(attention.partKeys));
  return hasKeys;
}

Place AttentionFrame::ofPart(Place place, int64_t columns) const {
  if (part)
    place.column = emitter.add(place.column, emitter.mul(part, columns));
  return place;
}

int64_t AttentionFrame::rowsOfSequence() const {
  return emitter.maximumRows(*Matrix::of(typeOf(PartialSumsOp(sums.front()).getResult()))) /
         emitter.maximumRows(*Matrix::of(typeOf(attention.queryStarts)));
}

Value AttentionFrame::setGridOfSums(int axis, int64_t ownedInAll) {
  int64_t rows = rowsOfSequence();
  if (rows * ownedInAll < bounds.maximumOwned() || attention.members > 1 || sharing->tilesOfWorkgroup())
    emitter.fail() << "sums over attention's rows need a row for each workgroup of a sequence, of up to "
                   << bounds.maximumOwned() << " rows, and have " << rows << " for " << ownedInAll << " rows each";
  return emitter.setGrid(axis, rows, {}, 1);
}

void AttentionFrame::storeSums(ArrayRef<Value> shared) {
  for (auto [i, each] : llvm::enumerate(sums)) {
    int64_t width = getWidth();
    Value row =
        shared.empty() ? emitter.constant(1, width, 0) : emitter.addRows(shared[i], emitter.getSubgroups(), width);
    emitter.store(each.getResult(), row, {rowOfSums, ownedPlace.column, 1, width, {}, {}});
  }
}

void AttentionFrame::walkOver(Value ownedStart, int64_t rows) {
  auto [visitedBegin, visitedEnd] = bounds.visitedRange(first, visitedLength, rows, sharing->visitedAtOnce());
  Value end = b.createOrFold<arith::MinSIOp>(emitter.add(first, emitter.index(rows)), ownedLength);
  bool isOfGroup = !ownsQueries && attention.group() > 1;
  AttentionSharing::Visited visited{visitedStart, visitedBegin, visitedEnd, emitter.add(visitedStart, visitedLength),
                                    isOfGroup ? emitter.mul(visitedColumn, attention.group()) : visitedColumn};
  auto loop = scf::ForOp::create(b, first, end, emitter.index(sharing->ownedAtOnce()));
  sharing->beginTiles(visited, loop);
  b.setInsertionPointToStart(loop.getBody());
  first = loop.getInductionVar();
  ownedPlace.row = emitter.add(ownedStart, first);
  sharing->setOwned(ownedPlace);
}

void AttentionFrame::setHead(int64_t number) {
  if (getHeads() == 1)
    return;
  head = emitter.add(firstHead, emitter.index(number));
  ownedPlace.column = emitter.mul(head, getWidth());
  sharing->setOwned(ownedPlace);
}

Value AttentionFrame::indices(Value first, int64_t dim) {
  return emitter.indices(Place{first, first, getRows(), getStep(), {}, {}}, dim);
}

SmallVector<Value> AttentionFrame::visit(ValueRange state,
                                         function_ref<SmallVector<Value>(const Step &, ValueRange)> body) {
  int64_t ownedAtOnce = sharing->ownedAtOnce(), visitedAtOnce = sharing->visitedAtOnce();
  auto [begin, end] =
      attention.together ? findKeysOfTile() : bounds.visitedRange(first, visitedLength, ownedAtOnce, visitedAtOnce);
  Value ownedIndex = broadcast(overMembers<arith::DivUIOp>(indices(first, sharing->ownedDim())));
  Value pastLast = emitter.add(visitedStart, visitedLength);
  int64_t maximum = bounds.maximumVisited(ownedAtOnce, visitedAtOnce);
  auto visitStep = [&](Value at, Value member, Value rowLimit, ValueRange state) {
    sharing->beginStep();
    Value visitedIndex = broadcast(indices(at, 1 - sharing->ownedDim()));
    Step now{at, Place{emitter.add(visitedStart, at), visitedColumn, visitedAtOnce, getWidth(), rowLimit, {}},
             ownsQueries ? ownedIndex : visitedIndex, ownsQueries ? visitedIndex : ownedIndex};
    now.member = member;
    if (attention.together)
      countOwnKeys(now);
    else if (sharing->looksAtEachStep() && !countsWhole(now))
      now.counts = pairsThatCount(now);
    if (attention.keyRows)
      now.rows = emitter.load(emitter.memoryOf(attention.keyRows),
                              {sequence, now.visited.row, 1, visitedAtOnce, {}, now.visited.rowLimit}, Padding::Zero,
                              /*transposed=*/true);
    return body(now, state);
  };
  int64_t group = attention.group();
  auto visitSteps = [&](Value begin, Value end, int64_t maximum, Value rowLimit, ValueRange state) {
    return emitter.loop(begin, end, visitedAtOnce, maximum, state,
                        [&](Value at, ValueRange state) { return visitStep(at, Value(), rowLimit, state); });
  };
  if ((ownsQueries || group == 1) && sharing->splitsOffLastStep()) {
    Value visited = b.createOrFold<arith::SubIOp>(b.createOrFold<arith::MaxSIOp>(begin, end), begin);
    Value rest = b.createOrFold<arith::RemUIOp>(visited, emitter.index(visitedAtOnce));
    Value whole = emitter.add(begin, b.createOrFold<arith::SubIOp>(visited, rest));
    SmallVector<Value> next = visitSteps(begin, whole, maximum, Value(), state);
    return visitSteps(whole, end, visitedAtOnce, pastLast, next);
  }
  if (ownsQueries || group == 1)
    return visitSteps(begin, end, maximum, pastLast, state);

  // Visits the queries of each head in the group. A loop over heads around a loop over steps would keep the addresses
  // of both in registers, and there are none left (docs/cuda-kernels.md).
  Value count = b.createOrFold<arith::SubIOp>(b.createOrFold<arith::MaxUIOp>(begin, end), begin);
  Value steps = b.createOrFold<arith::DivUIOp>(emitter.add(count, emitter.index(visitedAtOnce - 1)),
                                               emitter.index(visitedAtOnce));
  Value firstHead = emitter.mul(head, group);
  // Avoids a division by zero if there are no steps.
  Value divisor = b.createOrFold<arith::MaxUIOp>(steps, emitter.index(1));
  return emitter.loop(emitter.index(0), emitter.mul(steps, group), 1, group * llvm::divideCeil(maximum, visitedAtOnce),
                      state, [&](Value turn, ValueRange state) {
                        Value member = b.createOrFold<arith::DivUIOp>(turn, divisor);
                        head = emitter.add(firstHead, member);
                        visitedColumn = emitter.mul(head, getWidth());
                        Value earlier = b.createOrFold<arith::MulIOp>(member, divisor);
                        Value step = b.createOrFold<arith::SubIOp>(turn, earlier);
                        return visitStep(emitter.add(begin, emitter.mul(step, visitedAtOnce)), member, pastLast, state);
                      });
}

Value AttentionFrame::pairsThatCount(const Step &at) {
  Value index = indices(at.first, 1 - sharing->ownedDim());
  Value length = arith::IndexCastOp::create(b, b.getI32Type(), visitedLength);
  Value counts = broadcast(
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, tile::SplatOp::create(b, index.getType(), length)));
  if (attention.mask)
    counts = arith::AndIOp::create(b, counts, emitter.inlineRegion(*attention.mask, {at.query, at.key}));
  return counts;
}

Value AttentionFrame::where(const Step &at, Value tile, double otherwise) {
  auto select = [&](Value counts) -> Value { return arith::SelectOp::create(b, counts, tile, splat(otherwise, tile)); };
  if (countsWhole(at))
    return tile;
  if (at.counts)
    return select(at.counts);
  Value all = bounds.allCount(first, at.first, visitedLength, getRows(), getStep());
  if (!all)
    return select(pairsThatCount(at));
  // Most steps lie fully inside the sequence and the mask.
  auto branch = scf::IfOp::create(b, tile.getType(), all, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, tile);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, select(pairsThatCount(at)));
  return branch.getResult(0);
}

template <typename Op> Value AttentionFrame::overMembers(Value rows) {
  if (attention.members == 1)
    return rows;
  auto type = typeOf(rows);
  return Op::create(b, rows, emitter.constantInt(type.getDimSize(0), type.getDimSize(1), attention.members));
}

Value AttentionFrame::headsOf(Type shape) {
  Value number = arith::IndexCastOp::create(b, b.getI32Type(), head);
  if (attention.members == 1)
    return tile::SplatOp::create(b, shape, number);
  return arith::AddIOp::create(b, membersOf(), tile::SplatOp::create(b, shape, number));
}

Value AttentionFrame::membersOf() {
  return broadcast(overMembers<arith::RemUIOp>(indices(first, sharing->ownedDim())));
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

Value AttentionFrame::loadPerQuery(Value value, const Place &place) {
  Place at = perQuery(place);
  return emitter.load(emitter.memoryOf(value), at, Padding::Any, /*transposed=*/!ownsQueries);
}

Value AttentionFrame::numbersOfHeads(Value vector) {
  int64_t rows = ownedPlace.rows;
  auto ofMember = [&](int64_t member) -> Value {
    Value number = emitter.loadScalar(vector, emitter.add(head, emitter.index(member)));
    return tile::SplatOp::create(b, emitter.tileType(rows, 1), number);
  };
  Value numbers = ofMember(0);
  for (int64_t member = 1; member < attention.members; ++member) {
    Value isMember = arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq, overMembers<arith::RemUIOp>(emitter.indices({first, first, rows, 1, {}, {}}, 0)),
        emitter.constantInt(rows, 1, member));
    numbers = arith::SelectOp::create(b, isMember, ofMember(member), numbers);
  }
  return numbers;
}

Place AttentionFrame::perQuery(const Place &place) const {
  return {place.row, head, place.rows, 1, place.rowLimit, {}, {}, place.members, place.members > 1 ? 1 : 0};
}
void AttentionFrame::storePerQuery(Value result, Value tile) {
  emitter.store(result, tile, ofPart(perQuery(ownedPlace), attention.heads));
}
void AttentionFrame::definePerQuery(Value result, Value tile) {
  emitter.define(result, ofPart(perQuery(ownedPlace), attention.heads), tile);
}

void AttentionFrame::finish(ArrayRef<std::pair<Value, Value>> results) {
  Place place = ofPart(ownedPlace, attention.heads * getWidth());
  for (auto [result, tile] : results)
    emitter.define(result, place, tile);
  SmallVector<Value> shared;
  for (PartialSumsOp each : sums) {
    shared.push_back(emitter.sharedTile(emitter.tileType(emitter.getSubgroups(), getWidth())));
    emitter.sumRows(each, shared.back(), emitter.index(0), ownedPlace.column);
  }
  (void)emitter.finish(*Matrix::of(typeOf(results.front().first)), place); // the emitter records a failure
  if (sums.empty())
    return;
  tile::WaitOp::create(b, 0);
  storeSums(shared);
}

Place AttentionFrame::pairs(Value visited) const {
  int64_t rows = getRows(), step = getStep();
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
  // The score of a pair that does not count is arbitrary, and the slope there may not be finite.
  Value slope = applyToScores(*attention.scoreGradient, scaled, at, gradient);
  return where(at, slope, 0);
}

Value AttentionFrame::applyToScores(Region &region, Value scaled, const Step &at, ValueRange more) {
  SmallVector<Value> arguments{scaled, at.query, at.key, headsOf(at.query.getType())};
  llvm::append_range(arguments, more);
  return emitter.inlineRegion(region, arguments);
}

Value AttentionFrame::dropoutFactor(const Step &at) {
  if (attention.dropout == 0)
    return {};
  // Random numbers depend on the query's row in the batch, the key's index and the head, whichever side the kernel
  // owns.
  Type shape = at.query.getType();
  Value offset = tile::SplatOp::create(b, shape, arith::IndexCastOp::create(b, b.getI32Type(), queryStart));
  Value queryRows = arith::AddIOp::create(b, at.query, offset);
  Value stream = emitter.streamOfHead(attention.stream, head);
  Value members = attention.members == 1 ? Value() : membersOf();
  Value random = tile::RandomOp::create(b, emitter.tileType(getRows(), getStep()),
                                        emitter.loadScalar(attention.seed, 0), emitter.loadScalar(attention.seed, 1),
                                        emitter.loadScalar(attention.step, 0), stream, queryRows, at.key, members);
  Value keep = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, random, splat(attention.dropout, random));
  return arith::SelectOp::create(b, keep, splat(1 / (1 - attention.dropout), random), splat(0, random));
}

Value AttentionFrame::powers(const Step &at, Value scores, Value reference) {
  Value result = power(sub(inLogs(scores), broadcast(reference)));
  return sharing->marksScores() ? result : where(at, result, 0);
}

Value AttentionFrame::probabilities(const Step &at, Value scores, Value logSumExp) {
  return powers(at, sharing->marksScores() ? where(at, scores, kNever) : scores, logSumExp);
}
