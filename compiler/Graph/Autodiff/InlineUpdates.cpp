// An optimizer's text becomes ordinary ops:
//
//   %w2, %m2 = update %w, %g with %m, %rate { ^(...): ... }   =>   the region's ops, on %w, %g, %m and %rate
#include "compiler/Graph/Autodiff/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_INLINEUPDATESPASS
#include "compiler/Graph/Autodiff/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class InlineUpdatesPass : public mlir::heddle::impl::InlineUpdatesPassBase<InlineUpdatesPass> {
public:
  void runOnOperation() override {
    SmallVector<UpdateOp> updates;
    getOperation().walk([&](UpdateOp update) { updates.push_back(update); });
    if (updates.empty())
      return;
    for (UpdateOp update : updates) {
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
    DominanceInfo dominance(getOperation());
    IRRewriter rewriter(&getContext());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace
