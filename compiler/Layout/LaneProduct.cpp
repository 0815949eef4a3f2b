// Products of tiles, in one lane: the contracted dimension lies in it, so no lane needs another's elements.
#include "compiler/Layout/Lanes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

struct LowerDot : LanePattern<tile::DotOp> {
  using LanePattern::LanePattern;
  LogicalResult matchAndRewrite(tile::DotOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LaneBuilder b(op.getLoc(), rewriter);
    auto lhsType = cast<RankedTensorType>(op.getLhs().getType());
    auto rhsType = cast<RankedTensorType>(op.getRhs().getType());
    Registers lhs(lhsType, adaptor.getLhs()), rhs(rhsType, adaptor.getRhs());
    tile::LaneShape shape = tile::getLaneShape(op.getType());
    Type type = getRegisterType(op.getType());
    int64_t depth = lhsType.getDimSize(op.getTransposeLhs() ? 0 : 1);
    bool transposeLhs = op.getTransposeLhs(), transposeRhs = op.getTransposeRhs();

    // The left side's elements are each used once a run: repeat them over a register once.
    SmallVector<Value> left(shape.rows * depth);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < shape.rows; ++i)
        left[i * depth + k] = transposeLhs ? lhs.element(b, k, i) : lhs.element(b, i, k);

    SmallVector<Value> sums(adaptor.getAccumulator());
    if (!transposeRhs) {
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t i = 0; i < shape.rows; ++i) {
          Value repeated = b.splat(type, left[i * depth + k]);
          for (int64_t run = 0; run < shape.runs; ++run) {
            Value &sum = sums[i * shape.runs + run];
            sum = math::FmaOp::create(b, repeated, rhs.at(k, run), sum);
          }
        }
      rewriter.replaceOpWithMultiple(op, {sums});
      return success();
    }

    // Elements of a row of a transposed right side belong to one column of the result, so these are scalar products.
    int64_t columns = shape.runs * shape.vector;
    SmallVector<Value> right(columns * depth);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < depth; ++k)
        right[j * depth + k] = rhs.element(b, j, k);
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t run = 0; run < shape.runs; ++run) {
        Value &sum = sums[i * shape.runs + run];
        SmallVector<Value> elements;
        for (int64_t element = 0; element < shape.vector; ++element) {
          Value scalar = b.extract(sum, element);
          int64_t j = run * shape.vector + element;
          for (int64_t k = 0; k < depth; ++k)
            scalar = math::FmaOp::create(b, left[i * depth + k], right[j * depth + k], scalar);
          elements.push_back(scalar);
        }
        sum = b.assemble(type, elements);
      }
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }
};

} // namespace

void heddle::populateLaneProductPatterns(const TypeConverter &converter, const Lanes &lanes,
                                         RewritePatternSet &patterns) {
  patterns.add<LowerDot>(converter, patterns.getContext(), lanes);
}
