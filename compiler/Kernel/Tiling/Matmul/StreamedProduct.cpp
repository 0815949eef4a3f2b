#include "compiler/Kernel/Tiling/Matmul/StreamedProduct.h"

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

bool StreamedProduct::isWorthIt(const KernelEmitter &emitter, int64_t rows, int64_t columns, int64_t elements,
                                const RightSide &rhs) {
  bool isCached = !rhs.group && elements * rhs.bytes <= kCachedBytes;
  return emitter.getProfile().registers > 0 && (rows <= kMostRows || rhs.isOfIntegers) &&
         columns >= kFewestBlocks * kVectors[0] * emitter.getVector() && (rows == 1 || !isCached);
}

StreamedProduct::StreamedProduct(KernelEmitter &emitter, const Matrix &result, int64_t rows, const RightSide &rhs)
    : emitter(emitter), result(result), rows(std::min(rows, kMostRows)), panel(rhs.panel) {
  int64_t blocks = std::max(kFewestBlocks, result.columns * rhs.bytes / kRunBytes / 2 * 2);
  if (panel > 0)
    blocks = result.columns / panel;
  // Half of the registers hold the sums of several rows, the others a step's right side. A step of integers
  // has eight vectors or more for each vector of the result. Two of these vectors share the loads of a single row.
  int64_t most =
      rhs.isOfIntegers ? (rows == 1 ? 2 : 1) : std::max<int64_t>(1, emitter.getProfile().registers / (2 * rows));
  for (int64_t vectors : kVectors) {
    int64_t ofTile = std::gcd(std::min(vectors, most) * emitter.getVector(), panel); // within a panel
    int64_t ofBlock = llvm::alignTo(llvm::divideCeil(result.columns, blocks), std::max(ofTile, panel));
    if (!block || ofBlock < block)
      block = ofBlock, columns = ofTile;
  }
}

void StreamedProduct::place(Value row, Value column, Value rowLimit) {
  auto &b = emitter.builder();
  this->row = row, begin = column;
  this->rowLimit = !rowLimit && result.isDynamic() ? emitter.rowsOf(result) : rowLimit;
  end = emitter.add(column, emitter.index(block));
  if (result.columns % block != 0)
    end = b.createOrFold<arith::MinSIOp>(end, emitter.index(result.columns));
  tileSums = emitter.sharedTile(emitter.tileType(rows, block));
}

Place StreamedProduct::tileAt(Value column) const {
  return {row, column, rows, columns, rowLimit, result.columns % columns ? emitter.index(result.columns) : Value()};
}

Place StreamedProduct::sumsAt(const Place &tile) const {
  Value column = emitter.builder().createOrFold<arith::SubIOp>(tile.column, begin);
  return {emitter.index(0), column, rows, columns, {}, {}};
}

void StreamedProduct::clear() {
  forTiles([&](const Place &) { return emitter.constant(rows, columns, 0); });
}

void StreamedProduct::forTiles(function_ref<Value(const Place &)> body) {
  emitter.loop(begin, end, columns, block, {}, [&](Value column, ValueRange) -> SmallVector<Value> {
    tile = tileAt(column);
    if (Value next = body(tile))
      store(next, tileSums);
    return {};
  });
}

Place StreamedProduct::shareOf(Value row, int64_t rows) const {
  if (!isPanel())
    return {row, tile.column, rows, columns, {}, {}};
  auto &b = emitter.builder();
  int64_t ofTile = llvm::divideCeil(rows, block / columns);
  Value number = b.createOrFold<arith::DivUIOp>(sumsAt(tile).column, emitter.index(columns));
  return {emitter.add(row, emitter.mul(number, ofTile)), begin, ofTile, block, {}, {}};
}

Place StreamedProduct::beginTiles() {
  auto &b = emitter.builder();
  auto loop = scf::ForOp::create(b, begin, end, emitter.index(columns));
  b.setInsertionPointToStart(loop.getBody());
  return tile = tileAt(loop.getInductionVar());
}

void StreamedProduct::store(Value values, Value memory) const {
  Place place = sumsAt(tile);
  tile::StoreOp::create(emitter.builder(), values, memory, place.row, place.column);
}
