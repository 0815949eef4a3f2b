// The backward pass of an attention needs a number for each row of each head (heddle.attention_delta): the sum of its
// result times its result's gradient. A matmul makes this gradient, and its epilogue has whole heads at hand:
//
//   g = matmul a, b                                g, d = matmul a, b; attention_delta y, g
//   d = attention_delta y, g              =>
//
// Otherwise another launch would read the gradient again.
#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Kernel/Tiling/SeparateProduct.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_JOINDELTASPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class JoinDeltasPass : public mlir::heddle::impl::JoinDeltasPassBase<JoinDeltasPass> {
public:
  using Base::Base;
  JoinDeltasPass() = default;
  explicit JoinDeltasPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    if (profile->tensor.cooperative)
      return;
    maxima = getSizeMaxima(getOperation());
    SmallVector<std::pair<KernelOp, KernelOp>> pairs;
    getOperation().walk([&](KernelOp kernel) {
      if (KernelOp product = findProduct(kernel); product && fits(product, kernel))
        pairs.emplace_back(product, kernel);
    });
    for (auto [product, delta] : pairs)
      if (failed(join(product, delta)))
        return signalPassFailure();
  }

private:
  /// Returns the kernel of the matmul whose result is the gradient, if `kernel` computes only a delta and the matmul's
  /// epilogue has whole heads. Otherwise returns null.
  KernelOp findProduct(KernelOp kernel) const {
    Block &body = kernel.getBody().front();
    auto delta = dyn_cast_or_null<AttentionDeltaOp>(body.getTerminator()->getOperand(0).getDefiningOp());
    bool isAlone = delta && kernel.getNumResults() == 1 && llvm::all_of(body.without_terminator(), [&](Operation &op) {
                     return &op == delta || isa<arith::ExtFOp>(op);
                   });
    if (!isAlone)
      return {};
    Value gradient = delta.getGradient();
    if (auto widened = gradient.getDefiningOp<arith::ExtFOp>())
      gradient = widened.getIn();
    Value input = kernel.getInputs()[cast<BlockArgument>(gradient).getArgNumber()];
    auto maker = input.getDefiningOp<KernelOp>();
    MatmulOp product =
        maker && maker->getBlock() == kernel->getBlock() ? findTensorProduct(maker, *profile) : MatmulOp();
    if (!product || product.getTransposeLhs() ||
        product.getType().getShape() != delta.getGradient().getType().getShape())
      return {};
    // In f16, ptxas 13.0 moves a part of this epilogue in front of the last wgmma, and serialises all of them (C7514).
    if (profile->tensor.warpgroup > 0 && getElementTypeOrSelf(product.getLhs()).isF16())
      return {};
    TensorProduct described = describeProduct(product, maxima);
    int64_t columns = chooseTensorTile(*profile, described).columns,
            width = described.n / delta.getType().getDimSize(1);
    bool hasWholeHeads = columns % width == 0 && described.n % columns == 0;
    return hasWholeHeads && choosePartsOfDepth(*profile, described) == 1 ? maker : KernelOp();
  }

  /// Returns true if the matmul's kernel can read what the delta's reads, and has addresses for it.
  bool fits(KernelOp product, KernelOp delta) const {
    constexpr size_t sizes = 1;
    SetVector<Value> inputs(product->operand_begin(), product->operand_end());
    for (Value input : delta.getInputs()) {
      Operation *producer = input.getDefiningOp();
      if (producer == product)
        continue;
      if (producer && producer->getBlock() == product->getBlock() && !producer->isBeforeInBlock(product))
        return false;
      inputs.insert(input);
    }
    return inputs.size() + product.getNumResults() + delta.getNumResults() + sizes <=
           static_cast<size_t>(profile->limits.bindings);
  }

  /// Moves the delta to the matmul's kernel.
  LogicalResult join(KernelOp product, KernelOp delta) {
    OpBuilder builder(product);
    Block &body = product.getBody().front(), &added = delta.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    SmallVector<Value> inputs(product.getInputs()), yielded(yield.getOperands());
    SmallVector<Type> types(product.getResultTypes());
    llvm::append_range(types, delta.getResultTypes());
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(delta.getInputs(), added.getArguments())) {
      auto known = llvm::find(inputs, input);
      if (input.getDefiningOp() == product) {
        mapping.map(argument, yielded[cast<OpResult>(input).getResultNumber()]);
      } else if (known != inputs.end()) {
        mapping.map(argument, body.getArgument(known - inputs.begin()));
      } else {
        mapping.map(argument, body.addArgument(input.getType(), argument.getLoc()));
        inputs.push_back(input);
      }
    }
    builder.setInsertionPoint(yield);
    for (Operation &op : added.without_terminator())
      builder.clone(op, mapping);
    yielded.push_back(mapping.lookup(added.getTerminator()->getOperand(0)));
    yield->setOperands(yielded);
    builder.setInsertionPoint(product);
    auto joined = KernelOp::create(builder, builder.getFusedLoc({product.getLoc(), delta.getLoc()}), types,
                                   (product.getName() + "_delta").str(), inputs);
    joined.getBody().takeBody(product.getBody());
    bool isCounted = product->hasAttr(kCostAttrName);
    delta.replaceAllUsesWith(joined.getResults().take_back(1));
    delta.erase();
    product.replaceAllUsesWith(joined.getResults().drop_back(1));
    product.erase();
    if (!isCounted)
      return success();
    FailureOr<CostAttr> cost = CostCounter(getOperation()).count(joined);
    if (succeeded(cost))
      joined->setAttr(kCostAttrName, *cost);
    return cost;
  }

  const TargetProfile *profile = nullptr;
  SizeMaxima maxima;
};

} // namespace

std::unique_ptr<Pass> heddle::createJoinDeltasPass(const TargetProfile &profile) {
  return std::make_unique<JoinDeltasPass>(profile);
}
