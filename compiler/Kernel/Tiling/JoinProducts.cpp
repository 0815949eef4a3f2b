// Matmuls of the same shape share a launch on tensor cores. Its workgroups choose the memory of their operands.
//
// The projections of an attention's input to queries, keys and values read the same rows. One launch reads them once:
//
//   q = matmul x, a + ...                          q, k = (matmul x, a + ...), (matmul x, b + ...)
//   k = matmul x, b + ...                   =>
//
// The gradients of an attention's weights have few tiles each, and each tile contracts all tokens. A launch of several
// has tiles for all processors, and so needs no partial results (heddle-split-kernels). It runs where the last of them
// ran. Epilogues become kernels of their own behind it, because all of them need more addresses than a launch has:
//
//   V, ... = adam (matmul a, b), W, ...            y, z = matmul a, b; matmul c, d
//   ...                                     =>     V, ... = adam y, W, ...
//   X, ... = adam (matmul c, d), U, ...            X, ... = adam z, U, ...
#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Kernel/Tiling/RowVariants.h"
#include "compiler/Kernel/Tiling/SeparateProduct.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_JOINPRODUCTSPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The number of kernels after which a gradient no longer waits for others, so that its operands are not kept for long:
/// about one layer's backward pass. Projections of one attention follow each other.
constexpr int64_t kLongestWait = 64, kNearby = 4;

/// A kernel, and its matmul.
struct Member {
  KernelOp kernel;
  MatmulOp product;
  int64_t place; // the number of kernels before it

  Value inputOf(Value argument) { return kernel.getInputs()[cast<BlockArgument>(argument).getArgNumber()]; }
  Block &body() { return kernel.getBody().front(); }
};

class JoinProductsPass : public mlir::heddle::impl::JoinProductsPassBase<JoinProductsPass> {
public:
  using Base::Base;
  JoinProductsPass() = default;
  explicit JoinProductsPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    if (profile->processors == 0 || profile->tensor.cooperative)
      return;
    maxima = getSizeMaxima(getOperation());
    // Calls of decoding have few rows, for which the kernels of a lone matmul are better.
    DenseSet<Operation *> ofDecoding = findEntriesOfDecoding(getOperation());
    SetVector<Block *> blocks;
    getOperation().walk([&](KernelOp kernel) {
      if (!ofDecoding.contains(kernel->getParentOfType<func::FuncOp>()))
        blocks.insert(kernel->getBlock());
    });
    for (Block *block : blocks) {
      joinProjections(findMembers(*block));
      joinGradients(findMembers(*block));
    }
    if (failed(countAll()))
      signalPassFailure();
  }

private:
  /// Finds the kernels whose only anchor is a matmul on tensor cores.
  SmallVector<Member> findMembers(Block &block) const {
    SmallVector<Member> members;
    for (auto [place, kernel] : llvm::enumerate(block.getOps<KernelOp>()))
      if (MatmulOp product = kernel.getSharded() ? MatmulOp() : findTensorProduct(kernel, *profile);
          product && llvm::hasSingleElement(kernel.getBody().front().getOps<MatmulOp>()))
        members.push_back({kernel, product, static_cast<int64_t>(place)});
    return members;
  }

  /// Returns true if something before `place` needs the member's results.
  static bool isNeededBefore(Member member, Operation *place) {
    return llvm::any_of(member.kernel->getUsers(), [&](Operation *user) {
      Operation *here = place->getBlock()->findAncestorOpInBlock(*user);
      return !here || here->isBeforeInBlock(place);
    });
  }

  //===-- Projections -----------------------------------------------------------------------------------------===//

  void joinProjections(SmallVector<Member> members) {
    while (members.size() > 1) {
      SmallVector<Member> alike{members.front()}, rest;
      bool isRun = true; // false from the first kernel on that needs one of `alike` or is too far away
      for (Member member : ArrayRef(members).drop_front()) {
        auto isNeeded = [&](Member each) { return isNeededBefore(each, member.kernel); };
        isRun &= member.place - alike.front().place <= kNearby && llvm::none_of(alike, isNeeded);
        if (isRun && isSibling(alike.front(), member) && fits(alike, member))
          alike.push_back(member);
        else
          rest.push_back(member);
      }
      if (alike.size() > 1 &&
          mayShareLaunch(*profile, describeProduct(alike.front().product, maxima), static_cast<int64_t>(alike.size())))
        joinWhole(alike);
      members = std::move(rest);
    }
  }

  /// Returns true if both kernels do the same with the same left operand.
  static bool isSibling(Member a, Member b) {
    return a.inputOf(a.product.getLhs()) == b.inputOf(b.product.getLhs()) && a.kernel.getNumResults() == 1 &&
           a.kernel.getName() == b.kernel.getName() &&
           OperationEquivalence::isRegionEquivalentTo(&a.kernel.getBody(), &b.kernel.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  }

  /// Returns true if the kernel of all of them has addresses for their operands, their results and a size.
  bool fits(ArrayRef<Member> members, Member another) const {
    constexpr size_t sizes = 1;
    SetVector<Value> inputs(another.kernel->operand_begin(), another.kernel->operand_end());
    for (Member member : members)
      inputs.insert_range(member.kernel->getOperands());
    return inputs.size() + members.size() + 1 + sizes <= static_cast<size_t>(profile->limits.bindings);
  }

  void joinWhole(ArrayRef<Member> members) {
    auto all = [](Member member) {
      return llvm::map_to_vector(member.body().without_terminator(), [](Operation &op) { return &op; });
    };
    auto result = [](Member member) { return member.body().getTerminator()->getOperand(0); };
    Member first = members.front();
    StringRef name = first.kernel.getName();
    name.consume_front("matmul");
    KernelOp joined = join(members, ("matmuls" + name).str(), all, result);
    for (auto [member, made] : llvm::zip_equal(members, joined.getResults())) {
      member.kernel->replaceAllUsesWith(ValueRange(made));
      member.kernel->erase();
    }
  }

  //===-- Gradients of weights --------------------------------------------------------------------------------===//

  void joinGradients(ArrayRef<Member> members) {
    llvm::MapVector<std::tuple<Type, Type, Attribute>, SmallVector<Member>> waiting; // by kind
    for (Member member : members) {
      MatmulOp product = member.product;
      if (!product.getTransposeLhs() || product.getTransposeRhs())
        continue;
      int64_t count = chooseProductsOfLaunch(*profile, describeProduct(product, maxima), mostProducts());
      if (count == 1)
        continue;
      SmallVector<Member> &alike =
          waiting[{product.getLhs().getType(), product.getRhs().getType(), product->getDiscardableAttrDictionary()}];
      llvm::erase_if(alike, [&](Member each) {
        return member.place - each.place > kLongestWait || isNeededBefore(each, member.kernel);
      });
      alike.push_back(member);
      if (static_cast<int64_t>(alike.size()) == count) {
        joinAlone(alike);
        alike.clear();
      }
    }
  }

  /// Each matmul has two operands and a result, and all have one size.
  int64_t mostProducts() const {
    constexpr int64_t sizes = 1, addresses = 3;
    return (profile->limits.bindings - sizes) / addresses;
  }

  void joinAlone(ArrayRef<Member> members) {
    auto alone = [](Member member) { return SmallVector<Operation *>{member.product}; };
    auto result = [](Member member) -> Value { return member.product.getResult(); };
    KernelOp joined = join(members, "matmuls", alone, result);
    OpBuilder builder(joined->getContext());
    builder.setInsertionPointAfter(joined);
    for (auto [each, made] : llvm::zip_equal(members, joined.getResults())) {
      Member member = each;
      KernelOp kernel = member.kernel;
      bool isCounted = kernel->hasAttr(kCostAttrName);
      if (llvm::hasSingleElement(member.body().without_terminator())) {
        kernel.replaceAllUsesWith(ValueRange(made));
      } else {
        KernelOp rest = separateProduct(builder, kernel, member.product, made, /*prefix=*/"",
                                        [](OpBuilder &, Value argument) { return argument; });
        if (isCounted)
          uncounted.push_back(rest);
      }
      kernel.erase();
    }
  }

  //===-- Both ------------------------------------------------------------------------------------------------===//

  /// Creates a kernel of some ops of each member, at the place of the last member. It has a result of each.
  KernelOp join(ArrayRef<Member> members, StringRef name, function_ref<SmallVector<Operation *>(Member)> opsOf,
                function_ref<Value(Member)> resultOf) {
    llvm::SetVector<Value> inputs;
    SmallVector<Type> types;
    SmallVector<Location> locations;
    for (Member member : members) {
      locations.push_back(member.product.getLoc());
      types.push_back(resultOf(member).getType());
      for (Operation *op : opsOf(member))
        for (Value operand : op->getOperands())
          if (isa<BlockArgument>(operand))
            inputs.insert(member.inputOf(operand));
    }
    OpBuilder builder(members.back().kernel);
    auto joined = KernelOp::create(builder, builder.getFusedLoc(locations), types, name, inputs.getArrayRef());
    Block *block = builder.createBlock(&joined.getBody());
    DenseMap<Value, Value> arguments;
    for (Value input : inputs)
      arguments[input] = block->addArgument(input.getType(), input.getLoc());
    SmallVector<Value> results;
    for (Member member : members) {
      IRMapping mapping;
      for (BlockArgument argument : member.body().getArguments())
        if (Value known = arguments.lookup(member.inputOf(argument)))
          mapping.map(argument, known);
      for (Operation *op : opsOf(member))
        builder.clone(*op, mapping);
      results.push_back(mapping.lookup(resultOf(member)));
    }
    YieldOp::create(builder, joined.getLoc(), results);
    if (members.front().kernel->hasAttr(kCostAttrName))
      uncounted.push_back(joined);
    return joined;
  }

  LogicalResult countAll() {
    for (KernelOp kernel : uncounted) {
      FailureOr<CostAttr> cost = CostCounter(getOperation()).count(kernel);
      if (failed(cost))
        return failure();
      kernel->setAttr(kCostAttrName, *cost);
    }
    uncounted.clear();
    return success();
  }

  const TargetProfile *profile = nullptr;
  SizeMaxima maxima;
  SmallVector<KernelOp> uncounted; // new kernels
};

} // namespace

std::unique_ptr<Pass> heddle::createJoinProductsPass(const TargetProfile &profile) {
  return std::make_unique<JoinProductsPass>(profile);
}
