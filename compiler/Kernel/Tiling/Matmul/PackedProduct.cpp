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

PackedProduct::PackedProduct(KernelEmitter &emitter, const Matrix &result, bool transposeLhs, int64_t depth,
                             int64_t panel)
    : emitter(emitter), result(result) {
  emitter.setWholeVector();
  packStep = std::max(kStep, emitter.getVector());
  int64_t maximumRows = emitter.maximumRows(result), vector = emitter.getVector();
  bool isUsuallySmall = result.isDynamic() && maximumRows <= kSequences;
  MatrixTile part = emitter.chooseTile({.m = isUsuallySmall ? std::min(maximumRows, kUsualSequences) : maximumRows,
                                        .n = result.columns,
                                        .k = depth,
                                        .vector = vector,
                                        .transposeLhs = transposeLhs,
                                        .transposeRhs = false});
  rows = part.whole, columns = part.distributed;
  packColumns = std::gcd(columns, panel);
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
Value PackedProduct::scratch(Value &memory, int64_t rows, int64_t columns) {
  constexpr int64_t line = 16;
  if (!memory)
    memory = emitter.sharedTile(emitter.tileType(rows, (llvm::divideCeil(columns, line) | 1) * line));
  return memory;
}

void PackedProduct::forColumns(int64_t step, function_ref<void(Value)> body) {
  emitter.loop(block.column, columnEnd, step, block.columns, {}, [&](Value column, ValueRange) -> SmallVector<Value> {
    body(column);
    return {};
  });
}

void PackedProduct::forRows(int64_t step, function_ref<void(Value)> body) {
  emitter.loop(block.row, rowEnd, step, block.rows, {}, [&](Value row, ValueRange) -> SmallVector<Value> {
    body(row);
    return {};
  });
}

void PackedProduct::forTiles(function_ref<void(const Place &)> body) {
  forColumns(columns, [&](Value column) { forRows(rows, [&](Value row) { body(tileAt(row, column)); }); });
}

Place PackedProduct::tileAt(Value row, Value column) const {
  Place tile{row, column, rows, columns, {}, {}};
  if (isOfGroup || result.isDynamic() || result.rows % rows != 0)
    tile.rowLimit = block.rowLimit ? block.rowLimit : emitter.rowsOf(result);
  if (result.columns % columns != 0)
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

void PackedProduct::clear(bool withSums) {
  hasSums = false;
  if (!withSums)
    return;
  scratch(rowSums, 1, block.columns);
  forColumns(columns, [&](Value column) {
    Value inBlock = emitter.builder().createOrFold<arith::SubIOp>(column, block.column);
    tile::StoreOp::create(emitter.builder(), emitter.constant(1, columns, 0), rowSums, emitter.index(0), inBlock);
  });
}

/// Sets the tiles' sums in memory to zero, once after each `clear`.
void PackedProduct::needSums() {
  if (hasSums)
    return;
  hasSums = true;
  scratch(tileSums, block.rows, block.columns);
  forTiles([&](const Place &tile) {
    Place place = sumsAt(tile);
    tile::StoreOp::create(emitter.builder(), emitter.constant(rows, columns, 0), tileSums, place.row, place.column);
  });
}

void PackedProduct::forDepth(Value length, function_ref<void(Value)> body) {
  emitter.loop(emitter.index(0), length, packStep, kDepth, {}, [&](Value inBlock, ValueRange) -> SmallVector<Value> {
    body(inBlock);
    return {};
  });
}

void PackedProduct::accumulate(const Operands &operands) {
  auto &b = emitter.builder();
  addPart();
  bool isStatic = getConstantIntValue(operands.depth).has_value();
  bool isWhole = isStatic && operands.maximumDepth % packStep == 0;
  // Rows of narrower elements or of windows are read in place only if whole vectors lie side by side.
  auto type = cast<RankedTensorType>(operands.lhs.getType());
  bool isUnfolded = isa_and_nonnull<UnfoldOp>(operands.lhs.getDefiningOp());
  bool readsLhs = !operands.transposeLhs &&
                  (isWhole ? isUnfolded || emitter.isInMemory(operands.lhs)
                           : !isUnfolded && emitter.isInMemory(operands.lhs) && type.getElementTypeBitWidth() == 32);
  auto pack = [&](Value first, Value length, Value depthLimit) {
    part = {operands, first, length, depthLimit, depthLimit || !readsLhs};
    packRhs();
    if (part->packsLhs)
      packLhs();
  };
  // Rows of the result that begin at no multiple of a vector are written from memory, in long runs.
  bool isInMemory = operands.maximumDepth > kDepth || result.columns % emitter.getVector() != 0;
  if (isInMemory)
    needSums();
  // The depth that the loop covers. A single part needs no loop. A last part that needs zeros follows the loop.
  int64_t inLoop = isInMemory ? operands.maximumDepth : 0;
  if (isStatic && !isWhole)
    inLoop = operands.maximumDepth / kDepth * kDepth;
  if (inLoop > 0) {
    Value end = inLoop < operands.maximumDepth ? emitter.index(inLoop) : operands.depth;
    emitter.loop(emitter.index(0), end, kDepth, inLoop, {}, [&](Value first, ValueRange) -> SmallVector<Value> {
      Value length = emitter.index(kDepth);
      if (!isStatic || inLoop % kDepth != 0)
        length = b.createOrFold<arith::MinSIOp>(b.createOrFold<arith::SubIOp>(end, first), length);
      pack(first, length, isStatic ? Value() : end);
      addPart();
      return {};
    });
  }
  if (inLoop < operands.maximumDepth)
    pack(emitter.index(inLoop), b.createOrFold<arith::SubIOp>(operands.depth, emitter.index(inLoop)),
         isWhole ? Value() : operands.depth);
}

/// Adds the product of the packed part to the sums in memory.
void PackedProduct::addPart() {
  if (!part)
    return;
  needSums();
  forTiles([&](const Place &tile) {
    Place place = sumsAt(tile);
    Value sums = multiply(tile, emitter.load(tileSums, place, Padding::Any));
    tile::StoreOp::create(emitter.builder(), sums, tileSums, place.row, place.column);
  });
  part.reset();
}

void PackedProduct::packRhs() {
  auto &b = emitter.builder();
  const auto &[operands, first, length, depthLimit, packsLhs] = *part;
  Padding padding = depthLimit ? Padding::Zero : Padding::Any;
  auto shifted = [&](Value row) { return row && operands.shift ? emitter.add(row, operands.shift) : row; };
  scratch(rhsPanels, kDepth, block.columns);
  bool turns = operands.transposeRhs;
  auto read = [&](Value k, const Place &tile) {
    Place place = turns ? Place{shifted(tile.column), k, packColumns, packStep, shifted(tile.columnLimit), depthLimit}
                        : Place{shifted(k), tile.column, packStep, packColumns, shifted(depthLimit), tile.columnLimit};
    return emitter.widen(turns ? emitter.evaluateTransposed(operands.rhs, place, padding)
                               : emitter.evaluate(operands.rhs, place, padding));
  };
  auto pack = [&](Value inBlock, Value column) {
    Value zero = emitter.index(0), target = b.createOrFold<arith::SubIOp>(column, block.column);
    Value part = read(emitter.add(first, inBlock), tileAt(block.row, column));
    tile::StoreOp::create(b, part, rhsPanels, inBlock, target);
    if (!rowSums)
      return;
    Value before = emitter.load(rowSums, {zero, target, 1, packColumns, {}, {}}, Padding::Any);
    Value sum = arith::AddFOp::create(b, before, emitter.reduce(tile::Combine::Sum, part, 0));
    tile::StoreOp::create(b, sum, rowSums, zero, target);
  };
  // The loops read along the matrix's rows.
  if (turns)
    forColumns(packColumns, [&](Value column) { forDepth(length, [&](Value inBlock) { pack(inBlock, column); }); });
  else
    forDepth(length, [&](Value inBlock) { forColumns(packColumns, [&](Value column) { pack(inBlock, column); }); });
}

void PackedProduct::packLhs() {
  auto &b = emitter.builder();
  const auto &[operands, first, length, depthLimit, packsLhs] = *part;
  Padding padding = depthLimit ? Padding::Zero : Padding::Any;
  int64_t runs = 2 * emitter.getVector(); // columns of a transposed left side at a time
  if (operands.transposeLhs) {
    scratch(lhsPanels, kDepth, llvm::alignTo(block.rows, runs));
    bool isCut = result.isDynamic() || result.rows % runs != 0 || block.rows % runs != 0;
    Value limit = isCut ? emitter.rowsOf(result) : Value();
    auto shifted = [&](Value k) { return k && operands.lhsShift ? emitter.add(k, operands.lhsShift) : k; };
    forDepth(length, [&](Value inBlock) {
      Value k = shifted(emitter.add(first, inBlock));
      forRows(runs, [&](Value row) {
        Value part = emitter.evaluate(operands.lhs, {k, row, packStep, runs, shifted(depthLimit), limit}, padding);
        tile::StoreOp::create(b, emitter.widen(part), lhsPanels, inBlock,
                              b.createOrFold<arith::SubIOp>(row, block.row));
      });
    });
    return;
  }
  scratch(lhsPanels, block.rows, kDepth);
  forRows(rows, [&](Value row) {
    Value rowLimit = tileAt(row, block.column).rowLimit;
    std::optional<MovedRows> moved;
    if (auto unfold = operands.lhs.getDefiningOp<UnfoldOp>())
      moved.emplace(movedRowsOf(unfold, emitter, {row, emitter.index(0), rows, packStep, rowLimit, {}}));
    forDepth(length, [&](Value inBlock) {
      Value k = emitter.add(first, inBlock);
      Place place{row, k, rows, packStep, rowLimit, depthLimit};
      Value part = moved ? moved->read(place, padding) : emitter.evaluate(operands.lhs, place, padding);
      tile::StoreOp::create(b, emitter.widen(part), lhsPanels, b.createOrFold<arith::SubIOp>(row, block.row), inBlock);
    });
  });
}

/// Returns the sums of a tile plus the product of the packed part.
Value PackedProduct::multiply(const Place &tile, Value sums) {
  auto &b = emitter.builder();
  const Operands &operands = part->operands;
  Place inBlock = sumsAt(tile);
  std::optional<MovedRows> moved;
  if (auto unfold = operands.lhs.getDefiningOp<UnfoldOp>(); unfold && !part->packsLhs)
    moved.emplace(movedRowsOf(unfold, emitter, tile));
  auto left = [&](Value k) -> Value {
    if (part->packsLhs)
      return emitter.load(lhsPanels,
                          operands.transposeLhs ? Place{k, inBlock.row, kStep, rows, {}, {}}
                                                : Place{inBlock.row, k, rows, kStep, {}, {}},
                          Padding::Any);
    Place place{tile.row, emitter.add(part->first, k), rows, kStep, tile.rowLimit, {}};
    return emitter.widen(moved ? moved->read(place, Padding::Any)
                               : emitter.evaluate(operands.lhs, place, Padding::Any));
  };
  return emitter.loop(
      emitter.index(0), part->length, kStep, kDepth, sums, [&](Value k, ValueRange state) -> SmallVector<Value> {
        Value right = emitter.load(rhsPanels, {k, inBlock.column, kStep, columns, {}, {}}, Padding::Any);
        return {tile::DotOp::create(b, state[0].getType(), left(k), right, state[0], operands.transposeLhs,
                                    /*transpose_rhs=*/false)};
      })[0];
}

Place PackedProduct::beginTiles() {
  auto &b = emitter.builder();
  auto begin = [&](Value from, Value to, int64_t step) {
    auto loop = scf::ForOp::create(b, from, to, emitter.index(step));
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };
  if (!hasSums) {
    Value column = begin(block.column, columnEnd, columns);
    return tile = tileAt(begin(block.row, rowEnd, rows), column);
  }
  // Row by row, so that the result is written in long runs, wherever its rows begin.
  addPart();
  Value row = begin(block.row, rowEnd, 1), column = begin(block.column, columnEnd, columns);
  tile = tileAt(row, column);
  tile.rows = 1, tile.rowLimit = {};
  return tile;
}

SmallVector<Value> PackedProduct::sums() {
  Place place = sumsAt(tile);
  SmallVector<Value> all{hasSums ? emitter.load(tileSums, place, Padding::Any)
                                 : multiply(tile, emitter.constant(rows, columns, 0))};
  if (rowSums)
    all.push_back(emitter.load(rowSums, {emitter.index(0), place.column, 1, tile.columns, {}, {}}, Padding::Any));
  part.reset();
  return all;
}
