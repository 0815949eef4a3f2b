// Two warpgroups take turns in attention's forward pass: one multiplies while the other computes softmax. A step's
// second product is computed beside the next step's first, so that all products fall into one turn. The second
// warpgroup is half a step behind.
//
//                                        wait; copy tile 1; ..p = softmax of dot Q, K[0]..
//                                        if (second warpgroup) wait
// for (j) {                              for (j from the second on) {
//   wait; copy tile j + 1                  wait; copy tile j + 1
//   s = dot Q, K[j]                ->      s = dot Q, K[j]; o' = dot o, p, V[j - 1]
//   ..p, r = softmax of s..                wait
//   o = dot (o * r), p, V[j]               ..p', r = softmax of s..; o = o' * r; p = p'
// }                                      }
//                                        if (first warpgroup) barrier
//                                        o = dot o, p, V[the last]
#include "compiler/Lanes/Passes.h"
#include "compiler/Lanes/Warpgroups.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_ALTERNATEWARPGROUPSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A loop of two products. The second one multiplies values that are computed from the first, and adds up the results.
struct Steps {
  WarpgroupDotOp scores, sum;
  WarpgroupWaitOp scoresDone, sumDone;
  arith::MulFOp rescale; // rescales the sum before the product is added; may be null
  Operation *round;      // rounds the second product's left operand to 16 bits
  unsigned position;     // of the sum among the loop's values

  /// Returns true if the op belongs to the second product, which is computed a step later.
  bool isOfSum(Operation *op) const { return op == sum || op == sumDone || op == rescale || op == round; }
};

WarpgroupWaitOp waitOf(WarpgroupDotOp product) {
  return product->hasOneUse() ? dyn_cast<WarpgroupWaitOp>(*product->user_begin()) : WarpgroupWaitOp();
}

/// Returns true if the ring that the product reads has one more tile than a step reads and copies. The warpgroup that
/// is behind still reads this tile.
bool hasSpareTile(scf::ForOp loop, WarpgroupDotOp product) {
  auto waits = loop.getBody()->getOps<WaitOp>();
  if (!llvm::hasSingleElement(waits))
    return false;
  int64_t columns = product.getType().getDimSize(1), ring = product.getRhs().getType().getDimSize(0);
  int64_t rows = product.getTransposeRhs() ? columns : static_cast<int64_t>(product.getDepth());
  return ring / rows >= static_cast<int64_t>((*waits.begin()).getPending()) + 3;
}

std::optional<Steps> findSteps(scf::ForOp loop) {
  SmallVector<WarpgroupDotOp> products(loop.getBody()->getOps<WarpgroupDotOp>());
  if (products.size() != 2)
    return std::nullopt;
  Steps steps{
      products[0], products[1], waitOf(products[0]), waitOf(products[1]), {}, products[1].getLhs().getDefiningOp(), 0};
  bool isOwned = isa<MemRefType>(steps.scores.getLhs().getType()) && steps.scores.getLhsRow() &&
                 matchPattern(steps.scores.getAccumulator(), m_AnyZeroFloat());
  if (!isOwned || !steps.scoresDone || !steps.sumDone || !isa_and_present<arith::TruncFOp>(steps.round) ||
      !steps.round->hasOneUse() || steps.round->getBlock() != loop.getBody() || !steps.sumDone->hasOneUse())
    return std::nullopt;
  // The sum goes from step to step, and may be rescaled before the product is added.
  Value before = steps.sum.getAccumulator();
  if (auto rescale = before.getDefiningOp<arith::MulFOp>(); rescale && rescale->getBlock() == loop.getBody()) {
    steps.rescale = rescale;
    before = rescale.getLhs();
  }
  auto argument = dyn_cast<BlockArgument>(before);
  if (!argument || argument.getOwner() != loop.getBody() || argument.getArgNumber() == 0 || !argument.hasOneUse())
    return std::nullopt;
  steps.position = argument.getArgNumber() - 1;
  bool isPassedOn = loop.getYieldedValues()[steps.position] == steps.sumDone.getResult();
  return isPassedOn ? std::optional(steps) : std::nullopt;
}

class AlternateWarpgroupsPass : public mlir::heddle::impl::AlternateWarpgroupsPassBase<AlternateWarpgroupsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    tile::FuncOp kernel = getOperation();
    if (static_cast<int64_t>(kernel.getWorkgroup()) != 2 * warpgroup * FragmentAttr::kLanes)
      return;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      bool isSpare = llvm::all_of(loop.getBody()->getOps<WarpgroupDotOp>(),
                                  [&](WarpgroupDotOp product) { return hasSpareTile(loop, product); });
      if (std::optional<Steps> steps = isSpare ? findSteps(loop) : std::nullopt)
        alternate(postpone(loop, *steps));
    }
  }

private:
  /// The values that a step leaves to the next: the loop's values without the sum, and the operands of the sum's
  /// product.
  struct Left {
    SmallVector<Value> values;  // null in the sum's place
    Value weights, row, factor; // unrounded; of the right operand; of `rescale`, or null
  };

  /// Emits a step at `counter` without its sum. Calls `startSum` once the first product has started.
  static Left makeStep(ImplicitLocOpBuilder &b, scf::ForOp loop, Steps steps, Value counter, ValueRange values,
                       function_ref<void()> startSum) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), counter);
    mapping.map(loop.getRegionIterArgs(), values);
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (steps.isOfSum(&op))
        continue;
      b.clone(op, mapping);
      if (&op == steps.scores)
        startSum();
    }
    Left left;
    for (auto [i, value] : llvm::enumerate(loop.getYieldedValues()))
      left.values.push_back(i == steps.position ? Value() : mapping.lookupOrDefault(value));
    left.weights = mapping.lookupOrDefault(steps.round->getOperand(0));
    left.row = mapping.lookupOrDefault(steps.sum.getRhsRow());
    if (steps.rescale)
      left.factor = mapping.lookupOrDefault(steps.rescale->getOperand(1));
    return left;
  }

  static Value startSum(ImplicitLocOpBuilder &b, Steps steps, Value sum, Value weights, Value row) {
    WarpgroupDotOp like = steps.sum;
    return WarpgroupDotOp::create(b, like.getType(), sum, weights, Value(), like.getRhs(), row, like.getDepth(),
                                  like.getTransposeLhs(), like.getTransposeRhs());
  }
  static Value waitFor(ImplicitLocOpBuilder &b, Value sum) {
    return WarpgroupWaitOp::create(b, sum.getType(), uint64_t(0), sum).getResult();
  }
  static Value rounded(ImplicitLocOpBuilder &b, Steps steps, Value weights) {
    return arith::TruncFOp::create(b, steps.round->getResult(0).getType(), weights);
  }

  /// Moves the second product to the next step. Returns the loop that replaces `loop`.
  static scf::ForOp postpone(scf::ForOp loop, Steps steps) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
    unsigned count = loop.getNumRegionIterArgs();
    // If there is no step, no tile is in shared memory.
    auto branch =
        scf::IfOp::create(b, loop.getResultTypes(), arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lower, upper),
                          /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loop.getInitArgs());

    b.setInsertionPointToStart(branch.thenBlock());
    Left first = makeStep(b, loop, steps, lower, loop.getInitArgs(), [] {});
    SmallVector<Value> given = first.values;
    given[steps.position] = loop.getInitArgs()[steps.position];
    if (first.factor)
      given[steps.position] = arith::MulFOp::create(b, given[steps.position], first.factor);
    llvm::append_range(given, ArrayRef<Value>{rounded(b, steps, first.weights), first.row});
    auto next = scf::ForOp::create(b, arith::AddIOp::create(b, lower, step), upper, step, given);
    next->setAttrs(loop->getAttrs());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(next.getBody());
      Value sum = next.getRegionIterArg(steps.position);
      Left left = makeStep(b, loop, steps, next.getInductionVar(), next.getRegionIterArgs().take_front(count), [&] {
        sum = startSum(b, steps, sum, next.getRegionIterArg(count), next.getRegionIterArg(count + 1));
      });
      sum = waitFor(b, sum);
      left.values[steps.position] = left.factor ? arith::MulFOp::create(b, sum, left.factor).getResult() : sum;
      llvm::append_range(left.values, ArrayRef<Value>{rounded(b, steps, left.weights), left.row});
      scf::YieldOp::create(b, left.values);
    }
    SmallVector<Value> results(next.getResults().take_front(count));
    results[steps.position] =
        waitFor(b, startSum(b, steps, results[steps.position], next.getResult(count), next.getResult(count + 1)));
    scf::YieldOp::create(b, results);
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
    return next;
  }

  /// Puts the second warpgroup half a step behind. Both meet twice per step: when one begins to multiply, the other has
  /// just finished.
  void alternate(scf::ForOp loop) const {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    Value own =
        heddle::findWarpgroup(b, gpu::ThreadIdOp::create(b, gpu::Dimension::x), 2 * warpgroup * FragmentAttr::kLanes);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    auto onlyIf = [&](arith::CmpIPredicate relation, function_ref<void()> make) {
      Value condition = arith::CmpIOp::create(b, relation, own, zero);
      auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      make();
    };
    // The second warpgroup's copies of the first tile must be complete when the first warpgroup begins.
    uint64_t pending = (*loop.getBody()->getOps<WaitOp>().begin()).getPending();
    onlyIf(arith::CmpIPredicate::ne, [&] { WaitOp::create(b, pending); });
    auto multiplied = *loop.getBody()->getOps<WarpgroupWaitOp>().begin();
    multiplied.setPending(0);
    b.setInsertionPointAfter(multiplied);
    WaitOp::create(b, pending);
    b.setInsertionPointAfter(loop);
    onlyIf(arith::CmpIPredicate::eq, [&] { gpu::BarrierOp::create(b); });
  }
};

} // namespace
