// Matrix products. Each lane owns a register tile of the result and walks along the contracted dimension.
#include "compiler/Tiling/KernelEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

struct MatmulKernel : KernelOpInterface::ExternalModel<MatmulKernel, MatmulOp> {
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto matmul = cast<MatmulOp>(op);
    auto &b = emitter.builder();
    bool transposeLhs = matmul.getTransposeLhs(), transposeRhs = matmul.getTransposeRhs();
    Matrix lhs = *Matrix::of(typeOf(matmul.getLhs())), result = *Matrix::of(typeOf(matmul.getResult()));
    int64_t vector = emitter.getVector(), lanes = emitter.getLanes();

    SumOp sum;
    for (SumOp companion : op->getBlock()->getOps<SumOp>())
      sum = companion;

    // The contracted dimension: rows of a transposed left side, which may be tokens, or else columns.
    Matrix contracted = transposeLhs ? lhs : Matrix{lhs.columns, 1, {}};
    int64_t depth = emitter.maximumRows(contracted);

    // A transposed right side holds its vectors along the contracted dimension, so that lanes cannot share its rows out
    // among themselves and load vectors too: lanes then stand along the rows of the result.
    if (transposeLhs && transposeRhs)
      return emitter.fail() << "a product with both sides transposed is not tiled; transpose the result instead";
    int64_t rows = emitter.maximumRows(result), columns = result.columns;
    emitter.setSpread(transposeRhs ? KernelEmitter::Spread::Rows : KernelEmitter::Spread::Columns);
    MatrixTile tile = emitter.chooseTile({rows, columns, depth, vector, transposeLhs, transposeRhs});
    if (transposeRhs) {
      rows = lanes * tile.dealt;
      columns = llvm::alignTo(tile.whole, vector);
    } else {
      rows = transposeLhs ? llvm::alignTo(tile.whole, vector) : tile.whole; // its rows are loaded as vectors
      columns = lanes * tile.dealt;
    }
    int64_t step = emitter.stepFor(depth, 4);
    if (!contracted.isDynamic()) // a whole number of steps, if there is one near, needs no checks
      step = chunkOf(depth, vector, step);
    step = llvm::alignTo(emitter.stepFor(depth, step), vector);

    // Workgroups that run one after the other differ along the tile's shorter side, and so share the part of the operands
    // that is larger.
    int rowAxis = rows <= columns ? 0 : 1;
    Value column = emitter.mul(emitter.setGrid(1 - rowAxis, result.columns, {}, columns), columns);
    Value row = emitter.mul(emitter.setGrid(rowAxis, result.rows, result.size, rows), rows);
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
      SmallVector<Value> next{
          tile::DotOp::create(b, state[0].getType(), left, right, state[0], transposeLhs, transposeRhs)};
      if (sum)
        next.push_back(arith::AddFOp::create(b, state[1], emitter.reduce(tile::Combine::Sum, right, 0)));
      return next;
    };
    SmallVector<Value> zeros{emitter.constant(rows, columns, 0)};
    if (sum)
      zeros.push_back(emitter.constant(1, columns, 0));
    SmallVector<Value> totals = emitter.loop(emitter.index(0), end, step, depth, zeros, body);
    if (sum) { // the workgroups of the first rows write it
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, emitter.index(0));
      auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      emitter.store(sum.getResult(), totals[1], {emitter.index(0), column, 1, columns, {}, place.columnLimit});
    }
    emitter.define(matmul.getResult(), place, totals[0]);
    return emitter.finish(result, place);
  }

  /// The sum of the right side's rows: a bias has this gradient where its weight has the product as its own.
  bool takesCompanion(Operation *op, Operation *other) const {
    auto matmul = cast<MatmulOp>(op);
    auto sum = dyn_cast<SumOp>(other);
    return sum && !sum.getColumns() && sum.getInput() == matmul.getRhs() && matmul.getTransposeLhs() &&
           !matmul.getTransposeRhs() && typeOf(matmul.getResult()).getDimSize(0) > 1;
  }
};

} // namespace

void heddle::registerMatrixKernels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, HeddleDialect *) { MatmulOp::attachInterface<MatmulKernel>(*context); });
}
