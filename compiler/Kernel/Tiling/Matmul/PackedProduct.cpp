#include "compiler/Kernel/Tiling/Matmul/PackedProduct.h"

#include "compiler/Kernel/Tiling/Frames/Windows.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// Depth of an iteration of the innermost loop.
static constexpr int64_t kStep = 8;
/// Depth that is packed at a time. A register tile's part of the right side, 16 KB with vectors of 8, stays in the L1
/// cache while the tiles below each other use it. Both packed operands stay in the L2 cache.
static constexpr int64_t kDepth = 256;
/// Rows and columns of a block: enough for packing to take a small part of the time. Processors with vectors of
/// kWideVector elements have L2 caches that hold twice as many of both. If there would be fewer blocks than kFewestBlocks,
/// they are narrower, so that many threads have work. A call may have far fewer rows than a dynamic result's maximum, so
/// such a result has large blocks only if there are kManyBlocks of them.
static constexpr int64_t kRowsOfBlock = 96, kColumnsOfBlock = 128, kWideVector = 16, kFewestBlocks = 16,
                         kManyBlocks = 64;
static constexpr int64_t kFewestRows = 24;
/// The same for the average group. Tiles end where groups do, so without packing a group's right side is read several
/// times, a few columns of all of its rows at a time.
static constexpr int64_t kFewestRowsOfGroup = 9;
/// A dynamic result of at most kSequences rows usually has a row for each decoded sequence, and few rows. Its tiles are
/// chosen for kUsualSequences rows, so that they waste none.
static constexpr int64_t kSequences = 512, kUsualSequences = 32;

bool PackedProduct::isWorthIt(const TargetProfile &profile, int64_t rows, bool ofGroup) {
  return profile.registers > 0 && rows >= (ofGroup ? kFewestRowsOfGroup : kFewestRows);
}

PackedProduct::Packing PackedProduct::packingOf(KernelEmitter &emitter, const MatmulShape &shape) {
  emitter.setWholeVector();
  const Matrix &result = shape.result;
  int64_t maximumRows = emitter.maximumRows(result), vector = emitter.getVector();
  bool isUsuallySmall = result.isDynamic() && maximumRows <= kSequences;
  MatrixTile part = emitter.chooseTile({.m = isUsuallySmall ? std::min(maximumRows, kUsualSequences) : maximumRows,
                                        .n = result.columns,
                                        .k = emitter.maximumRows(shape.contracted),
                                        .vector = vector,
                                        .transposeLhs = shape.transposeLhs,
                                        .transposeRhs = false});
  // Rows of the result that begin at no multiple of a vector are written from memory, in long runs.
  return {.rows = part.whole,
          .columns = part.distributed,
          .depth = kDepth,
          .step = std::max(kStep, vector),
          .columnsAtOnce = std::gcd(part.distributed, shape.rhs.panel),
          .keepsSums = result.columns % vector != 0};
}

PackedProduct::PackedProduct(KernelEmitter &emitter, const MatmulShape &shape)
    : PackedProduct(emitter, shape, packingOf(emitter, shape)) {}

PackedProduct::PackedProduct(KernelEmitter &emitter, const MatmulShape &shape, const Packing &packing)
    : TileProduct(emitter, shape.result), packing(packing) {
  emitter.setMapping(tile::LaneMapping::Columns);
  emitter.setWholeVector();
  int64_t rows = packing.rows, columns = packing.columns;
  int64_t maximumRows = emitter.maximumRows(result), vector = emitter.getVector();
  int64_t down = llvm::divideCeil(maximumRows, rows), across = llvm::divideCeil(result.columns, columns);
  auto blocksOf = [](int64_t extent, int64_t block) { return static_cast<int64_t>(llvm::divideCeil(extent, block)); };
  bool hasMany = !result.isDynamic() ||
                 blocksOf(maximumRows, 2 * kRowsOfBlock) * blocksOf(result.columns, 2 * kColumnsOfBlock) >= kManyBlocks;
  int64_t wide = emitter.getProfile().vector >= kWideVector && hasMany ? 2 : 1;
  int64_t blocksDown = blocksOf(maximumRows, std::max(wide * kRowsOfBlock, rows));
  int64_t unit = vector / std::gcd(vector, rows); // blocks begin at whole vectors
  int64_t tilesAcross = std::clamp<int64_t>(wide * kColumnsOfBlock / columns, 1, across);
  while (tilesAcross > 1 && blocksDown * int64_t(llvm::divideCeil(across, tilesAcross)) < kFewestBlocks)
    tilesAcross = llvm::divideCeil(tilesAcross, 2);
  block.rows = int64_t(llvm::alignTo(llvm::divideCeil(down, blocksDown), unit)) * rows;
  block.columns = tilesAcross * columns;
}

void PackedProduct::place(Value row, Value column, Value rowLimit) {
  auto &b = emitter.builder();
  block.row = row, block.column = column, block.rowLimit = rowLimit;
  isOfGroup = bool(rowLimit);
  if (!rowLimit && (result.isDynamic() || result.rows % block.rows != 0))
    block.rowLimit = emitter.rowsOf(result);
  if (result.columns % block.columns != 0)
    block.columnLimit = emitter.index(result.columns);
  auto endOf = [&](Value begin, int64_t length, Value limit) {
    Value end = emitter.add(begin, emitter.index(length));
    return limit ? b.createOrFold<arith::MinSIOp>(end, limit) : end;
  };
  rowEnd = endOf(row, block.rows, block.rowLimit);
  columnEnd = endOf(column, block.columns, block.columnLimit);
}

/// Allocates rows of an odd number of cache lines, so that rows below each other fall into different sets of a cache.
Value PackedProduct::scratch(Value &memory, int64_t rows, int64_t columns, Type element) {
  constexpr int64_t line = 16;
  if (!memory)
    memory = emitter.sharedTile(emitter.tileType(rows, (llvm::divideCeil(columns, line) | 1) * line, element));
  return memory;
}

void PackedProduct::forColumns(int64_t step, function_ref<void(Value)> body) {
  emitter.loop(block.column, columnEnd, step, block.columns, body);
}

void PackedProduct::forRows(int64_t step, function_ref<void(Value)> body) {
  emitter.loop(block.row, rowEnd, step, block.rows, body);
}

void PackedProduct::forTiles(function_ref<void(const Place &)> body) {
  forColumns(packing.columns,
             [&](Value column) { forRows(packing.rows, [&](Value row) { body(tileAt(row, column)); }); });
}

Place PackedProduct::tileAt(Value row, Value column) const {
  Place tile{row, column, packing.rows, packing.columns, {}, {}};
  if (isOfGroup || result.isDynamic() || result.rows % packing.rows != 0)
    tile.rowLimit = block.rowLimit ? block.rowLimit : emitter.rowsOf(result);
  if (result.columns % packing.columns != 0)
    tile.columnLimit = emitter.index(result.columns);
  return tile;
}

Place PackedProduct::sumsAt(const Place &tile) const {
  auto &b = emitter.builder();
  return {b.createOrFold<arith::SubIOp>(tile.row, block.row),
          b.createOrFold<arith::SubIOp>(tile.column, block.column),
          tile.rows,
          tile.columns,
          {},
          {}};
}

SmallVector<Value> PackedProduct::zeros(bool withSums) {
  hasSums = false;
  if (!withSums)
    return {};
  scratch(rowSums, 1, block.columns);
  forColumns(packing.columns, [&](Value column) {
    Value inBlock = emitter.builder().createOrFold<arith::SubIOp>(column, block.column);
    tile::StoreOp::create(emitter.builder(), emitter.constant(1, packing.columns, 0), rowSums, emitter.index(0),
                          inBlock);
  });
  return {};
}

/// Sets the tiles' sums in memory to zero, once after each `zeros`.
void PackedProduct::needSums() {
  if (hasSums)
    return;
  hasSums = true;
  scratch(tileSums, block.rows, block.columns);
  forTiles([&](const Place &tile) {
    Place place = sumsAt(tile);
    tile::StoreOp::create(emitter.builder(), emitter.constant(tile.rows, tile.columns, 0), tileSums, place.row,
                          place.column);
  });
}

void PackedProduct::forDepth(Value length, function_ref<void(Value)> body) {
  emitter.loop(emitter.index(0), length, packing.step, packing.depth, body);
}

SmallVector<Value> PackedProduct::accumulate(const MatmulOperands &operands, const DepthRange &range, ValueRange) {
  auto &b = emitter.builder();
  addPart();
  // If groups are contracted, the depth is a group's rows.
  Value origin = isConstantIntValue(range.begin, 0) ? Value() : range.begin;
  Value depth = b.createOrFold<arith::SubIOp>(range.end, range.begin);
  bool isStatic = getConstantIntValue(depth).has_value();
  bool isWhole = isStatic && range.depth % packing.step == 0;
  // Rows of narrower elements or of windows are read in place only if whole vectors lie side by side.
  auto type = cast<RankedTensorType>(operands.lhs.getType());
  bool isUnfolded = isa_and_nonnull<UnfoldOp>(operands.lhs.getDefiningOp());
  bool readsLhs = packing.readsLhs && !operands.transposeLhs &&
                  (isWhole ? isUnfolded || emitter.isInMemory(operands.lhs)
                           : !isUnfolded && emitter.isInMemory(operands.lhs) && type.getElementTypeBitWidth() == 32);
  auto pack = [&](Value first, Value length, Value depthLimit) {
    part = {operands, origin, first, length, depthLimit, depthLimit || !readsLhs};
    packRhs();
    if (part->packsLhs)
      packLhs();
  };
  bool isInMemory = packing.keepsSums || range.depth > packing.depth;
  if (isInMemory)
    needSums();
  // The depth that the loop covers. A single part needs no loop. A last part that needs zeros follows the loop.
  int64_t inLoop = isInMemory ? range.depth : 0;
  if (isStatic && !isWhole)
    inLoop = range.depth / packing.depth * packing.depth;
  if (inLoop > 0) {
    Value end = inLoop < range.depth ? emitter.index(inLoop) : depth;
    emitter.loop(emitter.index(0), end, packing.depth, inLoop, [&](Value first) {
      Value length = emitter.index(packing.depth);
      if (!isStatic || inLoop % packing.depth != 0)
        length = b.createOrFold<arith::MinSIOp>(b.createOrFold<arith::SubIOp>(end, first), length);
      pack(first, length, isStatic ? Value() : end);
      addPart();
    });
  }
  if (inLoop < range.depth)
    pack(emitter.index(inLoop), b.createOrFold<arith::SubIOp>(depth, emitter.index(inLoop)), isWhole ? Value() : depth);
  return {};
}

/// Adds the product of the packed part to the sums in memory.
void PackedProduct::addPart() {
  if (!part)
    return;
  needSums();
  forTiles([&](const Place &tile) { addTile(tile); });
  part.reset();
}

void PackedProduct::addTile(const Place &tile) {
  Place place = sumsAt(tile);
  Value sums = multiply(tile, emitter.load(tileSums, place, Padding::Any));
  tile::StoreOp::create(emitter.builder(), sums, tileSums, place.row, place.column);
}

/// The step of the K dimension that is `inPart` behind the begin of the part.
DepthStep PackedProduct::stepAt(Value inPart) const {
  auto fromOrigin = [&](Value k) { return k && part->origin ? emitter.add(k, part->origin) : k; };
  return {fromOrigin(emitter.add(part->first, inPart)), packing.step, fromOrigin(part->depthLimit)};
}

// The loops read along the matrix's rows.
void PackedProduct::forRhs(function_ref<void(Value, Value)> pack) {
  auto forAll = [&](function_ref<void(Value)> body) { forDepth(part->length, body); };
  if (part->operands.transposeRhs)
    forColumns(packing.columnsAtOnce, [&](Value column) { forAll([&](Value inPart) { pack(inPart, column); }); });
  else
    forAll([&](Value inPart) { forColumns(packing.columnsAtOnce, [&](Value column) { pack(inPart, column); }); });
}

void PackedProduct::sumRows(Value part, Value inBlock) {
  if (!rowSums)
    return;
  Value zero = emitter.index(0);
  Value before = emitter.load(rowSums, {zero, inBlock, 1, packing.columnsAtOnce, {}, {}}, Padding::Any);
  Value sum = arith::AddFOp::create(emitter.builder(), before, emitter.reduce(tile::Combine::Sum, part, 0));
  tile::StoreOp::create(emitter.builder(), sum, rowSums, zero, inBlock);
}

void PackedProduct::packRhs() {
  auto &b = emitter.builder();
  const MatmulOperands &operands = part->operands;
  scratch(rhsPanels, packing.depth, block.columns);
  forRhs([&](Value inPart, Value column) {
    DepthStep step = stepAt(inPart);
    Place tile = tileAt(block.row, column);
    tile.columns = packing.columnsAtOnce;
    Place place = operands.rhsAt(emitter, tile, step);
    Value part = emitter.widen(operands.transposeRhs ? emitter.evaluateTransposed(operands.rhs, place, step.padding())
                                                     : emitter.evaluate(operands.rhs, place, step.padding()));
    Value inBlock = b.createOrFold<arith::SubIOp>(column, block.column);
    tile::StoreOp::create(b, part, rhsPanels, inPart, inBlock);
    sumRows(part, inBlock);
  });
}

void PackedProduct::packLhs() {
  auto &b = emitter.builder();
  const MatmulOperands &operands = part->operands;
  Value length = part->length;
  if (operands.transposeLhs) {
    int64_t runs = 2 * emitter.getVector(); // columns at a time
    scratch(lhsPanels, packing.depth, llvm::alignTo(block.rows, runs));
    bool isCut = result.isDynamic() || result.rows % runs != 0 || block.rows % runs != 0;
    Value limit = isCut ? emitter.rowsOf(result) : Value();
    forDepth(length, [&](Value inBlock) {
      DepthStep step = stepAt(inBlock);
      forRows(runs, [&](Value row) {
        Place place = operands.lhsAt({row, {}, runs, 0, limit, {}}, step);
        Value part = emitter.evaluate(operands.lhs, place, step.padding());
        tile::StoreOp::create(b, emitter.widen(part), lhsPanels, inBlock,
                              b.createOrFold<arith::SubIOp>(row, block.row));
      });
    });
    return;
  }
  scratch(lhsPanels, block.rows, packing.depth);
  forRows(packing.rows, [&](Value row) {
    Place tile = tileAt(row, block.column);
    std::optional<MovedRows> moved;
    if (auto unfold = operands.lhs.getDefiningOp<UnfoldOp>())
      moved.emplace(movedRowsOf(unfold, emitter, tile));
    forDepth(length, [&](Value inBlock) {
      DepthStep step = stepAt(inBlock);
      Place place = operands.lhsAt(tile, step);
      Value part = moved ? moved->read(place, step.padding()) : emitter.evaluate(operands.lhs, place, step.padding());
      tile::StoreOp::create(b, emitter.widen(part), lhsPanels, b.createOrFold<arith::SubIOp>(row, block.row), inBlock);
    });
  });
}

/// Returns the sums of a tile plus the product of the packed part.
Value PackedProduct::multiply(const Place &tile, Value sums) {
  const MatmulOperands &operands = part->operands;
  Place inBlock = sumsAt(tile);
  std::optional<MovedRows> moved;
  if (auto unfold = operands.lhs.getDefiningOp<UnfoldOp>(); unfold && !part->packsLhs)
    moved.emplace(movedRowsOf(unfold, emitter, tile));
  auto left = [&](Value k) -> Value {
    if (part->packsLhs)
      return emitter.load(lhsPanels,
                          operands.transposeLhs ? Place{k, inBlock.row, kStep, packing.rows, {}, {}}
                                                : Place{inBlock.row, k, packing.rows, kStep, {}, {}},
                          Padding::Any);
    Place place = operands.lhsAt(tile, {emitter.add(part->first, k), kStep, {}});
    return emitter.widen(moved ? moved->read(place, Padding::Any)
                               : emitter.evaluate(operands.lhs, place, Padding::Any));
  };
  return emitter.loop(
      emitter.index(0), part->length, kStep, packing.depth, sums, [&](Value k, ValueRange state) -> SmallVector<Value> {
        Value right = emitter.load(rhsPanels, {k, inBlock.column, kStep, packing.columns, {}, {}}, Padding::Any);
        return {dot(emitter, left(k), right, state[0], operands.transposeLhs)};
      })[0];
}

void PackedProduct::beginTiles() {
  auto &b = emitter.builder();
  auto begin = [&](Value from, Value to, int64_t step) {
    auto loop = scf::ForOp::create(b, from, to, emitter.index(step));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };
  if (!hasSums) {
    Value column = begin(block.column, columnEnd, packing.columns);
    tile = tileAt(begin(block.row, rowEnd, packing.rows), column);
    return;
  }
  // Row by row, so that the result is written in long runs, wherever its rows begin.
  addPart();
  Value row = begin(block.row, rowEnd, 1), column = begin(block.column, columnEnd, packing.columns);
  tile = tileAt(row, column);
  tile.rows = 1, tile.rowLimit = {};
}

SmallVector<Value> PackedProduct::finish(ValueRange) {
  beginTiles();
  Place place = sumsAt(tile);
  SmallVector<Value> all{hasSums ? emitter.load(tileSums, place, Padding::Any)
                                 : multiply(tile, emitter.constant(packing.rows, packing.columns, 0))};
  if (rowSums)
    all.push_back(emitter.load(rowSums, {emitter.index(0), place.column, 1, tile.columns, {}, {}}, Padding::Any));
  part.reset();
  return all;
}
