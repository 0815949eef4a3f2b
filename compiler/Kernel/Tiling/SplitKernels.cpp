// Some kernels have too few workgroups, each of which runs a long loop. If the target expects a gain, the pass shares the
// loop among more workgroups, whose partial results a second kernel adds up, always in the same order.
//
// A sum over the rows has a workgroup for each strip of columns, which reads all rows. The ops that compute x stay with
// the first kernel:
//
//   b = sum rows x : T x N -> N                  =>      p = partial_sums x : T x N -> G x N
//                                                        b = sum rows p : G x N -> N
//
// A matmul on tensor cores has a workgroup for each tile of its result. A weight's gradient has few tiles, and each
// tile contracts all tokens. The matmul becomes the first kernel, and its epilogue stays with the sum:
//
//   y = matmul a, b : M x K, K x N -> M x N      =>      p = partial_products a, b : M x K, K x N -> M x G x N
//   z = f(y)                                             y = sum_parts p : M x G x N -> M x N
//                                                        z = f(y)
#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/SeparateProduct.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace mlir::heddle {
#define GEN_PASS_DEF_SPLITKERNELSPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class SplitKernelsPass : public mlir::heddle::impl::SplitKernelsPassBase<SplitKernelsPass> {
public:
  using Base::Base;
  SplitKernelsPass() = default;
  explicit SplitKernelsPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    maxima = getSizeMaxima(getOperation());
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      std::pair<KernelOp, KernelOp> halves;
      if (int64_t groups = groupsOf(kernel); groups > 1)
        halves = splitSums(kernel, groups);
      else if (MatmulOp product = findTensorProduct(kernel, *profile); product && partsOf(product) > 1)
        halves = splitProduct(kernel, product, partsOf(product));
      else
        continue;
      kernel.replaceAllUsesWith(halves.second.getResults());
      bool isCounted = kernel->hasAttr(kCostAttrName);
      kernel.erase();
      if (isCounted && (failed(count(halves.first)) || failed(count(halves.second))))
        return signalPassFailure();
    }
  }

private:
  /// Returns the number of partial sums. Returns 1 if splitting the kernel does not pay, or if it computes anything but
  /// sums of rows.
  int64_t groupsOf(KernelOp kernel) const {
    constexpr int64_t fewest = 8; // less is not worth a launch
    std::optional<Matrix> matrix;
    for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
      auto sum = result.getDefiningOp<SumOp>();
      if (!sum || sum.getColumns() || !sum->hasOneUse())
        return 1;
      FailureOr<Matrix> rows = Matrix::of(typeOf(sum.getInput()));
      if (failed(rows)) // the tile pass reports that
        return 1;
      matrix = *rows;
    }
    if (!matrix)
      return 1;
    int64_t rows = matrix->isDynamic() ? maxima.lookup(matrix->size) : matrix->rows;
    constexpr int64_t fewRows = 512; // as many as heddle-join-sums leaves: a launch takes longer
    if (rows <= fewRows && (!matrix->isDynamic() || addsPartialSums(kernel)))
      return 1;
    int64_t strips = llvm::divideCeil(matrix->columns, profile->lanes * profile->vector);
    // With as many groups as each group has rows, neither kernel takes longer than the other.
    auto balanced = static_cast<int64_t>(std::sqrt(static_cast<double>(rows)));
    int64_t groups = llvm::bit_floor<uint64_t>(std::min(balanced, profile->simt.parallelGroups / strips));
    return groups < fewest ? 1 : groups;
  }

  /// Returns true if another kernel has made partial sums, which this one adds up (heddle-join-sums).
  static bool addsPartialSums(KernelOp kernel) {
    return llvm::all_of(kernel.getInputs(), [](Value input) {
      auto maker = input.getDefiningOp<KernelOp>();
      return maker && maker.getBody()
                          .front()
                          .getTerminator()
                          ->getOperand(cast<OpResult>(input).getResultNumber())
                          .getDefiningOp<PartialSumsOp>();
    });
  }

  static std::pair<KernelOp, KernelOp> splitSums(KernelOp kernel, int64_t groups) {
    OpBuilder builder(kernel);
    SmallVector<Type> partial;
    for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
      auto sum = result.getDefiningOp<SumOp>();
      auto type = RankedTensorType::get({groups, typeOf(sum).getDimSize(0)}, builder.getF32Type());
      builder.setInsertionPoint(sum);
      auto sums = PartialSumsOp::create(builder, sum.getLoc(), type, sum.getInput());
      sum.replaceAllUsesWith(sums.getResult());
      sum.erase();
      partial.push_back(type);
    }
    builder.setInsertionPoint(kernel);
    auto first =
        KernelOp::create(builder, kernel.getLoc(), partial, "partial_" + kernel.getName().str(), kernel.getInputs());
    first.getBody().takeBody(kernel.getBody());
    auto second = KernelOp::create(builder, kernel.getLoc(), kernel.getResultTypes(), "sum", first.getResults());
    Block *block = builder.createBlock(&second.getBody());
    SmallVector<Value> sums;
    for (auto [value, type] : llvm::zip_equal(first.getResults(), kernel.getResultTypes())) {
      Value argument = block->addArgument(value.getType(), kernel.getLoc());
      sums.push_back(SumOp::create(builder, kernel.getLoc(), type, argument, /*columns=*/false));
    }
    YieldOp::create(builder, kernel.getLoc(), sums);
    return {first, second};
  }

  /// Returns the number of parts of the matmul's K dimension that the cost model (MatrixTile.h) chooses.
  int64_t partsOf(MatmulOp product) const { return choosePartsOfDepth(*profile, describeProduct(product, maxima)); }

  static std::pair<KernelOp, KernelOp> splitProduct(KernelOp kernel, MatmulOp product, int64_t parts) {
    OpBuilder builder(kernel);
    RankedTensorType type = product.getType();
    auto partial = RankedTensorType::get({type.getDimSize(0), parts, type.getDimSize(1)}, type.getElementType(),
                                         type.getEncoding());
    auto inputOf = [&](Value argument) { return kernel.getInputs()[cast<BlockArgument>(argument).getArgNumber()]; };

    auto first = KernelOp::create(builder, kernel.getLoc(), TypeRange(partial), "partial_matmul",
                                  ValueRange{inputOf(product.getLhs()), inputOf(product.getRhs())});
    Block *block = builder.createBlock(&first.getBody(), {}, {product.getLhs().getType(), product.getRhs().getType()},
                                       {product.getLoc(), product.getLoc()});
    auto products =
        PartialProductsOp::create(builder, product.getLoc(), partial, block->getArgument(0), block->getArgument(1),
                                  product.getTransposeLhs(), product.getTransposeRhs());
    products->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    YieldOp::create(builder, product.getLoc(), products.getResult());

    builder.setInsertionPoint(kernel);
    auto sumParts = [&](OpBuilder &inside, Value argument) -> Value {
      return SumPartsOp::create(inside, products.getLoc(), type, argument);
    };
    return {first, separateProduct(builder, kernel, product, first.getResult(0), "sum_parts", sumParts)};
  }

  LogicalResult count(KernelOp kernel) {
    FailureOr<CostAttr> cost = CostCounter(getOperation()).count(kernel);
    if (succeeded(cost))
      kernel->setAttr(kCostAttrName, *cost);
    return cost;
  }

  const TargetProfile *profile = nullptr;
  SizeMaxima maxima;
};

} // namespace

std::unique_ptr<Pass> heddle::createSplitKernelsPass(const TargetProfile &profile) {
  return std::make_unique<SplitKernelsPass>(profile);
}
