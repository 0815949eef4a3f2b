#include "compiler/Kernel/Tiling/Matmul/ProductFrame.h"

#include "compiler/Kernel/Tiling/Matmul/PairedProduct.h"
#include "compiler/Kernel/Tiling/Matmul/RegisterProduct.h"
#include "compiler/Kernel/Tiling/Matmul/StreamedProduct.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::heddle;

ProductFrame::ProductFrame(KernelEmitter &emitter, MatmulShape shape)
    : emitter(emitter), transposeLhs(shape.transposeLhs), transposeRhs(shape.transposeRhs) {
  // The number of rows that each right side multiplies, if all groups have equally many rows.
  const Matrix &result = shape.result;
  bool contractsGroups = shape.groups.starts && transposeLhs;
  RowGroups ofRows = contractsGroups ? RowGroups() : shape.groups;
  int64_t rows = emitter.maximumRows(result), elements = emitter.maximumRows(shape.contracted) * result.columns;
  if (ofRows.starts) {
    shape.loops *= std::min(ofRows.count, rows); // of the K dimension, one after the other
    rows = llvm::divideCeil(rows, ofRows.count);
    elements *= ofRows.count; // of the right side
  }
  if (StreamedProduct::isWorthIt(emitter, shape, rows, elements))
    product = std::make_unique<StreamedProduct>(emitter, shape, rows);
  else if (PackedProduct::isWorthIt(emitter.getProfile(), rows, /*ofGroup=*/bool(ofRows.starts)))
    product = shape.isOfPairs ? std::make_unique<PairedProduct>(emitter, shape)
                              : std::make_unique<PackedProduct>(emitter, shape);
  else
    product = std::make_unique<RegisterProduct>(emitter, shape);
  bool isGrouped = product->order >= TileProduct::Order::Groups;
  auto [first, column] = isGrouped ? placeInGroups(result) : placeInStrips(result);
  auto [row, rowLimit] = enterGroup(ofRows, result, first);
  product->place(row, column, rowLimit);
  contract(shape.contracted);
  if (contractsGroups)
    contractGroup(shape.groups);
  else if (shape.parts > 1)
    takePart(shape.parts);
}

void ProductFrame::contract(const Matrix &contracted) {
  int64_t depth = emitter.maximumRows(contracted);
  range = {depth, emitter.index(0), emitter.rowsOf(contracted), {}, {}};
  if (contracted.isDynamic() || depth % product->step != 0)
    range.limit = range.end;
}

void ProductFrame::takePart(int64_t parts) {
  auto &b = emitter.builder();
  ownPart = emitter.setGrid(2, parts, {}, 1);
  // Whole steps, so that no step belongs to two parts.
  int64_t stepOfAll = parts * product->step;
  if (std::optional<int64_t> all = getConstantIntValue(range.end); all && *all % stepOfAll == 0) {
    // With constant bounds the loop certainly runs, and a warpgroup's matmuls need not wait for each other
    // (compiler/Target/CUDA/RATIONALE.md).
    range.origin = emitter.mul(ownPart, *all / parts);
    range.end = emitter.index(*all / parts);
    return;
  }
  if (!range.limit)
    range.limit = range.end;
  Value steps =
      b.createOrFold<arith::DivUIOp>(emitter.add(range.end, emitter.index(stepOfAll - 1)), emitter.index(stepOfAll));
  Value length = emitter.mul(steps, product->step);
  range.begin = b.createOrFold<arith::MulIOp>(ownPart, length);
  range.end = b.createOrFold<arith::MinSIOp>(range.end, emitter.add(range.begin, length));
}

FailureOr<Value> ProductFrame::enterProduct(int64_t columns) {
  Place &tile = product->tile;
  if (columns % tile.columns != 0)
    return failure();
  auto &b = emitter.builder();
  Value number = b.createOrFold<arith::DivUIOp>(tile.column, emitter.index(columns));
  tile.column = b.createOrFold<arith::RemUIOp>(tile.column, emitter.index(columns));
  return number;
}

std::pair<Value, Value> ProductFrame::enterGroup(const RowGroups &groups, const Matrix &result, Value row) {
  if (!groups.starts)
    return {row, Value()};
  auto &b = emitter.builder();
  int64_t rows = product->block.rows;
  auto startOf = [&](Value group) { return emitter.loadIndex(groups.starts, group); };
  Value count = emitter.index(groups.count);
  // The group of a row is the number of groups that end at it or before it, found by bisection.
  auto groupOf = [&](Value row) {
    Value group = emitter.index(0);
    for (auto step = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(groups.count))); step > 0; step /= 2) {
      Value next = arith::MinUIOp::create(b, emitter.add(group, emitter.index(step)), count);
      Value ends = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, startOf(next), row);
      group = arith::SelectOp::create(b, ends, next, group);
    }
    return group;
  };
  Value first = groupOf(row);
  if (rows == 1) {
    ownGroup = first;
    return {row, emitter.add(row, emitter.index(1))};
  }
  Value one = emitter.index(1),
        end = arith::MinUIOp::create(b, emitter.add(row, emitter.index(rows)), emitter.rowsOf(result));
  Value last = groupOf(arith::SubIOp::create(b, end, one));
  auto loop = scf::ForOp::create(b, first, emitter.add(last, one), one);
  b.setInsertionPointToStart(loop.getBody());
  ownGroup = loop.getInductionVar();
  Value begin = arith::MaxUIOp::create(b, row, startOf(ownGroup));
  Value limit = arith::MinUIOp::create(b, end, startOf(emitter.add(ownGroup, one)));
  auto branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, begin, limit),
                                  /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  return {begin, limit};
}

void ProductFrame::contractGroup(const RowGroups &groups) {
  ownGroup = emitter.setGrid(2, groups.count, {}, 1);
  range.begin = emitter.loadIndex(groups.starts, ownGroup);
  range.end = emitter.loadIndex(groups.starts, emitter.add(ownGroup, emitter.index(1)));
  range.limit = range.end;
}

// Consecutive workgroups differ along the tile's shorter side, and so share the larger part of the operands.
// Workgroups with the same rows share the digits of the left side, which are then computed once.
std::pair<Value, Value> ProductFrame::placeInStrips(const Matrix &result) {
  int64_t rows = product->block.rows, columns = product->block.columns;
  bool sharesLeft = product->order == TileProduct::Order::StripsOfRows;
  bool sharesRight = rows < columns || (rows == columns && emitter.maximumRows(result) <= result.columns);
  int rowAxis = sharesRight && !sharesLeft ? 0 : 1;
  Value column = emitter.mul(emitter.setGrid(1 - rowAxis, result.columns, {}, columns), columns);
  Value row = emitter.mul(emitter.setGrid(rowAxis, result.rows, result.size, rows), rows);
  return {row, column};
}

/// The height of a strip, in tiles. The strip's workgroups are consecutive.
static constexpr int64_t kGroup = 8;

// A device runs about a hundred workgroups at once. If they compute a compact part of the result, they share most of
// their operands, which then come from the cache that all processors share. So tiles are visited in strips of `kGroup`
// tiles, column by column within a strip.
std::pair<Value, Value> ProductFrame::placeInGroups(const Matrix &result) {
  int64_t rows = product->block.rows, columns = product->block.columns;
  int64_t across = llvm::divideCeil(result.columns, columns),
          down = llvm::divideCeil(emitter.maximumRows(result), rows);
  if (down == 1 || across == 1 || down * across > emitter.getProfile().limits.workgroups)
    return placeInStrips(result);
  auto &b = emitter.builder();
  auto divide = [&](Value x, Value y) { return b.createOrFold<arith::DivUIOp>(x, y); };
  auto remainder = [&](Value x, Value y) { return b.createOrFold<arith::RemUIOp>(x, y); };
  Value all = divide(emitter.add(emitter.rowsOf(result), emitter.index(rows - 1)), emitter.index(rows)), number;
  if (product->order == TileProduct::Order::Persistent) {
    // A device with fewer processors starts fewer workgroups (`persistent` in artifact.fbs).
    Value first = emitter.setGrid(0, emitter.getProfile().processors, {}, 1);
    auto loop = scf::ForOp::create(b, first, emitter.mul(all, across), gpu::GridDimOp::create(b, gpu::Dimension::x));
    b.setInsertionPointToStart(loop.getBody());
    number = loop.getInductionVar();
  } else {
    number = emitter.setGrid(0, result.isDynamic() ? 1 : down * rows, result.size, rows, across);
  }
  Value ofStrip = emitter.index(kGroup * across), first = emitter.mul(divide(number, ofStrip), kGroup);
  // The last strip may have fewer tiles.
  Value left = b.createOrFold<arith::SubIOp>(all, first);
  Value strip = down % kGroup == 0 && !result.isDynamic() ? emitter.index(kGroup)
                                                          : b.createOrFold<arith::MinSIOp>(left, emitter.index(kGroup));
  Value inStrip = remainder(number, ofStrip);
  return {emitter.mul(emitter.add(first, remainder(inStrip, strip)), rows),
          emitter.mul(divide(inStrip, strip), columns)};
}

SmallVector<Value> ProductFrame::accumulate(Value lhs, Value rhs, ValueRange state, Value shift) {
  return product->accumulate({lhs, rhs, transposeLhs, transposeRhs, shift, bool(ownGroup)}, range, state);
}

LogicalResult ProductFrame::sumRows(PartialSumsOp sums, const Matrix &result) {
  const Place &tile = place();
  auto type = cast<RankedTensorType>(sums.getType());
  int64_t subgroups = emitter.getSubgroups(), rows = type.getDimSize(0),
          tiles = llvm::divideCeil(emitter.maximumRows(result), tile.rows);
  if (product->order != TileProduct::Order::Persistent || tile.columnLimit || rows != tiles * subgroups ||
      type.getDimSize(1) != result.columns)
    return emitter.fail() << "a matmul whose workgroups compute several tiles makes " << tiles * subgroups << " x "
                          << result.columns << " partial sums of its rows, not " << type;
  auto &b = emitter.builder();
  Value memory = emitter.memoryOfResult(sums.getResult()), number = tileOfRow(tile.row);
  emitter.sumRows(sums, memory, emitter.mul(number, subgroups));
  // A call with fewer rows has fewer tiles. All workgroups together write the sums of the others.
  OpBuilder::InsertionGuard guard(b);
  auto tilesOfWorkgroup = cast<scf::ForOp>(b.getInsertionBlock()->getParentOp());
  b.setInsertionPoint(tilesOfWorkgroup);
  Value used = emitter.mul(tileOfRow(emitter.add(emitter.rowsOf(result), emitter.index(tile.rows - 1))), subgroups);
  auto unused = scf::ForOp::create(b, emitter.add(used, tilesOfWorkgroup.getLowerBound()), emitter.index(rows),
                                   tilesOfWorkgroup.getStep());
  b.setInsertionPointToStart(unused.getBody());
  auto columns = scf::ForOp::create(b, emitter.index(0), emitter.index(result.columns), emitter.index(tile.columns));
  b.setInsertionPointToStart(columns.getBody());
  tile::StoreOp::create(b, emitter.constant(1, tile.columns, 0), memory, unused.getInductionVar(),
                        columns.getInductionVar());
  return success();
}

Value ProductFrame::tileOfRow(Value row) const {
  return emitter.builder().createOrFold<arith::DivUIOp>(row, emitter.index(place().rows));
}

void ProductFrame::storeSums(Value result, Value sums, Value shift) const {
  auto &b = emitter.builder();
  const Place &tile = place();
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tile.row, emitter.index(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  sums = product->wholeSums(sums);
  auto shifted = [&](Value column) { return column && shift ? emitter.add(column, shift) : column; };
  emitter.store(result, sums, {emitter.index(0), shifted(tile.column), 1, tile.columns, {}, shifted(tile.columnLimit)});
}
