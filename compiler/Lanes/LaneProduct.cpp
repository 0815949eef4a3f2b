// Lowers matmuls of tiles to one lane. Each lane has the whole contracted dimension, so no lane needs another's
// elements.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int64_t kSumsAtOnce = 8;

/// Returns the registers of a tile's transpose, row by row, or none if they do not form squares of `vector` elements.
SmallVector<Value> transpose(LaneBuilder &b, const Registers &tile, int64_t vector) {
  const tile::LaneShape &shape = tile.shape;
  if (shape.vector != vector || vector < 4 || shape.rows % vector != 0)
    return {};
  SmallVector<Value> result(shape.count());
  int64_t runs = shape.rows / vector;
  for (int64_t from = 0; from < shape.runs; ++from)
    for (int64_t to = 0; to < runs; ++to) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < vector; ++i)
        rows.push_back(tile.at(to * vector + i, from));
      for (auto [k, column] : llvm::enumerate(transposeSquare(b, rows)))
        result[(from * vector + static_cast<int64_t>(k)) * runs + to] = column;
    }
  return result;
}

/// sum + left * right, of f32 or of the integers in i32.
Value multiplyAdd(LaneBuilder &b, tile::DotOp op, Value left, Value right, Value sum) {
  if (auto bits = op.getIntegers())
    return tile::IntegerDotOp::create(b, sum, left, right, bits);
  return math::FmaOp::create(b, left, right, sum);
}

Lowered lowerDot(LaneBuilder &b, const Lanes &lanes, tile::DotOp op, RegistersOf<tile::DotOp> adaptor) {
  auto lhsType = cast<RankedTensorType>(op.getLhs().getType());
  auto rhsType = cast<RankedTensorType>(op.getRhs().getType());
  Registers lhs(lhsType, adaptor.getLhs()), rhs(rhsType, adaptor.getRhs());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  Type type = getRegisterType(op.getType());
  int64_t depth = lhsType.getDimSize(op.getTransposeLhs() ? 0 : 1);
  bool transposeLhs = op.getTransposeLhs(), transposeRhs = op.getTransposeRhs();

  SmallVector<Value> sums(adaptor.getAccumulator());
  if (lanes.count() == 1) {
    SmallVector<Value> columns = transposeRhs ? transpose(b, rhs, shape.vector) : SmallVector<Value>(rhs.values);
    if (!columns.empty()) {
      // Iterates over the contracted dimension first, so that a row of the right side and an element of the left one
      // are soon free.
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t i = 0; i < shape.rows; ++i) {
          Value left = b.splat(type, transposeLhs ? lhs.element(b, k, i) : lhs.element(b, i, k));
          for (int64_t run = 0; run < shape.runs; ++run) {
            Value &sum = sums[i * shape.runs + run];
            sum = multiplyAdd(b, op, left, columns[k * shape.runs + run], sum);
          }
        }
      return sums;
    }
  }
  if (tile::getDistribution(op.getType(), 0).lanes > 1 && tile::getDistribution(op.getType(), 1).lanes > 1) {
    // Both operands are distributed, so a lane holds only the elements that it needs at each k. The loop over k is the
    // outermost, so that the operands' registers are soon free.
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < shape.rows; ++i) {
        Value left = transposeLhs ? lhs.element(b, k, i) : lhs.element(b, i, k);
        for (int64_t run = 0; run < shape.runs; ++run) {
          Value right = transposeRhs ? rhs.element(b, run, k) : rhs.at(k, run);
          Value &sum = sums[i * shape.runs + run];
          sum = math::FmaOp::create(b, b.splat(type, left), right, sum);
        }
      }
    return sums;
  }
  // Row by row: a row's sums stay in registers along the contracted dimension, and no other row needs its elements of
  // the left side.
  for (int64_t i = 0; i < shape.rows; ++i) {
    auto row = MutableArrayRef(sums).slice(i * shape.runs, shape.runs);
    auto left = [&](int64_t k) { return transposeLhs ? lhs.element(b, k, i) : lhs.element(b, i, k); };
    if (!transposeRhs) {
      for (int64_t k = 0; k < depth; ++k) {
        Value repeated = b.splat(type, left(k));
        for (int64_t run = 0; run < shape.runs; ++run)
          row[run] = math::FmaOp::create(b, repeated, rhs.at(k, run), row[run]);
      }
      continue;
    }
    // A row of a transposed right side belongs to one column of the result, so these are dot products: as many at a
    // time as a CPU's registers hold.
    SmallVector<Value> elements;
    for (int64_t j = 0; j < shape.runs * shape.vector; ++j)
      elements.push_back(b.extract(row[j / shape.vector], j % shape.vector));
    auto count = static_cast<int64_t>(elements.size());
    for (int64_t first = 0; first < count; first += kSumsAtOnce)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = first; j < std::min(first + kSumsAtOnce, count); ++j)
          elements[j] = math::FmaOp::create(b, left(k), rhs.element(b, j, k), elements[j]);
    for (int64_t run = 0; run < shape.runs; ++run)
      row[run] = b.assemble(type, ArrayRef(elements).slice(run * shape.vector, shape.vector));
  }
  return sums;
}

} // namespace

void heddle::populateLaneProductPatterns(const TypeConverter &converter, const Lanes &lanes,
                                         RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerDot);
}
