#include "compiler/Kernel/Tiling/Matmul/TileProduct.h"

using namespace mlir;
using namespace mlir::heddle;

Value DepthRange::endOfSteps(KernelEmitter &emitter, int64_t step) const {
  auto &b = emitter.builder();
  Value length = b.createOrFold<arith::SubIOp>(end, begin);
  Value rest = b.createOrFold<arith::RemUIOp>(length, emitter.index(step));
  return b.createOrFold<arith::SubIOp>(end, rest);
}

Place MatmulOperands::lhsAt(const Place &tile, const DepthStep &step) const {
  return transposeLhs ? Place{step.k, tile.row, step.length, tile.rows, step.limit, tile.rowLimit}
                      : Place{tile.row, step.k, tile.rows, step.length, tile.rowLimit, step.limit};
}

Place MatmulOperands::rhsAt(KernelEmitter &emitter, const Place &tile, const DepthStep &step) const {
  auto shifted = [&](Value row) { return row && shift ? emitter.add(row, shift) : row; };
  if (transposeRhs)
    return {shifted(tile.column), step.k, tile.columns, step.length, shifted(tile.columnLimit), step.limit};
  return {shifted(step.k), tile.column, step.length, tile.columns, shifted(step.limit), tile.columnLimit};
}

Value heddle::dot(KernelEmitter &emitter, Value left, Value right, Value sum, bool transposeLhs, bool transposeRhs) {
  return tile::DotOp::create(emitter.builder(), sum.getType(), left, right, sum, transposeLhs, transposeRhs);
}
