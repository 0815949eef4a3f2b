#include "compiler/Kernel/Tiling/Matmul/StreamedProduct.h"

#include "compiler/Kernel/Tiling/Matmul/RegisterProduct.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// How many vectors of columns a tile with one row has. A multiply-add waits for the previous one in the same register,
/// so one vector is too few.
static constexpr int64_t kVectors[] = {4, 2};
/// Minimum bytes of a contiguous run of the right side, unless there would be fewer than kFewestBlocks blocks. The number
/// of blocks is even, so that two threads have equal work.
static constexpr int64_t kRunBytes = 1536, kFewestBlocks = 2;
static constexpr int64_t kMostRows = 8;
/// A right side of fewer bytes is usually in a cache. Several rows of it are then multiplied in register tiles, which
/// load and store sums only once.
static constexpr int64_t kCachedBytes = int64_t(128) << 10;

bool StreamedProduct::isWorthIt(const KernelEmitter &emitter, const MatmulShape &shape, int64_t rows,
                                int64_t elements) {
  bool isThread = emitter.getProfile().registers > 0 && !shape.transposeLhs && !shape.transposeRhs && !shape.moved;
  bool isCached = !shape.rhs.group && elements * shape.rhs.bytes <= kCachedBytes;
  return isThread && (rows <= kMostRows || shape.rhs.isOfIntegers) &&
         shape.result.columns >= kFewestBlocks * kVectors[0] * emitter.getVector() && (rows == 1 || !isCached);
}

StreamedProduct::StreamedProduct(KernelEmitter &emitter, const MatmulShape &shape, int64_t rows)
    : TileProduct(emitter, shape.result), panel(shape.rhs.panel) {
  emitter.setMapping(tile::LaneMapping::Columns);
  emitter.setWholeVector();
  order = shape.rhs.isOfIntegers ? Order::StripsOfRows : Order::Strips;
  step = stepOfThread(emitter.maximumRows(shape.contracted), emitter.maximumRows(result), shape.rhs);
  int64_t blocks = std::max(kFewestBlocks, result.columns * shape.rhs.bytes / kRunBytes / 2 * 2);
  if (panel > 0)
    blocks = result.columns / panel;
  // Half of the registers hold the sums of several rows, the others a step's right side. A step of integers
  // has eight vectors or more for each vector of the result. Two of these vectors share the loads of a single row.
  int64_t most =
      shape.rhs.isOfIntegers ? (rows == 1 ? 2 : 1) : std::max<int64_t>(1, emitter.getProfile().registers / (2 * rows));
  block.rows = std::min(rows, kMostRows);
  for (int64_t vectors : kVectors) {
    int64_t ofTile = std::gcd(std::min(vectors, most) * emitter.getVector(), panel); // within a panel
    int64_t ofBlock = llvm::alignTo(llvm::divideCeil(result.columns, blocks), std::max(ofTile, panel));
    if (!block.columns || ofBlock < block.columns)
      block.columns = ofBlock, columns = ofTile;
  }
}

void StreamedProduct::place(Value row, Value column, Value rowLimit) {
  auto &b = emitter.builder();
  block.row = row, block.column = column;
  block.rowLimit = !rowLimit && result.isDynamic() ? emitter.rowsOf(result) : rowLimit;
  end = emitter.add(column, emitter.index(block.columns));
  if (result.columns % block.columns != 0)
    end = b.createOrFold<arith::MinSIOp>(end, emitter.index(result.columns));
  sums = scratch(b.getF32Type());
}

Place StreamedProduct::tileAt(Value column) const {
  Value columnLimit = result.columns % columns ? emitter.index(result.columns) : Value();
  return {block.row, column, block.rows, columns, block.rowLimit, columnLimit};
}

Place StreamedProduct::sumsAt(const Place &tile) const {
  Value column = emitter.builder().createOrFold<arith::SubIOp>(tile.column, block.column);
  return {emitter.index(0), column, block.rows, columns, {}, {}};
}

void StreamedProduct::store(Value values, Value memory) const {
  Place place = sumsAt(tile);
  tile::StoreOp::create(emitter.builder(), values, memory, place.row, place.column);
}

void StreamedProduct::forTiles(function_ref<Value()> body) {
  emitter.loop(block.column, end, columns, block.columns, [&](Value column) {
    tile = tileAt(column);
    if (Value next = body())
      store(next, sums);
  });
}

Place StreamedProduct::shareOf(Value row, int64_t rows) const {
  if (!isPanel())
    return {row, tile.column, rows, columns, {}, {}};
  auto &b = emitter.builder();
  int64_t ofTile = llvm::divideCeil(rows, block.columns / columns);
  Value number = b.createOrFold<arith::DivUIOp>(sumsAt(tile).column, emitter.index(columns));
  return {emitter.add(row, emitter.mul(number, ofTile)), block.column, ofTile, block.columns, {}, {}};
}

SmallVector<Value> StreamedProduct::zeros(bool) {
  hasSums = false;
  forTiles([&] { return emitter.constant(block.rows, columns, 0); });
  return {};
}

SmallVector<Value> StreamedProduct::finish(ValueRange) {
  auto &b = emitter.builder();
  auto loop = scf::ForOp::create(b, block.column, end, emitter.index(columns));
  b.setInsertionPointToStart(loop.getBody());
  tile = tileAt(loop.getInductionVar());
  return {load(sums)};
}
