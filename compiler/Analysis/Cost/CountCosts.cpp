#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Cost/Passes.h"

#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_COUNTCOSTSPASS
#include "compiler/Analysis/Cost/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

#include "compiler/Analysis/Cost/CostInterface.cpp.inc"

namespace {

class CountCostsPass : public mlir::heddle::impl::CountCostsPassBase<CountCostsPass> {
public:
  void runOnOperation() override {
    CostCounter counter(getOperation());
    WalkResult result = getOperation().walk([&](KernelOp kernel) {
      FailureOr<CostAttr> cost = counter.count(kernel);
      if (failed(cost))
        return WalkResult::interrupt();
      kernel->setAttr(kCostAttrName, *cost);
      return WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

/// Returns the matmul whose groups' matrices the use is, packed or not, or null.
static GroupedMatmulOp findGroups(OpOperand &use) {
  if (auto product = dyn_cast<GroupedMatmulOp>(use.getOwner()))
    return use.get() == product.getRhs() && !product.getTransposeLhs() ? product : GroupedMatmulOp();
  bool unpacks = isa<DequantizeOp, arith::ExtFOp>(use.getOwner()) && use.getOwner()->hasOneUse();
  return unpacks ? findGroups(*use.getOwner()->use_begin()) : GroupedMatmulOp();
}

CostCounter::CostCounter(ModuleOp module)
    : module(module), context(module.getContext()), maxima(getSizeMaxima(module)) {}

FailureOr<CostAttr> CostCounter::count(KernelOp kernel) {
  Amount flops, model, bytes;
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (auto costly = dyn_cast<CostOpInterface>(op)) {
      flops += costly.countFlops(*this);
      if (!op.hasAttr(kRecomputedAttrName))
        model += costly.countModelFlops(*this);
    } else if (isa<KernelOpInterface>(op)) {
      return op.emitError() << "'" << op.getName() << "' anchors a kernel and does not tell its cost (CostOpInterface)";
    } else if (!isa<HeddleDialect>(op.getDialect()) && !isa<arith::ConstantOp, arith::SelectOp>(op)) {
      for (Type type : op.getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && isa<FloatType>(tensor.getElementType()))
          flops += Amount::elements(tensor);
    }
  }
  for (BlockArgument argument : body.getArguments())
    bytes += bytesRead(argument);
  for (Value result : body.getTerminator()->getOperands()) {
    auto costly = dyn_cast_or_null<CostOpInterface>(result.getDefiningOp());
    bytes += costly ? costly.countBytesWritten(cast<OpResult>(result).getResultNumber(), *this)
                    : Amount::bytes(result.getType());
  }
  return CostAttr::get(context, flops.toTerms(context), model.toTerms(context), bytes.toTerms(context));
}

Amount CostCounter::groupsWithRows(GroupedMatmulOp product) {
  int64_t groups = product.getGroups();
  auto rows = cast<RankedTensorType>(product.getLhs().getType());
  if (!rows.isDynamicDim(0))
    return std::min(groups, rows.getDimSize(0));
  auto size = module.lookupSymbol<SizeOp>(getSizeName(rows, 0));
  bool isPart = size && size.getOfAttr() && getFactorOfSize(size.getSymName()).second == 1;
  if (!size || isPart || size.getFixed())
    return groups;
  if (static_cast<int64_t>(size.getMaximum()) <= groups)
    return Amount::extent(rows, 0);
  auto name = StringAttr::get(context, size.getSymName() + "_at_most_" + Twine(groups));
  if (!module.lookupSymbol(name)) {
    OpBuilder after(context);
    after.setInsertionPointAfter(size);
    SizeOp::create(after, size.getLoc(), name, groups, /*longest=*/StringAttr(), /*fixed=*/false,
                   size.getOfAttr() ? size.getOfAttr() : FlatSymbolRefAttr::get(size), /*from=*/0, /*within=*/false,
                   static_cast<int64_t>(size.getTimes()));
    maxima[name] = groups;
  }
  auto type =
      RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(context, 32), DimsAttr::get(context, name));
  return Amount::extent(type, 0);
}

/// Counts an operand once, however many ops use it. If all uses read only parts of it, their bytes are added up.
Amount CostCounter::bytesRead(BlockArgument argument) {
  Amount whole = Amount::bytes(argument.getType()), parts;
  for (OpOperand &use : argument.getUses()) {
    if (GroupedMatmulOp product = findGroups(use)) {
      auto type = cast<RankedTensorType>(argument.getType());
      parts +=
          groupsWithRows(product) * (type.getNumElements() / product.getGroups() * type.getElementTypeBitWidth() / 8);
      continue;
    }
    auto costly = dyn_cast<CostOpInterface>(use.getOwner());
    if (!costly)
      return whole;
    Amount part = costly.countBytesRead(use.getOperandNumber(), *this);
    if (part == whole)
      return whole;
    parts += part;
  }
  return parts;
}

StringRef CostCounter::entryInput(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  if (!kernel)
    return {};
  auto outer = dyn_cast<BlockArgument>(kernel.getInputs()[argument.getArgNumber()]);
  auto function = outer ? dyn_cast<func::FuncOp>(outer.getOwner()->getParentOp()) : func::FuncOp();
  auto name = function ? function.getArgAttrOfType<StringAttr>(outer.getArgNumber(), "heddle.name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

int64_t CostCounter::maximumOf(const Amount &amount) { return evaluateAtMaximum(amount.toTerms(context), maxima); }

Amount CostCounter::pairs(Value queryLengths, Value keyLengths, Type query, Type key, StringRef querySize,
                          StringRef keySize, Band band) {
  // The maximum length of a sequence is held by a size. Without a size each sequence has one row.
  auto longest = [&](StringRef size) {
    Amount amount = 1;
    if (!size.empty())
      amount = Amount::extent(RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(context, 32),
                                                    DimsAttr::get(context, {StringAttr::get(context, size)})),
                              0);
    return amount;
  };
  Amount sequences = Amount::extent(keyLengths.getType(), 0);
  Amount rectangle = sequences * longest(querySize) * longest(keySize);
  int64_t mostKeys = maximumOf(longest(keySize));
  if (band.below >= 0 && band.above >= 0)
    mostKeys = std::min(mostKeys, band.below + band.above + 1);
  int64_t mostQueries = queryLengths ? maximumOf(Amount::extent(query, 0)) : 1;
  int64_t most = queryLengths ? mostQueries * mostKeys : maximumOf(Amount::extent(key, 0));
  most = std::min(most, maximumOf(rectangle));

  StringRef queries = queryLengths ? entryInput(queryLengths) : StringRef(), keys = entryInput(keyLengths);
  if (keys.empty() || (queryLengths && queries.empty()))
    return rectangle;
  return PairsAttr::get(context, queries, keys, band.below, band.above, most);
}
