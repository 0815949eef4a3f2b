#include "compiler/Graph/Autodiff/Passes.h"

#include "compiler/Graph/Autodiff/ArithGradients.h"
#include "compiler/Graph/Autodiff/Backward.h"
#include "compiler/Graph/Autodiff/Optimizer.h"
#include "compiler/Graph/Autodiff/ScanGradient.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "compiler/Graph/Autodiff/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DifferentiatePass : public mlir::heddle::impl::DifferentiatePassBase<DifferentiatePass> {
public:
  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerArithGradients(registry);
    registerScanGradient(registry);
  }
  void runOnOperation() override;
};

/// Erases dead ops after `last` (all dead ops if it is null). The forward pass stays as it was written.
void eraseDeadCode(Block &block, Operation *last) {
  SmallVector<Operation *> built;
  for (Operation *op = block.getTerminator(); op != last; op = op->getPrevNode())
    built.push_back(op);
  for (Operation *op : built)
    if (isOpTriviallyDead(op))
      op->erase();
}

bool isRoot(Operation *op) { return isa<MinimizeOp, AccumulateOp, ApplyOp>(op); }

/// Builds the backward pass of a loss, which is multiplied by the loss scale if `scaled`.
FailureOr<SmallVector<WeightGradient>> differentiate(Operation *root, Value loss, bool scaled, SymbolTable &symbols,
                                                     const VariableRoles &roles) {
  Value scale;
  if (scaled) {
    VariableOp variable = roles.find(root, VariableRole::LossScale, {}, loss.getType());
    if (!variable)
      return failure();
    OpBuilder builder(root);
    scale = buildRead(builder, root->getLoc(), variable);
  }
  return buildBackward(root, loss, scale, symbols);
}

LogicalResult differentiate(MinimizeOp op, SymbolTable &symbols, const VariableRoles &roles) {
  FailureOr<SmallVector<WeightGradient>> weights =
      differentiate(op, op.getLoss(), bool(op.getScaleIntervalAttr()), symbols, roles);
  if (failed(weights))
    return failure();
  FailureOr<Value> rate = buildOptimizerStep(op, OptimizerOptions::of(op), *weights, roles);
  if (failed(rate))
    return failure();
  op.replaceAllUsesWith(*rate);
  op.erase();
  return success();
}

LogicalResult differentiate(AccumulateOp op, SymbolTable &symbols, const VariableRoles &roles) {
  FailureOr<SmallVector<WeightGradient>> weights = differentiate(op, op.getLoss(), op.getScaled(), symbols, roles);
  if (failed(weights))
    return failure();
  OpBuilder builder(op), writes(op->getBlock()->getTerminator());
  for (WeightGradient weight : *weights) {
    VariableOp sum = roles.find(op, VariableRole::Gradient, weight.weight.getSymName(), weight.weight.getType());
    if (!sum)
      return failure();
    Value before = buildRead(builder, op.getLoc(), sum);
    Value after = addGradients(builder, op.getLoc(), before, weight.gradient);
    WriteOp::create(writes, op.getLoc(), FlatSymbolRefAttr::get(sum), after);
  }
  op.erase();
  return success();
}

LogicalResult differentiate(ApplyOp op, const VariableRoles &roles, ArrayRef<VariableOp> variables) {
  OpBuilder builder(op), writes(op->getBlock()->getTerminator());
  SmallVector<WeightGradient> weights;
  for (VariableOp weight : variables) {
    VariableOp sum = roles.find(VariableRole::Gradient, weight.getSymName());
    if (weight.getKind() != VariableKind::Weight || weight.getStorageAttr() || !sum) // a view's storage is updated
      continue;
    Value value = buildRead(builder, op.getLoc(), weight);
    weights.push_back({weight, value, buildRead(builder, op.getLoc(), sum)});
    Value zeros = FillOp::create(writes, op.getLoc(), sum.getTensorType(), builder.getF32FloatAttr(0));
    WriteOp::create(writes, op.getLoc(), FlatSymbolRefAttr::get(sum), zeros);
  }
  if (weights.empty())
    return op.emitOpError("finds no weight with a variable as gradient to apply");
  FailureOr<Value> rate = buildOptimizerStep(op, OptimizerOptions::of(op), weights, roles);
  if (failed(rate))
    return failure();
  op.replaceAllUsesWith(*rate);
  op.erase();
  return success();
}

void DifferentiatePass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  VariableRoles roles(module);
  auto variables = llvm::to_vector(module.getOps<VariableOp>());
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<Operation *> roots;
    function.walk([&](Operation *op) {
      if (isRoot(op))
        roots.push_back(op);
    });
    if (roots.empty())
      continue;
    Operation *root = roots.front();
    if (roots.size() > 1) {
      roots[1]->emitOpError("is a second root of differentiation in this function; split it into two entries");
      return signalPassFailure();
    }
    if (!function.getBody().hasOneBlock() || root->getParentOp() != function) {
      root->emitOpError("differentiates straight-line code only: a function of one block, itself at its top level");
      return signalPassFailure();
    }
    Operation *last = root->getPrevNode();
    LogicalResult done = TypeSwitch<Operation *, LogicalResult>(root)
                             .Case<MinimizeOp, AccumulateOp>([&](auto op) { return differentiate(op, symbols, roles); })
                             .Case<ApplyOp>([&](ApplyOp op) { return differentiate(op, roles, variables); });
    if (failed(done))
      return signalPassFailure();
    eraseDeadCode(function.getBody().front(), last);
  }
  for (VariableOp variable : variables)
    variable->removeAttr(kUpdateAttrName);
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function->hasAttr(kUpdateAttrName))
      function.erase();
  module.walk([](StopGradientOp stop) { // all gradients are built by now
    stop.replaceAllUsesWith(stop.getInput());
    stop.erase();
  });
}

} // namespace
