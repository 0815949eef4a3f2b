#include "compiler/Kernel/Tiling/Attention/ScoreChain.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::heddle;

/// Columns of a query and of keys, or rows of the other side, that a lane takes at a time.
static constexpr int64_t kAtOnce = 8;

/// The widest heads for which tiles of several queries fit into registers.
static constexpr int64_t kWidestTiles = 128;

bool heddle::isOneByOne(const Attention &attention) {
  return attention.querySize.empty() || (!attention.keyRows && attention.width() > kWidestTiles);
}

void PairsFrame::emit(ArrayRef<int64_t> extents, bool whole, function_ref<void()> body) {
  // With lists of their users, keys own pairs without looking at sequences.
  bool byUsers = !ownsQueries && hasList();
  auto sequences = cast<RankedTensorType>((byUsers ? attention.users[2] : attention.queryStarts).getType());
  emitter.setMapping(tile::LaneMapping::Columns);
  SmallVector<int64_t> widths(extents);
  widths.push_back(emitter.getVector());
  emitter.setVector(widths);
  for (int64_t extent : extents)
    emitter.narrowVector(extent);
  lanes = emitter.getLanes() * emitter.getVector();
  first = emitter.mul(emitter.setGrid(0, whole ? 1 : extents.front(), {}, whole ? 1 : lanes), lanes);
  int64_t heads = ownsQueries ? attention.heads : attention.keyHeads();
  StringRef longest = byUsers ? "" : ownsQueries ? attention.querySize : attention.keySize;
  Value number = emitter.setGrid(1, 1, longest, 1, heads);
  sequence = emitter.setGrid(2, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
  owned = b.createOrFold<arith::DivUIOp>(number, emitter.index(heads));
  head = b.createOrFold<arith::RemUIOp>(number, emitter.index(heads));
  headColumn = emitter.mul(head, attention.width());
  firstOfHead = emitter.mul(head, attention.pairKeys);
  if (byUsers) {
    ownedRow = sequence;
    otherStart = emitter.index(0);
    otherLength = emitter.loadIndex(attention.users[2], sequence);
    return body();
  }
  Value starts[] = {emitter.loadIndex(attention.queryStarts, sequence),
                    emitter.loadIndex(attention.keyStarts, sequence)};
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

Value PairsFrame::scores(ScoresOp op, Value firstKey) {
  int64_t width = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1) / attention.heads;
  int64_t columns = chunkOf(width, 1, kAtOnce);
  Value firstColumn = emitter.mul(head, width), firstOfKeys = emitter.mul(keyHead(), width);
  Value none = emitter.index(0), pastKeys = emitter.add(otherStart, otherLength);
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, firstKey, otherLength);
  Value end = arith::SelectOp::create(b, isThere, emitter.index(width), none);
  Value sums = emitter.loop(
      none, end, columns, width, emitter.constant(1, lanes, 0),
      [&](Value column, ValueRange state) -> SmallVector<Value> {
        auto load = [&](Value value, Value row, int64_t rows, Value first, Value limit) {
          return emitter.load(emitter.memoryOf(value), {row, emitter.add(first, column), rows, columns, limit, {}},
                              Padding::Zero,
                              /*transposed=*/true);
        };
        SmallVector<Value> tiles{load(op.getQuery(), ownedRow, 1, firstColumn, {})};
        if (hasList()) {
          Value rows = listed(attention.keyRows, firstKey, lanes, /*asColumn=*/false);
          tiles.push_back(tile::GatherOp::create(b, emitter.tileType(columns, lanes), emitter.memoryOf(op.getKey()),
                                                 rows, emitter.add(firstOfKeys, column), /*column_limit=*/Value(),
                                                 /*packed=*/0, /*is_unsigned=*/false,
                                                 /*repeats=*/1, /*transposed=*/true));
        } else {
          tiles.push_back(load(op.getKey(), emitter.add(otherStart, firstKey), lanes, firstOfKeys, pastKeys));
        }
        for (Value parameter : op.getParameters())
          tiles.push_back(load(parameter, none, 1, firstColumn, {}));
        return {accumulate(state[0], Attention::orNull(op.getCombine()), tiles, columns, lanes, {}, {})};
      })[0];
  return whereBelow(sums, firstKey, 1, otherLength);
}

Value PairsFrame::listed(Value list, Value from, int64_t count, bool asColumn) {
  Value first = emitter.add(otherStart, from), past = emitter.add(otherStart, otherLength);
  return emitter.load(emitter.memoryOf(list), {sequence, first, 1, count, {}, past}, Padding::Zero,
                      /*transposed=*/asColumn);
}

Value PairsFrame::loadOthers(Value others, Value from, int64_t rows, Value column, Value columnLimit) {
  if (!hasList()) {
    Place place{emitter.add(otherStart, from), column, rows, lanes, emitter.add(otherStart, otherLength), columnLimit};
    return emitter.load(others, place);
  }
  Value numbers = listed(ownsQueries ? attention.keyRows : attention.users[0], from, rows, /*asColumn=*/true);
  return tile::GatherOp::create(b, emitter.tileType(rows, lanes), others, numbers, column, columnLimit);
}

Value PairsFrame::keyHead() {
  return attention.group() == 1 ? head : b.createOrFold<arith::DivUIOp>(head, emitter.index(attention.group()));
}

Value PairsFrame::sums(Value column, ValueRange parameters, Region *region,
                       function_ref<Value(Value, int64_t)> number) {
  int64_t width = attention.width(), group = attention.group();
  Value zeros = emitter.constant(1, lanes, 0);
  if (ownsQueries || group == 1)
    return sumsOfHead(zeros, column, emitter.mul(ownsQueries ? keyHead() : head, width), parameters, region, number);
  Value firstHead = emitter.mul(head, group);
  return emitter.loop(emitter.index(0), emitter.index(group), 1, group, zeros, [&](Value member, ValueRange state) {
    Value ofQueries = emitter.add(firstHead, member);
    firstOfHead = emitter.mul(ofQueries, attention.pairKeys);
    return SmallVector<Value>{sumsOfHead(state[0], column, emitter.mul(ofQueries, width), parameters, region, number)};
  })[0];
}

Value PairsFrame::sumsOfHead(Value sums, Value column, Value otherColumn, ValueRange parameters, Region *region,
                             function_ref<Value(Value, int64_t)> number) {
  int64_t width = attention.width();
  Value at = emitter.add(headColumn, column), limit = limitOf(headColumn, width);
  Value otherAt = emitter.add(otherColumn, column), otherLimit = limitOf(otherColumn, width);
  bool byUsers = !ownsQueries && hasList();
  int64_t most = ownsQueries                   ? attention.pairKeys
                 : byUsers                     ? cast<RankedTensorType>(attention.users[0].getType()).getDimSize(1)
                 : attention.querySize.empty() ? 1
                                               : emitter.maximumOf(attention.querySize);
  int64_t rows = byUsers ? 1 : emitter.stepFor(most, std::min(most, kAtOnce)); // pairs of users are not adjacent
  Value own;
  SmallVector<Value> ofParameters;
  if (region)
    own = emitter.evaluate(ownsQueries ? attention.query : attention.key, {ownedRow, at, 1, lanes, {}, limit});
  for (Value parameter : parameters)
    ofParameters.push_back(emitter.load(emitter.memoryOf(parameter), {emitter.index(0), at, 1, lanes, {}, limit}));
  Value others = emitter.memoryOf(ownsQueries ? attention.key : attention.query);
  return emitter.loop(
      emitter.index(0), otherLength, rows, most, sums, [&](Value from, ValueRange state) -> SmallVector<Value> {
        SmallVector<Value> tiles{loadOthers(others, from, rows, otherAt, otherLimit)};
        if (region) {
          tiles.insert(ownsQueries ? tiles.begin() : tiles.end(), own);
          llvm::append_range(tiles, ofParameters);
        }
        tiles.push_back(number(from, rows));
        // Past its end a list may hold any row number.
        bool mayBeMore = region || hasList();
        return {accumulate(state[0], region, tiles, rows, lanes, from, mayBeMore ? otherLength : Value())};
      })[0];
}

Value PairsFrame::accumulate(Value sum, Region *region, ArrayRef<Value> tiles, int64_t rows, int64_t columns,
                             Value firstRow, Value rowLimit) {
  SmallVector<Value> arguments;
  for (Value tile : tiles)
    arguments.push_back(emitter.broadcast(tile, rows, columns));
  Value parts = region ? emitter.inlineRegion(*region, arguments)
                       : arith::MulFOp::create(b, arguments.front(), arguments.back()).getResult();
  if (rowLimit)
    parts = whereBelow(parts, firstRow, 0, rowLimit);
  return arith::AddFOp::create(b, sum, emitter.reduce(tile::Combine::Sum, parts, 0));
}

Value PairsFrame::whereBelow(Value tile, Value from, int64_t dim, Value limit) {
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Value index = emitter.indices(Place{from, from, rows, columns, {}, {}}, dim);
  Value last = tile::SplatOp::create(b, index.getType(), arith::IndexCastOp::create(b, b.getI32Type(), limit));
  Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, last);
  return arith::SelectOp::create(b, emitter.broadcast(counts, rows, columns), tile, emitter.constant(rows, columns, 0));
}

Place PairsFrame::pairs(Value key) {
  return {ownedRow, emitter.add(firstOfHead, key), 1, lanes, {}, limitOf(firstOfHead, attention.pairKeys)};
}

Value PairsFrame::limitOf(Value begin, int64_t extent) {
  return extent % lanes == 0 ? Value() : emitter.add(begin, emitter.index(extent));
}

LogicalResult heddle::emitSumsOneByOne(Operation *anchor, const Attention &attention, bool ownsQueries, Value pairs,
                                       ValueRange parameters, Region *region, KernelEmitter &emitter) {
  PairsFrame frame(emitter, attention, ownsQueries);
  Value result = anchor->getResult(0);
  int64_t width = attention.width();
  std::optional<ScoreChain> chain;
  if (!emitter.isInMemory(pairs))
    chain = ScoreChain::of(pairs);
  SmallVector<int64_t> extents{width};
  if (chain)
    extents.push_back(attention.pairKeys);
  LogicalResult finished = success();
  frame.emit(extents, /*whole=*/chain.has_value(), [&] {
    Value row = chain ? chain->emitRow(frame, finished) : Value();
    auto number = [&](Value from, int64_t rows) -> Value {
      if (row)
        return emitter.load(row, {emitter.index(0), from, 1, rows, {}, frame.otherLength}, Padding::Zero,
                            /*transposed=*/true);
      Value memory = emitter.memoryOf(pairs);
      if (!ownsQueries && !attention.users.empty()) {
        auto of = [&](Value list) {
          Value number = memref::LoadOp::create(frame.b, emitter.memoryOf(list), ValueRange{frame.sequence, from});
          return arith::IndexCastOp::create(frame.b, frame.b.getIndexType(), number).getResult();
        };
        Value user = of(attention.users[0]), slot = emitter.add(frame.firstOfHead, of(attention.users[1]));
        Value pair = memref::LoadOp::create(frame.b, memory, ValueRange{user, slot});
        return tile::SplatOp::create(frame.b, emitter.tileType(rows, 1), pair).getResult();
      }
      Place place;
      if (ownsQueries)
        place = {frame.ownedRow,
                 emitter.add(frame.firstOfHead, from),
                 1,
                 rows,
                 {},
                 emitter.add(frame.firstOfHead, frame.otherLength)};
      else
        place = {emitter.add(frame.otherStart, from),
                 emitter.add(frame.firstOfHead, frame.owned),
                 rows,
                 1,
                 emitter.add(frame.otherStart, frame.otherLength),
                 {}};
      return emitter.load(memory, place, Padding::Zero, /*transposed=*/ownsQueries);
    };
    auto sumColumns = [&](Value column, ValueRange) -> SmallVector<Value> {
      Value total = frame.sums(column, parameters, region, number);
      Value first = emitter.add(frame.headColumn, column);
      Place place{frame.ownedRow, first, 1, frame.lanes, {}, frame.limitOf(frame.headColumn, width)};
      emitter.define(result, place, total);
      if (succeeded(finished))
        finished = emitter.finish(cast<RankedTensorType>(result.getType()), place);
      return {};
    };
    if (chain)
      emitter.loop(emitter.index(0), emitter.index(width), frame.lanes, width, {}, sumColumns);
    else
      sumColumns(frame.first, {});
  });
  return finished;
}
