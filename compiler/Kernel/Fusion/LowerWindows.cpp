// A matmul of windows is a sum of matmuls of shifted rows, each with its own rows of the weight:
//
//   u = unfold x from -1 to 1                   y = unfold x from -1 to -1 @ W[0]
//   y = u @ W                           =>        + x @ W[1]
//                                                 + unfold x from 1 to 1 @ W[2]
//
// Shifted rows are read at their place in memory, and the sum is one kernel, so no window is ever in memory. The
// gradient of the rows is a sum of the same kind, because shifting rows commutes with multiplying them from the right:
//
//   dx = fold (g @ W^T)                 =>      dx = unfold g from 1 to 1 @ W[0]^T
//                                                 + g @ W[1]^T
//                                                 + unfold g from -1 to -1 @ W[2]^T
//
// The gradient of the weight is the gradients of its parts, one below the other. Tensor cores take operands only from
// memory. For them, and for readers other than matmuls, windows are written to memory.
#include "compiler/Kernel/Fusion/Passes.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERWINDOWSPASS
#include "compiler/Kernel/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Makes the ops that replace one op.
class Parts {
public:
  explicit Parts(Operation *op) : builder(op), where(op->getLoc()) {}

  Value moved(Value rows, Value positions, int64_t offset) {
    return offset == 0 ? rows
                       : UnfoldOp::create(builder, where, rows.getType(), rows, positions, offset, offset).getResult();
  }
  /// Part `number` of a weight: each part has `rows` rows.
  Value part(Value matrix, int64_t number, int64_t rows) {
    RankedTensorType type = typeOf(matrix);
    return SliceOp::create(builder, where, RankedTensorType::get({rows, type.getDimSize(1)}, type.getElementType()),
                           matrix, number * rows);
  }
  Value product(RankedTensorType type, Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
    return MatmulOp::create(builder, where, type, lhs, rhs, transposeLhs, transposeRhs);
  }
  Value plus(Value sum, Value addend) {
    return sum ? arith::AddFOp::create(builder, where, sum, addend).getResult() : addend;
  }

  OpBuilder builder;
  Location where;
};

/// Returns true if the matmul does not run on tensor cores, so that lanes may read the left operand anywhere.
bool isOfLanes(MatmulOp product) {
  return typeOf(product.getRhs()).getElementType().isF32() && !hasTensorOperands(product, product.getLhs()) &&
         product.getLhs() != product.getRhs();
}

struct LowerWindowsPass : mlir::heddle::impl::LowerWindowsPassBase<LowerWindowsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (products) {
      for (FoldOp fold : all<FoldOp>())
        lowerFold(fold);
      for (MatmulOp product : all<MatmulOp>())
        if (auto unfold = product.getLhs().getDefiningOp<UnfoldOp>(); unfold && isOfLanes(product))
          product.getTransposeLhs() ? lowerGradient(product, unfold) : lowerProduct(product, unfold);
    }
    for (UnfoldOp unfold : all<UnfoldOp>())
      takeApart(unfold);
  }

private:
  template <typename Op> SmallVector<Op> all() {
    SmallVector<Op> found;
    getOperation().walk([&](Op op) { found.push_back(op); });
    return found;
  }

  static int64_t countOf(UnfoldOp unfold) { return static_cast<int64_t>(unfold.getLast() - unfold.getFirst()) + 1; }

  void lowerProduct(MatmulOp product, UnfoldOp unfold) {
    if (product.getTransposeRhs() || countOf(unfold) == 1 || !typeOf(product.getRhs()).hasStaticShape())
      return;
    Parts parts(product);
    int64_t columns = typeOf(unfold.getInput()).getDimSize(1);
    Value sum;
    for (int64_t i = 0; i < countOf(unfold); ++i) {
      Value rows = parts.moved(unfold.getInput(), unfold.getPositions(), unfold.getFirst() + i);
      sum = parts.plus(sum,
                       parts.product(product.getType(), rows, parts.part(product.getRhs(), i, columns), false, false));
    }
    replace(product, sum);
  }

  /// x^T g, where x is windows: the gradients of the weight's parts, one below the other.
  void lowerGradient(MatmulOp product, UnfoldOp unfold) {
    if (product.getTransposeRhs() || countOf(unfold) == 1)
      return;
    Parts parts(product);
    auto type = RankedTensorType::get({typeOf(unfold.getInput()).getDimSize(1), product.getType().getDimSize(1)},
                                      product.getType().getElementType());
    SmallVector<Value> gradients;
    for (int64_t i = 0; i < countOf(unfold); ++i) {
      Value rows = parts.moved(unfold.getInput(), unfold.getPositions(), unfold.getFirst() + i);
      gradients.push_back(parts.product(type, rows, product.getRhs(), true, false));
    }
    replace(product, ConcatOp::create(parts.builder, parts.where, product.getType(), gradients));
  }

  void lowerFold(FoldOp fold) {
    auto product = fold.getInput().getDefiningOp<MatmulOp>();
    if (!product || !product->hasOneUse() || product.getTransposeLhs() || !product.getTransposeRhs() ||
        !isOfLanes(product) || !typeOf(product.getRhs()).hasStaticShape())
      return;
    Parts parts(fold);
    int64_t columns = typeOf(fold.getResult()).getDimSize(1);
    Value sum;
    for (int64_t offset = fold.getFirst(), i = 0; offset <= static_cast<int64_t>(fold.getLast()); ++offset, ++i) {
      Value rows = parts.moved(product.getLhs(), fold.getPositions(), -offset);
      sum = parts.plus(sum, parts.product(fold.getType(), rows, parts.part(product.getRhs(), i, columns), false, true));
    }
    replace(fold, sum);
    product.erase();
  }

  /// Makes windows in memory: shifted rows, joined side by side.
  void takeApart(UnfoldOp unfold) {
    if (unfold->use_empty())
      return unfold.erase();
    if (countOf(unfold) == 1)
      return;
    Parts parts(unfold);
    SmallVector<Value> rows;
    for (int64_t i = 0; i < countOf(unfold); ++i)
      rows.push_back(parts.moved(unfold.getInput(), unfold.getPositions(), unfold.getFirst() + i));
    replace(unfold, JoinOp::create(parts.builder, parts.where, unfold.getType(), rows));
  }

  static void replace(Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    op->erase();
  }
};

} // namespace
