// y = x W^T with few rows of x. Other matmuls with a transposed right side give each lane rows of the result, so most
// lanes would have no row here. Instead all lanes share a row of W. Each lane takes a part of its columns, and then the
// lanes add up their sums:
//
//   for (block of rows of W in the tile)
//     for (rows of x)                      // a thread takes up to four at once, which share the block's elements
//       for (k)  sums[row] += x[row, k..] * W[block, k..]
//       shared[block, row] = the sum over all lanes
//   for (row of x)  epilogue of y[row, tile] = shared[.., row]
#include "compiler/Kernel/Tiling/Matmul/FewRows.h"

#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kMostRows = 8;

/// Rows of W whose sums a lane holds, for one row of x.
static constexpr int64_t kBlock = 4;
/// The same for a thread, which has sums for up to kRowsTogether rows of x. Half of the registers hold sums if there are
/// several rows of x. One row takes 8 rows of W, because a word has eight 4-bit numbers.
static constexpr int64_t kBlockOfThread = 8, kRowsTogether = 4;

/// Rows of W that a workgroup of one thread takes.
static constexpr int64_t kRowsOfThread = 128;

/// Columns of W in an iteration of a thread's loop. Groups of packed numbers often have 32, and their scales are then
/// loaded once.
static constexpr int64_t kColumnsOfThread = 32;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool heddle::hasFewRows(MatmulOp product, KernelEmitter &emitter) {
  if (product.getTransposeLhs() || !product.getTransposeRhs())
    return false;
  Matrix result = *Matrix::of(product.getType());
  int64_t together = emitter.getLanes() * emitter.getVector();
  return emitter.maximumRows(result) <= kMostRows && result.columns >= together &&
         (emitter.getProfile().registers > 0 || (emitter.getLanes() > 1 && together % kBlock == 0));
}

LogicalResult heddle::emitFewRows(MatmulOp product, KernelEmitter &emitter) {
  auto &b = emitter.builder();
  Matrix lhs = *Matrix::of(typeOf(product.getLhs())), result = *Matrix::of(product.getType());
  auto unpacked = product.getRhs().getDefiningOp<DequantizeOp>();
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
  Value zero = emitter.index(0), rows = emitter.rowsOf(result);
  Value column = emitter.mul(emitter.setGrid(0, result.columns, {}, tile), tile);
  Value columnLimit = result.columns % tile ? emitter.index(result.columns) : Value();
  int64_t unrolled = isThread ? llvm::alignTo(kColumnsOfThread, step) : step;
  Value shared = emitter.sharedTile(emitter.tileType(tile, llvm::alignTo(most, together)));

  emitter.loop(zero, emitter.index(tile), block, tile, {}, [&](Value ofBlock, ValueRange) -> SmallVector<Value> {
    Value first = emitter.add(column, ofBlock), ahead = emitter.add(first, emitter.index(block)); // the next block
    emitter.loop(zero, rows, together, most, {}, [&](Value row, ValueRange) -> SmallVector<Value> {
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
        Value w = emitter.widen(emitter.evaluate(product.getRhs(), {first, k, block, step, columnLimit, limit}));
        for (auto [x, sum] : llvm::zip_equal(next, sums))
          x = math::FmaOp::create(b, emitter.broadcast(x, block, step), w, sum);
        return next;
      };
      SmallVector<Value> sums(together, emitter.constant(block, step, 0));
      int64_t done = 0;
      for (int64_t ofLoop : {unrolled, step}) {
        int64_t end = depth / ofLoop * ofLoop;
        if (done < end)
          sums = emitter.loop(emitter.index(done), emitter.index(end), ofLoop, end - done, sums,
                              [&](Value k, ValueRange state) {
                                SmallVector<Value> next = llvm::to_vector(state);
                                if (unpacked && isThread)
                                  prefetchWords(emitter, unpacked, {ahead, k, block, ofLoop, {}, {}});
                                for (int64_t part = 0; part < ofLoop; part += step)
                                  next = add(next, emitter.add(k, emitter.index(part)), Value());
                                return next;
                              });
        done = end;
      }
      if (done < depth)
        sums = add(sums, emitter.index(done), emitter.index(depth));
      for (auto [line, sum] : llvm::zip_equal(lines, sums))
        tile::StoreOp::create(b, emitter.reduce(tile::Combine::Sum, sum, 1), shared, ofBlock, line);
      return {};
    });
    return {};
  });
  tile::WaitOp::create(b, 0);
  LogicalResult finished = success();
  emitter.loop(zero, rows, 1, most, {}, [&](Value row, ValueRange) -> SmallVector<Value> {
    Place place{row, column, 1, tile, {}, columnLimit};
    Value sums = emitter.load(shared, {zero, row, tile, 1, {}, {}}, Padding::Any, /*transposed=*/true);
    emitter.define(product.getResult(), place, sums);
    finished = emitter.finish(result, place);
    return {};
  });
  return finished;
}
