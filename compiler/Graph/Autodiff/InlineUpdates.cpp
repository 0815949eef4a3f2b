// An optimizer's text becomes ordinary ops:
//
//   %w2, %m2 = update %w, %g with %m, %rate { ^(...): ... }   =>   the region's ops, on %w, %g, %m and %rate
//
// An update that ranks share out becomes one kernel instead, so that each rank computes some rows of all results. Only
// its ops on single numbers stay outside.
#include "compiler/Graph/Autodiff/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_INLINEUPDATESPASS
#include "compiler/Graph/Autodiff/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

void inlineBody(UpdateOp update) {
  OpBuilder builder(update);
  Block &block = update.getBody().front();
  IRMapping mapping;
  mapping.map(block.getArguments(), update.getOperands());
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] : llvm::zip_equal(update.getResults(), block.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  update.erase();
}

void outline(UpdateOp update) {
  OpBuilder builder(update);
  Block &block = update.getBody().front();
  auto isNumber = [](Value value) { return cast<RankedTensorType>(value.getType()).getNumElements() == 1; };
  IRMapping outside; // from values of the region
  outside.map(block.getArguments(), update.getOperands());
  SetVector<Value> inputs;
  SmallVector<Operation *> body;
  for (Operation &op : block.without_terminator())
    if (llvm::all_of(op.getResults(), isNumber) && llvm::all_of(op.getOperands(), isNumber)) {
      builder.clone(op, outside);
    } else {
      body.push_back(&op);
      for (Value operand : op.getOperands())
        if (outside.contains(operand))
          inputs.insert(operand);
    }
  for (Value result : block.getTerminator()->getOperands()) // a state that does not change
    if (outside.contains(result))
      inputs.insert(result);
  SmallVector<Value> given;
  for (Value input : inputs)
    given.push_back(outside.lookup(input));
  auto kernel = KernelOp::create(builder, update.getLoc(), update.getResultTypes(), "update", given, /*sharded=*/true);
  Block *inner = builder.createBlock(&kernel.getBody());
  IRMapping within;
  for (Value input : inputs)
    within.map(input, inner->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : body)
    builder.clone(*op, within);
  SmallVector<Value> yielded;
  for (Value result : block.getTerminator()->getOperands())
    yielded.push_back(within.lookup(result));
  YieldOp::create(builder, update.getLoc(), yielded);
  update.replaceAllUsesWith(kernel.getResults());
  update.erase();
}

class InlineUpdatesPass : public mlir::heddle::impl::InlineUpdatesPassBase<InlineUpdatesPass> {
public:
  void runOnOperation() override {
    SmallVector<UpdateOp> updates;
    getOperation().walk([&](UpdateOp update) { updates.push_back(update); });
    if (updates.empty())
      return;
    for (UpdateOp update : updates)
      update.getSharded() ? outline(update) : inlineBody(update);
    DominanceInfo dominance(getOperation());
    IRRewriter rewriter(&getContext());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace
