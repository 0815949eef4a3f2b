// A matmul on tensor cores gives a processor work for each tile of its result. A gradient of weights has few tiles, and
// each of them contracts all tokens. If the cost model (MatrixTile.h) expects a gain, the pass rewrites
//
//   y = matmul a, b : M x K, K x N -> M x N      =>      p = partial_products a, b : M x K, K x N -> M x G x N
//   z = f(y)                                             y = sum_parts p : M x G x N -> M x N
//                                                        z = f(y)
//
// The matmul becomes one kernel, and its epilogue and the sum another. The parts are always added up in the same order,
// so results do not change from run to run.
#include "compiler/Kernel/Tiling/SplitProducts.h"
#include "compiler/Kernel/Tiling/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Tiling.h"
#include "mlir/IR/Builders.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_SPLITPRODUCTSPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class SplitProductsPass : public mlir::heddle::impl::SplitProductsPassBase<SplitProductsPass> {
public:
  using Base::Base;
  SplitProductsPass() = default;
  explicit SplitProductsPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    if (profile->tensorSubgroups == 0)
      return;
    maxima = getSizeMaxima(getOperation());
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      if (MatmulOp product = productOf(kernel))
        if (int64_t parts = partsOf(product); parts > 1 && failed(split(kernel, product, parts)))
          return signalPassFailure();
  }

private:
  /// Finds a tensor-core matmul of two inputs of the kernel: the kernel's only anchor, or the deeper of two matmuls
  /// that it adds up. The other matmul then stays.
  static MatmulOp productOf(KernelOp kernel) {
    SmallVector<MatmulOp> products;
    for (Operation &op : kernel.getBody().front()) {
      if (!isa<KernelOpInterface>(op))
        continue;
      auto matmul = dyn_cast<MatmulOp>(op);
      if (!matmul || !hasTensorOperands(matmul, matmul.getLhs()))
        return {};
      products.push_back(matmul);
    }
    if (products.empty() || products.size() > 2)
      return {};
    auto depthOf = [](MatmulOp product) { return typeOf(product.getLhs()).getDimSize(1); };
    MatmulOp product = *llvm::max_element(products, [&](MatmulOp a, MatmulOp b) { return depthOf(a) < depthOf(b); });
    bool reads = isa<BlockArgument>(product.getLhs()) && isa<BlockArgument>(product.getRhs());
    return reads ? product : MatmulOp();
  }

  int64_t partsOf(MatmulOp product) const {
    auto extent = [&](RankedTensorType type, int dim) {
      return type.isDynamicDim(dim) ? maxima.lookup(getSizeName(type, dim)) : type.getDimSize(dim);
    };
    RankedTensorType lhs = typeOf(product.getLhs()), result = product.getType();
    return choosePartsOfDepth(*profile, {.m = extent(result, 0),
                                         .n = extent(result, 1),
                                         .k = extent(lhs, product.getTransposeLhs() ? 0 : 1),
                                         .bits = lhs.getElementTypeBitWidth()});
  }

  LogicalResult split(KernelOp kernel, MatmulOp product, int64_t parts) {
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

    // The rest of the kernel stays. The partial products replace the operands that nothing else reads.
    Block &body = kernel.getBody().front();
    BlockArgument argument = body.addArgument(partial, product.getLoc());
    builder.setInsertionPoint(product);
    auto sum = SumPartsOp::create(builder, product.getLoc(), type, argument);
    product.replaceAllUsesWith(sum.getResult());
    product.erase();
    SmallVector<Value> inputs(kernel.getInputs());
    inputs.push_back(first.getResult(0));
    for (unsigned i = body.getNumArguments(); i-- > 0;)
      if (body.getArgument(i).use_empty()) {
        body.eraseArgument(i);
        inputs.erase(inputs.begin() + i);
      }
    StringRef name = kernel.getName();
    name.consume_front("matmul");
    builder.setInsertionPoint(kernel);
    auto second =
        KernelOp::create(builder, kernel.getLoc(), kernel.getResultTypes(), ("sum_parts" + name).str(), inputs);
    second.getBody().takeBody(kernel.getBody());
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
  SizeMaxima maxima;
};

} // namespace

std::unique_ptr<Pass> heddle::createSplitProductsPass(const TargetProfile &profile) {
  return std::make_unique<SplitProductsPass>(profile);
}
