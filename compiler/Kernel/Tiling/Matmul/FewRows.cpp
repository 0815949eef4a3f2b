// y = x W^T with few rows of x. Other matmuls with a transposed right side give each lane rows of the result, so most
// lanes would have no row here. Instead all lanes share a row of W. Each lane takes a part of its columns, and then the
// lanes add up their sums:
//
//   for (block of rows of W in the tile)
//     for (rows of x)                      // a thread takes up to four at once, which share the block's elements
//       for (k)  sums[row] += x[row, k..] * W[block, k..]
//       shared[block, row] = the sum over all lanes
//   for (row of x)  epilogue of y[row, tile] = shared[.., row]
//
// For several rows of x, a thread first unpacks the rows of W that share words into scratch memory.
#include "compiler/Kernel/Tiling/Matmul/FewRows.h"

#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "compiler/Kernel/Tiling/Matmul/IntegerProduct.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kMostRows = 8;

/// Rows of W whose sums a lane holds, for one row of x.
static constexpr int64_t kBlock = 4;
/// The same for a thread, which has sums for up to kRowsTogether rows of x. With several rows of x, half of the
/// registers hold sums. With one row of x, a block is kBlockOfThread rows of W, or, if W is packed, the rows that share
/// words: memory is then read in a single run.
static constexpr int64_t kBlockOfThread = 8, kRowsTogether = 4;

/// Rows of W that a workgroup of one thread takes.
static constexpr int64_t kRowsOfThread = 128;

/// Columns of W in an iteration of a thread's loop. Groups of packed numbers often have 32, and their scales are then
/// loaded once.
static constexpr int64_t kColumnsOfThread = 32;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns W if its integers are multiplied without unpacking them. Otherwise null: memory bounds a single row of bytes
/// already with unpacked ones.
static DequantizeOp integersOf(MatmulOp product, const KernelEmitter &emitter) {
  auto unpacked = product.getRhs().getDefiningOp<DequantizeOp>();
  bool isBound = unpacked && unpacked.getBits() == 8 && emitter.maximumRows(*Matrix::of(product.getType())) == 1;
  bool isPossible = unpacked && IntegerProduct::isPossible(emitter.getProfile(), unpacked, /*isTransposed=*/true);
  return isPossible && !isBound ? unpacked : DequantizeOp();
}

bool heddle::hasFewRows(MatmulOp product, KernelEmitter &emitter) {
  if (product.getTransposeLhs() || !product.getTransposeRhs())
    return false;
  Matrix result = *Matrix::of(product.getType());
  int64_t together = emitter.getLanes() * emitter.getVector();
  return (emitter.maximumRows(result) <= kMostRows || integersOf(product, emitter)) && result.columns >= together &&
         (emitter.getProfile().registers > 0 || (emitter.getLanes() > 1 && together % kBlock == 0));
}

/// The same with the integers of W, a vector of its rows at a time, for up to kMostRows rows of x at once. More rows have
/// workgroups of their own. Scales and offsets of the rows of W are transposed, so that each step has a vector of them.
static LogicalResult emitFewRowsOfIntegers(MatmulOp product, DequantizeOp unpacked, KernelEmitter &emitter) {
  auto &b = emitter.builder();
  emitter.setMapping(tile::LaneMapping::Columns);
  emitter.setWholeVector();
  Matrix lhs = *Matrix::of(typeOf(product.getLhs())), result = *Matrix::of(product.getType());
  int64_t depth = lhs.columns, rows = std::min(emitter.maximumRows(result), kMostRows), vector = emitter.getVector();
  int64_t ofGroup = unpacked.getGroup().second, groups = llvm::alignTo(depth / ofGroup, vector);
  Value zero = emitter.index(0),
        column = emitter.mul(emitter.setGrid(0, result.columns, {}, kRowsOfThread), kRowsOfThread),
        firstRow = emitter.mul(emitter.setGrid(1, result.rows, result.size, rows), rows);
  Value columnLimit = result.columns % kRowsOfThread ? emitter.index(result.columns) : Value();
  Value rowLimit = result.isDynamic() || result.rows % rows != 0 ? emitter.rowsOf(result) : Value();
  Value shared = emitter.sharedTile(emitter.tileType(rows, kRowsOfThread));
  IntegerProduct integers(emitter, unpacked, rows, depth, /*isTransposed=*/true);
  integers.split(firstRow, [&](Value k) {
    return emitter.widen(emitter.evaluate(product.getLhs(), {firstRow, k, rows, IntegerProduct::kStep, rowLimit, {}}));
  });
  auto transpose = [&](Value values, Value memory, Value row) {
    Place place{row, zero, vector, groups, columnLimit, emitter.index(depth / ofGroup)};
    tile::StoreOp::create(b, emitter.evaluateTransposed(values, place, Padding::Zero), memory, zero, zero);
  };
  auto groupsTile = [&] { return emitter.sharedTile(emitter.tileType(groups, vector)); };
  Value scales = groupsTile(), offsets = unpacked.getOffsets() ? groupsTile() : Value();
  emitter.loop(zero, emitter.index(kRowsOfThread), vector, kRowsOfThread, [&](Value ofTile) {
    Value row = emitter.add(column, ofTile);
    transpose(unpacked.getScales(), scales, row);
    if (offsets)
      transpose(unpacked.getOffsets(), offsets, row);
    auto add = [&](Value k, ValueRange state) -> SmallVector<Value> {
      prefetchWords(emitter, unpacked,
                    {emitter.add(row, emitter.index(vector)), k, vector, IntegerProduct::kStep, {}, {}});
      Value group = b.createOrFold<arith::DivUIOp>(k, emitter.index(ofGroup));
      auto ofStep = [&](Value memory) {
        return emitter.broadcast(emitter.load(memory, {group, zero, 1, vector, {}, {}}, Padding::Any), rows, vector);
      };
      Value scaled = arith::MulFOp::create(
          b, integers.multiply(k, {row, k, vector, IntegerProduct::kStep, columnLimit, {}}), ofStep(scales));
      Value sum = arith::AddFOp::create(b, state[0], scaled);
      if (offsets)
        sum = arith::AddFOp::create(
            b, sum, arith::MulFOp::create(b, emitter.broadcast(integers.total(k), rows, vector), ofStep(offsets)));
      return {sum};
    };
    Value sums = emitter.loop(zero, emitter.index(depth), IntegerProduct::kStep, depth,
                              emitter.constant(rows, vector, 0), add)[0];
    tile::StoreOp::create(b, sums, shared, zero, ofTile);
  });
  LogicalResult finished = success();
  Value end = emitter.add(firstRow, emitter.index(rows));
  if (rowLimit)
    end = b.createOrFold<arith::MinUIOp>(end, rowLimit);
  emitter.loop(firstRow, end, 1, rows, [&](Value row) {
    Place ofRow{row, column, 1, kRowsOfThread, {}, columnLimit};
    Value inTile = b.createOrFold<arith::SubIOp>(row, firstRow);
    emitter.define(product.getResult(), ofRow,
                   emitter.load(shared, {inTile, zero, 1, kRowsOfThread, {}, {}}, Padding::Any));
    finished = emitter.finish(result, ofRow);
  });
  return finished;
}

LogicalResult heddle::emitFewRows(MatmulOp product, KernelEmitter &emitter) {
  if (DequantizeOp integers = integersOf(product, emitter))
    return emitFewRowsOfIntegers(product, integers, emitter);
  auto unpacked = product.getRhs().getDefiningOp<DequantizeOp>();
  auto &b = emitter.builder();
  Matrix lhs = *Matrix::of(typeOf(product.getLhs())), result = *Matrix::of(product.getType());
  emitter.setMapping(tile::LaneMapping::Columns);
  bool isThread = emitter.getProfile().registers > 0;
  if (isThread)
    emitter.setWholeVector();
  int64_t depth = lhs.columns, most = emitter.maximumRows(result);
  int64_t step = emitter.getLanes() * emitter.getVector();         // columns of W at a time
  int64_t together = isThread ? std::min(kRowsTogether, most) : 1; // rows of x at a time
  int64_t tile = isThread ? kRowsOfThread : step, block = kBlock;  // columns of y
  if (isThread)
    block = together == 1 ? kBlockOfThread : emitter.getProfile().registers / (2 * kRowsTogether);
  if (isThread && unpacked && together == 1)
    block = 32 / static_cast<int64_t>(unpacked.getBits());
  bool unpacksBefore = unpacked && together > 1;
  int64_t ofPanel = unpacksBefore ? llvm::alignTo(block, 32 / int64_t(unpacked.getBits())) : block; // rows of W
  Value zero = emitter.index(0), rows = emitter.rowsOf(result);
  Value column = emitter.mul(emitter.setGrid(0, result.columns, {}, tile), tile);
  Value columnLimit = result.columns % tile ? emitter.index(result.columns) : Value();
  int64_t unrolled = isThread ? llvm::alignTo(kColumnsOfThread, step) : step;
  Value shared = emitter.sharedTile(emitter.tileType(tile, llvm::alignTo(most, together))), panel;
  if (unpacksBefore)
    panel = emitter.sharedTile(emitter.tileType(ofPanel, llvm::alignTo(depth, step)));

  using Body = function_ref<SmallVector<Value>(ValueRange, Value, Value)>;
  /// Calls `body` for each step along the columns of W: with the state, the first column, and, in the last step, the
  /// limit of columns. `first`: the first row of W that is read. The rows of the next block are prefetched, unless
  /// `first` is null.
  auto forDepth = [&](SmallVector<Value> state, Value first, Body body) {
    int64_t done = 0;
    for (int64_t ofLoop : {unrolled, step}) {
      int64_t end = depth / ofLoop * ofLoop;
      if (done < end)
        state = emitter.loop(
            emitter.index(done), emitter.index(end), ofLoop, end - done, state, [&](Value k, ValueRange before) {
              SmallVector<Value> next = llvm::to_vector(before);
              if (first)
                prefetchStored(emitter, product.getRhs(),
                               {emitter.add(first, emitter.index(ofPanel)), k, ofPanel, ofLoop, {}, {}});
              for (int64_t part = 0; part < ofLoop; part += step)
                next = body(next, emitter.add(k, emitter.index(part)), Value());
              return next;
            });
      done = end;
    }
    return done < depth ? body(state, emitter.index(done), emitter.index(depth)) : state;
  };
  auto readRhs = [&](Value row, Value k, int64_t count, Value limit) {
    return emitter.widen(emitter.evaluate(product.getRhs(), {row, k, count, step, columnLimit, limit}));
  };
  /// The sums of `block` rows of W, from `ofTile` on in the workgroup's tile and from `inPanel` on in the panel.
  auto sumBlock = [&](Value ofTile, Value inPanel) {
    Value first = emitter.add(column, ofTile);
    emitter.loop(zero, rows, together, most, [&](Value row) {
      SmallVector<Value> lines{row};
      while (int64_t(lines.size()) < together)
        lines.push_back(emitter.add(row, emitter.index(lines.size())));
      auto add = [&](ValueRange sums, Value k, Value limit) {
        SmallVector<Value> next;
        for (Value line : lines) {
          Place place{line, k, 1, step, together > 1 ? rows : Value(), limit};
          Padding padding = limit || together == 1 ? Padding::Zero : Padding::Any;
          next.push_back(emitter.widen(emitter.evaluate(product.getLhs(), place, padding)));
        }
        Value w = panel ? emitter.load(panel, {inPanel, k, block, step, {}, {}}, Padding::Any)
                        : readRhs(first, k, block, limit);
        for (auto [x, sum] : llvm::zip_equal(next, sums))
          x = math::FmaOp::create(b, emitter.broadcast(x, block, step), w, sum);
        return next;
      };
      SmallVector<Value> sums(together, emitter.constant(block, step, 0));
      sums = forDepth(sums, isThread && !panel ? first : Value(), add);
      for (auto [line, sum] : llvm::zip_equal(lines, sums))
        tile::StoreOp::create(b, emitter.reduce(tile::Combine::Sum, sum, 1), shared, ofTile, line);
    });
  };
  emitter.loop(zero, emitter.index(tile), ofPanel, tile, [&](Value ofTile) {
    if (!panel) {
      sumBlock(ofTile, zero);
      return;
    }
    Value first = emitter.add(column, ofTile);
    forDepth({}, first, [&](ValueRange, Value k, Value limit) -> SmallVector<Value> {
      tile::StoreOp::create(b, readRhs(first, k, ofPanel, limit), panel, zero, k);
      return {};
    });
    emitter.loop(zero, emitter.index(ofPanel), block, ofPanel,
                 [&](Value row) { sumBlock(emitter.add(ofTile, row), row); });
  });
  tile::WaitOp::create(b, 0);
  LogicalResult finished = success();
  emitter.loop(zero, rows, 1, most, [&](Value row) {
    Place place{row, column, 1, tile, {}, columnLimit};
    Value sums = emitter.load(shared, {zero, row, tile, 1, {}, {}}, Padding::Any, /*transposed=*/true);
    emitter.define(product.getResult(), place, sums);
    finished = emitter.finish(result, place);
  });
  return finished;
}
