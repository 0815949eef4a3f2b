#include "compiler/Pipeline/Passes.h"
#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Target/Backend.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_VERIFYPHASEPASS
#include "compiler/Pipeline/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

using Rule = bool (*)(Operation *op);

bool isInDialect(Operation *op, ArrayRef<StringRef> dialects) {
  return llvm::is_contained(dialects, op->getName().getDialectNamespace());
}

bool isDerivative(Operation *op) { return isa<MinimizeOp, AccumulateOp, ApplyOp>(op); }
bool isSymbol(Operation *op) { return isa<ModuleOp, SizeOp, VariableOp>(op); }
bool isView(Operation *op) { return isa<SliceOp, ReshapeOp, ConcatOp, EmptyOp, ReplaceFirstOp>(op); }

/// Ops of a graph on tensors that is not yet split into kernels.
bool isGraph(Operation *op) {
  return isInDialect(op, {"builtin", "func", "heddle", "arith", "math"}) && !isa<KernelOp>(op);
}

bool isModelFunction(Operation *op) { return isa<func::FuncOp>(op) && op->hasAttr("heddle.model"); }

/// Ops of entries. Phase `derive` has replaced tasks, training and model functions by entries.
bool isGraphOfEntries(Operation *op) { return isGraph(op) && !isa<TaskOp, TrainingOp>(op) && !isModelFunction(op); }

bool isDifferentiatedGraph(Operation *op) { return isGraphOfEntries(op) && !isDerivative(op); }

/// The update of a sharded state is a kernel before the others are cut.
bool isPreparedGraph(Operation *op) {
  auto kernel = dyn_cast<KernelOp>(op);
  return kernel ? kernel.getSharded() : isDifferentiatedGraph(op);
}

/// Ops on tensors are only legal in kernels.
bool isFused(Operation *op) {
  if (isDerivative(op))
    return false;
  if (op->getParentOfType<KernelOp>())
    return isInDialect(op, {"heddle", "arith", "math"}) && !isa<KernelOp>(op);
  return isSymbol(op) || isView(op) || isCollective(op) ||
         isa<func::FuncOp, func::ReturnOp, ReadOp, WriteOp, RepeatOp, KernelOp>(op) ||
         (isa<YieldOp>(op) && isa<RepeatOp>(op->getParentOp()));
}

bool isLaunching(Operation *op) {
  return isSymbol(op) || isView(op) || isCollective(op) ||
         isa<func::FuncOp, func::ReturnOp, ReadOp, WriteOp, RepeatOp, tile::LaunchOp>(op) ||
         (isa<YieldOp>(op) && isa<RepeatOp>(op->getParentOp()));
}

bool isTiled(Operation *op) {
  if (op->getParentOfType<tile::FuncOp>())
    return isInDialect(op, {"tile", "arith", "math", "scf", "memref", "gpu", "vector"});
  return isLaunching(op) || isa<tile::FuncOp>(op);
}

bool isLaidOut(Operation *op) {
  return isTiled(op) && (!op->getParentOfType<tile::FuncOp>() || tile::haveLayouts(op->getResultTypes()));
}

bool isKernelCode(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return llvm::any_of(
      getBackends(), [&](const Backend *backend) { return llvm::is_contained(backend->getKernelDialects(), dialect); });
}
bool isLowered(Operation *op) { return isLaunching(op) || isKernelCode(op); }
bool isPlanned(Operation *op) { return isSymbol(op) || isKernelCode(op) || isInDialect(op, {"plan"}); }

/// Returns the predicate for ops that are legal after a phase.
Rule getRule(Phase phase) {
  switch (phase) {
  case Phase::Import:
    return isGraph;
  case Phase::Derive:
  case Phase::FuseAttention:
    return isGraphOfEntries;
  case Phase::Differentiate:
    return isDifferentiatedGraph;
  case Phase::Prepare:
    return isPreparedGraph;
  case Phase::Fuse:
    return isFused;
  case Phase::Tile:
    return isTiled;
  case Phase::Layout:
    return isLaidOut;
  case Phase::Lower:
    return isLowered;
  case Phase::Plan:
  case Phase::Emit:
    return isPlanned;
  }
  llvm_unreachable("unknown phase");
}

class VerifyPhasePass : public mlir::heddle::impl::VerifyPhasePassBase<VerifyPhasePass> {
public:
  using Base::Base;
  VerifyPhasePass() = default;
  explicit VerifyPhasePass(Phase phase) { name = getPhase(phase).name.str(); }

  void runOnOperation() override {
    std::optional<Phase> phase = parsePhase(name);
    if (!phase) {
      getOperation().emitError() << "there is no phase '" << name << "'";
      return signalPassFailure();
    }
    Rule isLegal = getRule(*phase);
    WalkResult found = getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isLegal(op))
        return WalkResult::advance();
      report(op);
      return WalkResult::interrupt();
    });
    if (found.wasInterrupted() || failed(verify(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  void report(Operation *op) {
    op->emitError() << "'" << op->getName() << "' is not legal after phase '" << name << "'";
  }
};

} // namespace

std::unique_ptr<Pass> mlir::heddle::createVerifyPhasePass(Phase phase) {
  return std::make_unique<VerifyPhasePass>(phase);
}
