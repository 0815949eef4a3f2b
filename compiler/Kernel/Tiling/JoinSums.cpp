// The gradients of a layer norm's gain and bias, and of the bias of the linear layer before it, are sums over rows that
// the norm's gradient kernel has at hand. That kernel makes partial sums of them, one row for each of its workgroups,
// and another kernel adds these up:
//
//   dx = layer_norm_grad g, x, ...                 dx, p = layer_norm_grad g, x, ...; partial_sums g : T x N -> G x N
//   b = sum rows g : T x N -> N             =>     b = sum rows p : G x N -> N
//
// Otherwise the sums would read all rows again.
#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_JOINSUMSPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class JoinSumsPass : public mlir::heddle::impl::JoinSumsPassBase<JoinSumsPass> {
public:
  using Base::Base;
  JoinSumsPass() = default;
  explicit JoinSumsPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    maxima = getSizeMaxima(getOperation());
    SmallVector<KernelOp> norms;
    getOperation().walk([&](KernelOp kernel) {
      if (groupsOf(kernel) > 1)
        norms.push_back(kernel);
    });
    for (KernelOp norm : norms)
      for (bool isJoined = true; isJoined;) {
        isJoined = false;
        for (KernelOp sums : findSums(norm))
          if (mayJoin(norm, sums)) {
            norm = join(norm, sums);
            isJoined = true;
            break;
          }
      }
    if (failed(countAll()))
      signalPassFailure();
  }

private:
  static LayerNormGradOp normOf(KernelOp kernel) {
    auto norms = kernel.getBody().front().getOps<LayerNormGradOp>();
    return norms.empty() ? LayerNormGradOp() : *norms.begin();
  }

  /// Returns the number of partial sums if the kernel is a layer norm's gradient that can make them; 0 otherwise.
  int64_t groupsOf(KernelOp kernel) const {
    LayerNormGradOp norm = normOf(kernel);
    if (!norm || profile->processors == 0 || !ownsWholeRows(*profile, typeOf(norm.getInput()).getDimSize(1)))
      return 0;
    FailureOr<Matrix> matrix = Matrix::of(typeOf(norm.getInput()));
    if (failed(matrix) || !matrix->isDynamic())
      return 0;
    // A lane holds sums of whole columns, which leaves registers for two workgroups per processor. Each subgroup adds up
    // at least a few rows, so that there are fewer partial sums than rows.
    constexpr int64_t workgroupsOfProcessor = 2, fewestRows = 4;
    int64_t groups = std::min(workgroupsOfProcessor * profile->processors,
                              maxima.lookup(matrix->size) / (fewestRows * profile->rows.subgroups));
    return groups < 1 ? 0 : static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(groups)));
  }

  /// Returns the kernels behind the norm's that read its operands or its results and compute only sums over rows.
  static SmallVector<KernelOp> findSums(KernelOp norm) {
    SetVector<Operation *> readers;
    for (Value value : llvm::concat<Value>(llvm::to_vector(norm.getInputs()), llvm::to_vector(norm.getResults())))
      for (Operation *user : value.getUsers())
        if (isa<KernelOp>(user) && user->getBlock() == norm->getBlock() && norm->isBeforeInBlock(user))
          readers.insert(user);
    SmallVector<KernelOp> sums;
    for (Operation *reader : readers)
      if (auto kernel = cast<KernelOp>(reader); sumsWholeRows(kernel, typeOf(normOf(norm).getInput())))
        sums.push_back(kernel);
    llvm::sort(sums, [](KernelOp a, KernelOp b) { return a->isBeforeInBlock(b); });
    return sums;
  }

  static bool sumsWholeRows(KernelOp kernel, RankedTensorType rows) {
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (isa<KernelOpInterface>(op) && !isa<SumOp>(op))
        return false;
    return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(), [&](Value result) {
      auto sum = result.getDefiningOp<SumOp>();
      return sum && !sum.getColumns() && sum->hasOneUse() && typeOf(sum.getInput()) == rows;
    });
  }

  /// Returns true if the norm's kernel can read what the sums need, and has arguments for it.
  bool mayJoin(KernelOp norm, KernelOp sums) const {
    llvm::SmallSetVector<Value, 16> inputs(norm.getInputs().begin(), norm.getInputs().end());
    for (Value input : sums.getInputs()) {
      Operation *producer = input.getDefiningOp();
      if (producer == norm)
        continue;
      if (producer && producer->getBlock() == norm->getBlock() && !producer->isBeforeInBlock(norm))
        return false;
      inputs.insert(input);
    }
    constexpr int64_t sizes = 1;
    auto arguments = static_cast<int64_t>(inputs.size() + norm.getNumResults() + sums.getNumResults()) + sizes;
    return arguments <= profile->limits.bindings;
  }

  /// Moves the sums to the norm's kernel, and returns it.
  KernelOp join(KernelOp norm, KernelOp sums) {
    OpBuilder builder(norm);
    Location loc = builder.getFusedLoc({norm.getLoc(), sums.getLoc()});
    int64_t groups = groupsOf(norm);
    Block &body = norm.getBody().front(), &added = sums.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    SmallVector<Value> inputs(norm.getInputs()), yielded(yield.getOperands());
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(sums.getInputs(), added.getArguments())) {
      if (input.getDefiningOp() == norm) {
        mapping.map(argument, yielded[cast<OpResult>(input).getResultNumber()]);
        continue;
      }
      auto known = llvm::find(inputs, input);
      if (known == inputs.end()) {
        mapping.map(argument, body.addArgument(input.getType(), argument.getLoc()));
        inputs.push_back(input);
      } else {
        mapping.map(argument, body.getArgument(known - inputs.begin()));
      }
    }
    builder.setInsertionPoint(yield);
    for (Operation &op : added.without_terminator())
      if (!isa<SumOp>(op))
        builder.clone(op, mapping);
    SmallVector<Type> types(norm.getResultTypes()), partial;
    for (Value result : added.getTerminator()->getOperands()) {
      auto sum = result.getDefiningOp<SumOp>();
      partial.push_back(RankedTensorType::get({groups, typeOf(sum).getDimSize(0)}, builder.getF32Type()));
      yielded.push_back(
          PartialSumsOp::create(builder, sum.getLoc(), partial.back(), mapping.lookupOrDefault(sum.getInput())));
    }
    yield->setOperands(yielded);
    llvm::append_range(types, partial);

    builder.setInsertionPoint(norm);
    StringRef name = norm.getName();
    auto joined =
        KernelOp::create(builder, loc, types, name.ends_with("_sums") ? name.str() : (name + "_sums").str(), inputs);
    joined.getBody().takeBody(norm.getBody());
    ValueRange partials = joined.getResults().drop_front(norm.getNumResults());
    builder.setInsertionPoint(sums);
    auto whole = KernelOp::create(builder, sums.getLoc(), sums.getResultTypes(), "sum", partials);
    Block *block = builder.createBlock(&whole.getBody());
    SmallVector<Value> totals;
    for (auto [value, type] : llvm::zip_equal(partials, sums.getResultTypes()))
      totals.push_back(SumOp::create(builder, sums.getLoc(), type, block->addArgument(value.getType(), sums.getLoc()),
                                     /*columns=*/false));
    YieldOp::create(builder, sums.getLoc(), totals);
    if (norm->hasAttr(kCostAttrName) || uncounted.remove(norm))
      uncounted.insert_range(ArrayRef<Operation *>{joined, whole});
    sums.replaceAllUsesWith(whole.getResults());
    sums.erase();
    norm.replaceAllUsesWith(joined.getResults().take_front(norm.getNumResults()));
    norm.erase();
    return joined;
  }

  LogicalResult countAll() {
    for (Operation *op : uncounted.takeVector()) {
      FailureOr<CostAttr> cost = CostCounter(getOperation()).count(cast<KernelOp>(op));
      if (failed(cost))
        return failure();
      op->setAttr(kCostAttrName, *cost);
    }
    return success();
  }

  const TargetProfile *profile = nullptr;
  SizeMaxima maxima;
  llvm::SetVector<Operation *> uncounted; // joined kernels
};

} // namespace

std::unique_ptr<Pass> heddle::createJoinSumsPass(const TargetProfile &profile) {
  return std::make_unique<JoinSumsPass>(profile);
}
