// Matrix products. Each lane owns a register tile of the result and walks along the contracted dimension.
#include "compiler/Tiling/KernelEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Vectors of columns that a lane takes on: more reuse each loaded operand more, but leave more of the last tile empty.
int64_t chooseRuns(int64_t columns, int64_t run, int64_t limit) {
  int64_t best = 1;
  double bestCost = 0;
  for (int64_t runs = 1; runs <= limit; ++runs) {
    double computed = static_cast<double>(llvm::divideCeil(columns, run * runs) * run * runs);
    double cost = computed * (1.0 + 1.0 / static_cast<double>(runs));
    if (runs == 1 || cost < bestCost) {
      best = runs;
      bestCost = cost;
    }
  }
  return best;
}

struct MatmulKernel : KernelOpInterface::ExternalModel<MatmulKernel, MatmulOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto matmul = cast<MatmulOp>(op);
    auto &b = emitter.builder();
    const TargetProfile &profile = emitter.getProfile();
    bool transposeLhs = matmul.getTransposeLhs(), transposeRhs = matmul.getTransposeRhs();
    Matrix lhs = *Matrix::of(typeOf(matmul.getLhs())), result = *Matrix::of(typeOf(matmul.getResult()));
    int64_t vector = emitter.getVector(), lanes = emitter.getLanes();

    // The contracted dimension: rows of a transposed left side, which may be tokens, or else columns.
    Matrix contracted = transposeLhs ? lhs : Matrix{lhs.columns, 1, {}};
    int64_t depth = emitter.maximumRows(contracted);

    // A transposed right side holds its vectors along the contracted dimension, so that lanes cannot share its rows out
    // among themselves and load vectors too: lanes then stand along the rows of the result.
    int64_t rows, columns;
    if (transposeRhs) {
      if (transposeLhs)
        return emitter.fail() << "a product with both sides transposed is not tiled; transpose the result instead";
      emitter.setSpread(KernelEmitter::Spread::Rows);
      int64_t rowsPerLane = std::max<int64_t>(1, profile.matmulRows / 4);
      rows = lanes * (result.isDynamic() ? rowsPerLane
                                         : std::min(rowsPerLane, int64_t(llvm::divideCeil(result.rows, lanes))));
      columns = vector * chooseRuns(result.columns, vector, profile.matmulRuns);
    } else {
      emitter.setSpread(KernelEmitter::Spread::Columns);
      rows = result.isDynamic() ? profile.matmulRows : std::min(profile.matmulRows, result.rows);
      if (transposeLhs) // rows of the result are loaded as vectors
        rows = llvm::alignTo(rows, vector);
      columns = lanes * vector * chooseRuns(result.columns, lanes * vector, profile.matmulRuns);
    }
    int64_t step = emitter.stepFor(depth, transposeRhs ? 2 * profile.matmulDepth : profile.matmulDepth);
    if (!contracted.isDynamic()) // a whole number of steps, if there is one near, needs no checks
      step = chunkOf(depth, vector, step);
    step = emitter.stepFor(depth, step);
    step = llvm::alignTo(step, vector);

    Value column = emitter.mul(emitter.setGrid(0, result.columns, {}, columns), columns);
    Value row = emitter.mul(emitter.setGrid(1, result.rows, result.size, rows), rows);
    Place place{row, column, rows, columns, {}, {}};
    if (result.isDynamic() || result.rows % rows != 0)
      place.rowLimit = emitter.rowsOf(result);
    if (result.columns % columns != 0)
      place.columnLimit = emitter.index(result.columns);
    Value end = emitter.rowsOf(contracted);
    Value depthLimit = contracted.isDynamic() || depth % step != 0 ? end : Value();

    // Elements past the contracted dimension's end must be zero on both sides: nothing times NaN is NaN. Those past the
    // result's rows or columns only reach elements that are never stored.
    Padding padding = depthLimit ? Padding::Zero : Padding::Any;
    auto body = [&](Value k, ValueRange state) -> SmallVector<Value> {
      Place lhsPlace = transposeLhs ? Place{k, row, step, rows, depthLimit, place.rowLimit}
                                    : Place{row, k, rows, step, place.rowLimit, depthLimit};
      Place rhsPlace = transposeRhs ? Place{column, k, columns, step, place.columnLimit, depthLimit}
                                    : Place{k, column, step, columns, depthLimit, place.columnLimit};
      Value left = emitter.evaluate(matmul.getLhs(), lhsPlace, padding);
      Value right = emitter.evaluate(matmul.getRhs(), rhsPlace, padding);
      return {tile::DotOp::create(b, state[0].getType(), left, right, state[0], transposeLhs, transposeRhs)};
    };
    Value zero = emitter.constant(rows, columns, 0);
    Value product = emitter.loop(emitter.index(0), end, step, depth, zero, body)[0];
    emitter.define(matmul.getResult(), place, product);
    return emitter.finish(result, place);
  }
};

} // namespace

void heddle::registerMatrixKernels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, HeddleDialect *) { MatmulOp::attachInterface<MatmulKernel>(*context); });
}
