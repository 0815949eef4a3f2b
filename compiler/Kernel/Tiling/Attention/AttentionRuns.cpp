// Each token of a prompt is a query that is the only one of its sequence, and its neighbours see nearly the same keys. A
// workgroup owns several of these queries. It visits the keys of a run once for all queries of the run. A run is made of
// neighbouring queries, each of which shares keys with the query before. So every row between a run's first key and its
// last one is a key of one of its queries.
#include "compiler/Kernel/Tiling/Attention/AttentionFrame.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool AttentionFrame::areTogether(AttentionOp op, KernelEmitter &emitter) {
  const TargetProfile &profile = emitter.getProfile();
  if (!op.getQuerySize().empty() || !op.getDropout().isZero() || op.getKeyRows() || op.getPartKeys() != 0 ||
      !op.getQueryStarts().getDefiningOp<IotaOp>() || !emitter.isInMemory(op.getKeyStarts()) ||
      !emitter.isInMemory(op.getKeyLengths()))
    return false;
  Matrix queries = *Matrix::of(typeOf(op.getQuery())), keys = *Matrix::of(typeOf(op.getKey()));
  int64_t width = queries.columns / static_cast<int64_t>(op.getHeads());
  if (2 * emitter.maximumRows(queries) <= emitter.maximumRows(keys))
    return false;
  if (profile.registers == 0)
    return canShareByBlocks(profile, width);
  int64_t panels = 2 * emitter.maximumRows(keys) * width * int64_t(sizeof(float));
  return width % profile.vector == 0 && panels < AttentionSharing::kMostPanelBytes;
}

AttentionFrame::Span AttentionFrame::keysOf(Value query) {
  Value start = emitter.loadIndex(attention.keyStarts, query);
  return {start, emitter.add(start, emitter.loadIndex(attention.keyLengths, query))};
}

AttentionFrame::Span AttentionFrame::unite(const Span &one, const Span &other) {
  return {b.createOrFold<arith::MinSIOp>(one.begin, other.begin), b.createOrFold<arith::MaxSIOp>(one.end, other.end)};
}

Value AttentionFrame::overlap(const Span &one, const Span &other) {
  auto isLess = [&](Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y); };
  return arith::AndIOp::create(b, isLess(one.begin, other.end), isLess(other.begin, one.end));
}

void AttentionFrame::emitTogether(function_ref<void()> body) {
  Matrix sequences = *Matrix::of(typeOf(attention.queryStarts));
  int64_t members = attention.members, ownedAtOnce = sharing->ownedAtOnce();
  std::optional<int64_t> tilesOfWorkgroup = sharing->tilesOfWorkgroup();
  int64_t most = std::max<int64_t>(ownedAtOnce * tilesOfWorkgroup.value_or(1) / members, 1); // queries of a workgroup
  Value block = emitter.setGrid(0, sequences.rows, sequences.size, most);
  Value heads = emitter.setGrid(1, attention.heads, {}, members);
  firstHead = head = emitter.mul(heads, members);
  Value ofGroup =
      attention.group() == members ? heads : b.createOrFold<arith::DivUIOp>(head, emitter.index(attention.group()));
  visitedColumn = emitter.mul(ofGroup, getWidth());
  Value firstQuery = emitter.mul(block, most), one = emitter.index(1);
  Value pastLast =
      b.createOrFold<arith::MinUIOp>(emitter.add(firstQuery, emitter.index(most)), emitter.rowsOf(sequences));

  auto runs = scf::ForOp::create(b, firstQuery, pastLast, one);
  b.setInsertionPointToStart(runs.getBody());
  Value query = runs.getInductionVar();
  Value before = b.createOrFold<arith::SubIOp>(b.createOrFold<arith::MaxUIOp>(query, one), one);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, query, firstQuery);
  Span keys = keysOf(query);
  Value isApart = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, overlap(keysOf(before), keys),
                                        arith::ConstantOp::create(b, b.getBoolAttr(false)));
  auto ifBegins = scf::IfOp::create(b, arith::OrIOp::create(b, isFirst, isApart), /*withElseRegion=*/false);
  b.setInsertionPointToStart(ifBegins.thenBlock());
  if (!tilesOfWorkgroup) // other lanes may still read the last run's operands
    tile::WaitOp::create(b, 0);

  // The run's end, and all of its keys.
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  SmallVector<Value> run =
      emitter.loop(emitter.add(query, one), pastLast, 1, most, {yes, emitter.add(query, one), keys.begin, keys.end},
                   [&](Value next, ValueRange state) -> SmallVector<Value> {
                     Value previous = b.createOrFold<arith::SubIOp>(next, one);
                     Span ofNext = keysOf(next), all = unite({state[2], state[3]}, ofNext);
                     Value goesOn = arith::AndIOp::create(b, state[0], overlap(keysOf(previous), ofNext));
                     auto choose = [&](Value longer, Value same) -> Value {
                       return arith::SelectOp::create(b, goesOn, longer, same);
                     };
                     return {goesOn, choose(emitter.add(next, one), state[1]), choose(all.begin, state[2]),
                             choose(all.end, state[3])};
                   });
  pastRun = run[1];
  visitedStart = run[2];
  visitedLength = b.createOrFold<arith::SubIOp>(run[3], run[2]);
  first = emitter.mul(query, members);
  ownedLength = emitter.mul(pastRun, members);
  ownedPlace = {first,   emitter.mul(head, getWidth()), ownedAtOnce, getWidth(), ownedLength, {}, {},
                members, members > 1 ? getWidth() : 0};
  if (tilesOfWorkgroup) {
    AttentionSharing::Visited visited{visitedStart, emitter.index(0), visitedLength, run[3], visitedColumn};
    auto tiles = scf::ForOp::create(b, first, ownedLength, emitter.index(ownedAtOnce));
    sharing->beginTiles(visited, tiles);
    b.setInsertionPointToStart(tiles.getBody());
    first = ownedPlace.row = tiles.getInductionVar();
  }
  sharing->setOwned(ownedPlace);
  body();
}

std::pair<Value, Value> AttentionFrame::findKeysOfTile() {
  int64_t ownedAtOnce = sharing->ownedAtOnce(), members = attention.members;
  Value ofQuery = emitter.index(members), one = emitter.index(1);
  Value query = b.createOrFold<arith::DivUIOp>(first, ofQuery);
  Value past =
      emitter.add(b.createOrFold<arith::DivUIOp>(emitter.add(first, emitter.index(ownedAtOnce - 1)), ofQuery), one);
  past = b.createOrFold<arith::MinUIOp>(past, pastRun);
  Span keys = keysOf(query);
  SmallVector<Value> all = emitter.loop(emitter.add(query, one), past, 1, ownedAtOnce, {keys.begin, keys.end},
                                        [&](Value next, ValueRange state) -> SmallVector<Value> {
                                          Span more = unite({state[0], state[1]}, keysOf(next));
                                          return {more.begin, more.end};
                                        });
  Value begin = b.createOrFold<arith::SubIOp>(all[0], visitedStart);
  Value over = b.createOrFold<arith::RemUIOp>(begin, emitter.index(sharing->visitedAtOnce()));

  // Rows past the run's end have the keys of its last query. They are not stored.
  Value last = b.createOrFold<arith::SubIOp>(pastRun, one);
  Value rows = emitter.indices(Place{first, first, getRows(), 1, {}, {}}, 0);
  if (members > 1)
    rows = arith::DivUIOp::create(b, rows, emitter.constantInt(getRows(), 1, members));
  auto splat = [&](Value number) -> Value {
    return tile::SplatOp::create(b, rows.getType(), arith::IndexCastOp::create(b, b.getI32Type(), number));
  };
  rows = arith::MinUIOp::create(b, rows, splat(last));
  auto ofRows = [&](Value vector) -> Value {
    return tile::GatherOp::create(b, rows.getType(), emitter.memoryOf(vector), rows, emitter.index(0), Value());
  };
  firstKeys = broadcast(arith::SubIOp::create(b, ofRows(attention.keyStarts), splat(visitedStart)));
  keyCounts = broadcast(ofRows(attention.keyLengths));
  return {b.createOrFold<arith::SubIOp>(begin, over), b.createOrFold<arith::SubIOp>(all[1], visitedStart)};
}

void AttentionFrame::countOwnKeys(Step &at) {
  at.key = arith::SubIOp::create(b, at.key, firstKeys);
  at.query = emitter.constantInt(getRows(), getStep(), 0);
  at.counts = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at.key, keyCounts);
  if (attention.mask)
    at.counts = arith::AndIOp::create(b, at.counts, emitter.inlineRegion(*attention.mask, {at.query, at.key}));
}
