// y = x W^T with few rows of x. Other matmuls with a transposed right side give each lane rows of the result, so most
// lanes would have no row here. Instead all lanes share a row of W. Each lane takes a part of its columns, and then the
// lanes add up their sums:
//
//   for (block of rows of W in the tile)
//     for (row of x)                       // the block's rows are in the cache from then on
//       for (k)  sums += x[row, k..] * W[block, k..]
//       shared[block, row] = the sum over all lanes
//   for (row of x)  epilogue of y[row, tile] = shared[.., row]
#include "compiler/Kernel/Tiling/Matmul/FewRows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kMostRows = 8;

/// Rows of W whose sums a lane holds, and rows whose sums a thread holds. The latter is 8 because a word has eight
/// 4-bit numbers.
static constexpr int64_t kBlock = 4, kBlockOfThread = 8;

/// Rows of W that a workgroup of one thread takes.
static constexpr int64_t kRowsOfThread = 128;

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
  emitter.setMapping(tile::LaneMapping::Columns);
  bool isThread = emitter.getProfile().registers > 0;
  if (isThread)
    emitter.setWholeVector();
  int64_t depth = lhs.columns, most = emitter.maximumRows(result);
  int64_t step = emitter.getLanes() * emitter.getVector();                                    // columns of W at a time
  int64_t tile = isThread ? kRowsOfThread : step, block = isThread ? kBlockOfThread : kBlock; // columns of y
  Value zero = emitter.index(0), rows = emitter.rowsOf(result);
  Value column = emitter.mul(emitter.setGrid(0, result.columns, {}, tile), tile);
  Value columnLimit = result.columns % tile ? emitter.index(result.columns) : Value();
  int64_t wholeDepth = depth / step * step;
  Value shared = emitter.sharedTile(emitter.tileType(tile, most));

  emitter.loop(zero, emitter.index(tile), block, tile, {}, [&](Value ofBlock, ValueRange) -> SmallVector<Value> {
    Value first = emitter.add(column, ofBlock);
    emitter.loop(zero, rows, 1, most, {}, [&](Value row, ValueRange) -> SmallVector<Value> {
      auto add = [&](Value sums, Value k, Value limit) -> Value {
        Value x = emitter.widen(emitter.evaluate(product.getLhs(), {row, k, 1, step, {}, limit}));
        Value w = emitter.widen(emitter.evaluate(product.getRhs(), {first, k, block, step, columnLimit, limit}));
        return math::FmaOp::create(b, emitter.broadcast(x, block, step), w, sums);
      };
      Value sums = emitter.constant(block, step, 0);
      sums =
          emitter.loop(zero, emitter.index(wholeDepth), step, wholeDepth, sums,
                       [&](Value k, ValueRange sums) -> SmallVector<Value> { return {add(sums[0], k, Value())}; })[0];
      if (wholeDepth < depth)
        sums = add(sums, emitter.index(wholeDepth), emitter.index(depth));
      tile::StoreOp::create(b, emitter.reduce(tile::Combine::Sum, sums, 1), shared, ofBlock, row);
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
