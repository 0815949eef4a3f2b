#include "compiler/Kernel/Tiling/SeparateProduct.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Analysis/Kernels/KernelInterfaces.h"

using namespace mlir;
using namespace mlir::heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

MatmulOp heddle::findTensorProduct(KernelOp kernel, const TargetProfile &profile) {
  Block &body = kernel.getBody().front();
  SmallVector<MatmulOp> products;
  for (Operation &op : body) {
    if (!isa<KernelOpInterface>(op))
      continue;
    auto matmul = dyn_cast<MatmulOp>(op);
    if (!matmul || !hasTensorOperands(matmul, matmul.getLhs()))
      return {};
    products.push_back(matmul);
  }
  auto isSummand = [](MatmulOp product) {
    return product->hasOneUse() && isa<arith::AddFOp>(*product->user_begin()) &&
           isSumOfProducts(*product->user_begin());
  };
  if (profile.tensor.subgroups == 0 || products.empty() || products.size() > 2 ||
      (products.size() == 2 && !llvm::all_of(products, isSummand)))
    return {};
  auto depthOf = [](MatmulOp product) { return typeOf(product.getLhs()).getDimSize(1); };
  MatmulOp product = *llvm::max_element(products, [&](MatmulOp a, MatmulOp b) { return depthOf(a) < depthOf(b); });
  bool reads = isa<BlockArgument>(product.getLhs()) && isa<BlockArgument>(product.getRhs());
  return reads ? product : MatmulOp();
}

TensorProduct heddle::describeProduct(MatmulOp product, const llvm::StringMap<int64_t> &maxima) {
  auto extent = [&](RankedTensorType type, int dim) {
    return type.isDynamicDim(dim) ? maxima.lookup(getSizeName(type, dim)) : type.getDimSize(dim);
  };
  RankedTensorType lhs = typeOf(product.getLhs()), result = product.getType();
  return {.m = extent(result, 0),
          .n = extent(result, 1),
          .k = extent(lhs, product.getTransposeLhs() ? 0 : 1),
          .bits = lhs.getElementTypeBitWidth()};
}

KernelOp heddle::separateProduct(OpBuilder &builder, KernelOp kernel, MatmulOp product, Value made, StringRef prefix,
                                 function_ref<Value(OpBuilder &, Value)> replace) {
  Block &body = kernel.getBody().front();
  BlockArgument argument = body.addArgument(made.getType(), product.getLoc());
  OpBuilder inside(product);
  product.replaceAllUsesWith(replace(inside, argument));
  product.erase();
  SmallVector<Value> inputs(kernel.getInputs());
  inputs.push_back(made);
  for (unsigned i = body.getNumArguments(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      inputs.erase(inputs.begin() + i);
    }
  StringRef name = kernel.getName();
  name.consume_front("matmul");
  if (prefix.empty())
    name.consume_front("_");
  auto rest = KernelOp::create(builder, kernel.getLoc(), kernel.getResultTypes(), (prefix + name).str(), inputs);
  rest.getBody().takeBody(kernel.getBody());
  kernel.replaceAllUsesWith(rest.getResults());
  return rest;
}
