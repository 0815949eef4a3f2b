#include "compiler/Kernel/Tiling/Matmul/PairedProduct.h"

#include "compiler/Kernel/Tiling/Frames/Windows.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// A tile of sums has as many matrix registers in each direction. Two more hold a part of the left operand, and two of the
/// right one.
static constexpr int64_t kMatrices = 2;
/// Depth that is packed at a time. Both packed operands stay in the L2 cache.
static constexpr int64_t kDepth = 512;
/// Rows of the left operand that are read at a time.
static constexpr int64_t kRowsAtOnce = 8;

PairedProduct::PairedProduct(KernelEmitter &emitter, const MatmulShape &shape)
    : PackedProduct(emitter, shape, [&]() -> Packing {
        const MatrixShape &matrix = emitter.getProfile().matrixRegisters;
        return {.rows = kMatrices * matrix.rows,
                .columns = kMatrices * matrix.columns,
                .depth = kDepth,
                .step = matrix.depth,
                .columnsAtOnce = std::gcd(matrix.columns, shape.rhs.panel),
                .keepsSums = true,
                .readsLhs = false};
      }()) {}

static Value halfOf(KernelEmitter &emitter, Value index) {
  return emitter.builder().createOrFold<arith::DivUIOp>(index, emitter.index(2));
}

/// Stores the words of pairs along `dim` of a tile of bf16, transposed or not. Words are transposed through scratch memory.
void PairedProduct::storePairs(Value tile, int64_t dim, bool transposed, Value panels, Value row, Value column) {
  auto &b = emitter.builder();
  SmallVector<int64_t> shape(cast<RankedTensorType>(tile.getType()).getShape());
  shape[dim] /= 2;
  Value words = tile::PairsOp::create(b, emitter.tileType(shape[0], shape[1], b.getI32Type()), tile, dim);
  if (transposed) {
    Value memory = emitter.sharedTile(cast<RankedTensorType>(words.getType())), zero = emitter.index(0);
    tile::StoreOp::create(b, words, memory, zero, zero);
    words = emitter.load(memory, {zero, zero, shape[0], shape[1], {}, {}}, Padding::Any, /*transposed=*/true);
  }
  tile::StoreOp::create(b, words, panels, row, column);
}

/// A row of the panels holds pairs along the depth of all columns of the block.
void PairedProduct::packRhs() {
  auto &b = emitter.builder();
  const MatmulOperands &operands = part->operands;
  scratch(rhsPanels, kDepth / 2, block.columns, b.getI32Type());
  bool turns = operands.transposeRhs; // pairs are neighbours in a row
  forRhs([&](Value inPart, Value column) {
    DepthStep step = stepAt(inPart);
    Place tile = tileAt(block.row, column);
    tile.columns = packing.columnsAtOnce;
    Value part = emitter.evaluate(operands.rhs, operands.rhsAt(emitter, tile, step), step.padding());
    Value inBlock = b.createOrFold<arith::SubIOp>(column, block.column);
    storePairs(part, /*dim=*/turns ? 1 : 0, /*transposed=*/turns, rhsPanels, halfOf(emitter, inPart), inBlock);
    if (rowSums && !turns)
      sumRows(emitter.widen(part), inBlock);
  });
}

/// A row of the panels holds pairs along the depth of a row of the block.
void PairedProduct::packLhs() {
  auto &b = emitter.builder();
  const MatmulOperands &operands = part->operands;
  scratch(lhsPanels, block.rows, kDepth / 2, b.getI32Type());
  auto inBlock = [&](Value row) { return b.createOrFold<arith::SubIOp>(row, block.row); };
  if (operands.transposeLhs) {
    int64_t runs = emitter.getProfile().matrixRegisters.rows; // columns at a time
    Value limit = result.isDynamic() || result.rows % runs != 0 ? emitter.rowsOf(result) : Value();
    forDepth(part->length, [&](Value inPart) {
      DepthStep step = stepAt(inPart);
      forRows(runs, [&](Value row) {
        Place place = operands.lhsAt({row, {}, runs, 0, limit, {}}, step);
        storePairs(emitter.evaluate(operands.lhs, place, step.padding()), /*dim=*/0, /*transposed=*/true, lhsPanels,
                   inBlock(row), halfOf(emitter, inPart));
      });
    });
    return;
  }
  forRows(kRowsAtOnce, [&](Value row) {
    Place tile = tileAt(row, block.column);
    tile.rows = kRowsAtOnce;
    std::optional<MovedRows> moved;
    if (auto unfold = operands.lhs.getDefiningOp<UnfoldOp>())
      moved.emplace(movedRowsOf(unfold, emitter, tile));
    forDepth(part->length, [&](Value inPart) {
      DepthStep step = stepAt(inPart);
      Place place = operands.lhsAt(tile, step);
      Value part = moved ? moved->read(place, step.padding()) : emitter.evaluate(operands.lhs, place, step.padding());
      storePairs(part, /*dim=*/1, /*transposed=*/false, lhsPanels, inBlock(row), halfOf(emitter, inPart));
    });
  });
}

/// Registers 0 to 3 hold the sums, 4 and 5 rows of the left operand, 6 and 7 columns of the right one.
void PairedProduct::addTile(const Place &tile) {
  auto &b = emitter.builder();
  const MatrixShape &matrix = emitter.getProfile().matrixRegisters;
  constexpr int64_t firstLhs = kMatrices * kMatrices, firstRhs = firstLhs + kMatrices;
  Place sums = sumsAt(tile);
  auto rowOf = [&](int64_t i) { return emitter.add(sums.row, emitter.index(i * matrix.rows)); };
  auto columnOf = [&](int64_t j) { return emitter.add(sums.column, emitter.index(j * matrix.columns)); };
  auto forSums = [&](auto body) {
    for (int64_t i = 0; i < kMatrices; ++i)
      for (int64_t j = 0; j < kMatrices; ++j)
        body(kMatrices * i + j, i, j);
  };
  forSums([&](int64_t number, int64_t i, int64_t j) {
    tile::MatrixLoadOp::create(b, number, tileSums, rowOf(i), columnOf(j));
  });
  emitter.loop(emitter.index(0), part->length, matrix.depth, kDepth, [&](Value k) {
    Value word = halfOf(emitter, k);
    for (int64_t i = 0; i < kMatrices; ++i) {
      tile::MatrixLoadOp::create(b, firstLhs + i, lhsPanels, rowOf(i), word);
      tile::MatrixLoadOp::create(b, firstRhs + i, rhsPanels, word, columnOf(i));
    }
    forSums([&](int64_t number, int64_t i, int64_t j) {
      tile::MatrixDotOp::create(b, number, firstLhs + i, firstRhs + j);
    });
  });
  forSums([&](int64_t number, int64_t i, int64_t j) {
    tile::MatrixStoreOp::create(b, number, tileSums, rowOf(i), columnOf(j));
  });
}
