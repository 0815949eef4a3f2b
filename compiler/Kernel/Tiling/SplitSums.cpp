// A sum over the rows has a workgroup for each strip of columns, which reads all rows one after the other. If there are
// many rows, and few strips for what the target runs at once, the pass rewrites
//
//   b = sum rows x : T x N -> N      =>      p = partial_sums x : T x N -> G x N
//                                            b = sum rows p : G x N -> N
//
// Each of the two is a kernel. The ops that compute x stay with the first.
#include "compiler/Kernel/Tiling/SplitSums.h"
#include "compiler/Kernel/Tiling/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Tiling.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <optional>

namespace mlir::heddle {
#define GEN_PASS_DEF_SPLITSUMSPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class SplitSumsPass : public mlir::heddle::impl::SplitSumsPassBase<SplitSumsPass> {
public:
  using Base::Base;
  SplitSumsPass() = default;
  explicit SplitSumsPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    SizeMaxima maxima = getSizeMaxima(getOperation());
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      if (int64_t groups = groupsOf(kernel, maxima); groups > 1 && failed(split(kernel, groups)))
        return signalPassFailure();
  }

private:
  /// Returns the number of partial sums. Returns 1 if splitting the kernel does not pay, or if it computes anything but
  /// sums of rows.
  int64_t groupsOf(KernelOp kernel, const SizeMaxima &maxima) const {
    constexpr int64_t fewest = 8; // less is not worth a launch
    std::optional<Matrix> matrix;
    for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
      auto sum = result.getDefiningOp<SumOp>();
      if (!sum || sum.getColumns() || !sum->hasOneUse())
        return 1;
      FailureOr<Matrix> rows = Matrix::of(cast<RankedTensorType>(sum.getInput().getType()));
      if (failed(rows)) // the tile pass reports that
        return 1;
      matrix = *rows;
    }
    if (!matrix)
      return 1;
    int64_t rows = matrix->isDynamic() ? maxima.lookup(matrix->size) : matrix->rows;
    int64_t strips = llvm::divideCeil(matrix->columns, profile->lanes * profile->vector);
    // With as many groups as each group has rows, neither kernel takes longer than the other.
    auto balanced = static_cast<int64_t>(std::sqrt(static_cast<double>(rows)));
    int64_t groups = llvm::bit_floor<uint64_t>(std::min(balanced, profile->parallelGroups / strips));
    return groups < fewest ? 1 : groups;
  }

  LogicalResult split(KernelOp kernel, int64_t groups) {
    OpBuilder builder(kernel);
    Block &body = kernel.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    SmallVector<Type> partial;
    for (Value result : yield.getValues()) {
      auto sum = result.getDefiningOp<SumOp>();
      auto type =
          RankedTensorType::get({groups, cast<RankedTensorType>(sum.getType()).getDimSize(0)}, builder.getF32Type());
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
    kernel.replaceAllUsesWith(second.getResults());
    bool isCounted = kernel->hasAttr(kCostAttrName);
    kernel.erase();
    return isCounted ? count({first, second}) : success();
  }

  LogicalResult count(ArrayRef<KernelOp> kernels) {
    CostCounter counter(getOperation());
    for (KernelOp kernel : kernels) {
      FailureOr<CostAttr> cost = counter.count(kernel);
      if (failed(cost))
        return failure();
      kernel->setAttr(kCostAttrName, *cost);
    }
    return success();
  }

  const TargetProfile *profile = nullptr;
};

} // namespace

std::unique_ptr<Pass> heddle::createSplitSumsPass(const TargetProfile &profile) {
  return std::make_unique<SplitSumsPass>(profile);
}
