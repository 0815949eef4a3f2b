// Completes a module that is written by hand: inlines calls, turns constants into ops of the dialect, and declares the
// optimizer state of each weight. `heddle-derive-init` then makes its entry `init`.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_COMPLETEMODULEPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Replaces calls by the bodies of the called functions, and erases private functions that were called.
class CallInliner {
public:
  explicit CallInliner(ModuleOp module) : module(module) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(inlineCallsOf(function)))
        return failure();
    for (func::FuncOp callee : called)
      if (callee.isPrivate() && !callee->hasAttr(kModelFunction) && SymbolTable::symbolKnownUseEmpty(callee, module))
        callee.erase();
    return success();
  }

private:
  LogicalResult inlineCallsOf(func::FuncOp function) {
    if (isDone.contains(function))
      return success();
    inWork.insert(function);
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee.isExternal())
        return call.emitOpError() << "calls @" << call.getCallee() << ", which has no body to be inlined";
      if (inWork.contains(callee))
        return call.emitOpError() << "calls @" << call.getCallee() << ", which is being inlined: a function of a model "
                                  << "does not call itself; heddle.scan computes a step for each token";
      if (failed(inlineCallsOf(callee)))
        return failure();
      if (!called.insert(callee) && draws(callee))
        return call.emitOpError() << "calls @" << call.getCallee() << " a second time, whose random numbers would be "
                                  << "those of the first call; give each call a function with streams of its own";
      cloned += std::distance(callee.getBody().front().begin(), callee.getBody().front().end());
      if (cloned > kMostClones)
        return call.emitOpError() << "makes a model of more than " << kMostClones << " ops, by calls within calls";
      IRMapping mapping;
      mapping.map(callee.getArguments(), call.getOperands());
      OpBuilder builder(call);
      Block &body = callee.getBody().front();
      for (Operation &op : body.without_terminator())
        builder.clone(op, mapping);
      for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
        result.replaceAllUsesWith(mapping.lookupOrDefault(value));
      call.erase();
    }
    inWork.erase(function);
    isDone.insert(function);
    return success();
  }

  static constexpr int64_t kMostClones = int64_t(1) << 20;

  /// Returns true if ops of the function draw random numbers by their streams. Its own calls must be inlined.
  static bool draws(func::FuncOp function) {
    return function
        .walk([](Operation *op) {
          bool drops = llvm::TypeSwitch<Operation *, bool>(op)
                           .Case<DropoutOp, GumbelOp, RandomOp>([](auto) { return true; })
                           .Case([](AttentionOp attention) { return attention.getSeed() != nullptr; })
                           .Default(false);
          return drops ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  ModuleOp module;
  int64_t cloned = 0;
  llvm::SmallPtrSet<Operation *, 8> inWork, isDone;
  llvm::SmallSetVector<func::FuncOp, 8> called;
};

/// Replaces tensor constants whose elements are all equal.
void replaceConstants(ModuleOp module) {
  module.walk([](arith::ConstantOp constant) {
    auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
    auto type = elements ? dyn_cast<RankedTensorType>(elements.getType()) : RankedTensorType();
    if (!type || (!type.getElementType().isF32() && !type.getElementType().isInteger(32)))
      return; // later passes report types that kernels do not take
    OpBuilder builder(constant);
    Value fill = FillOp::create(builder, constant.getLoc(), constant.getType(), elements.getSplatValue<TypedAttr>());
    constant.getResult().replaceAllUsesWith(fill);
    constant.erase();
  });
}

/// Declares the state of the optimizers in the module's functions, unless it is declared already.
void addState(ModuleOp module) {
  Operation *optimizer = nullptr; // the first one
  bool averages = false, accumulates = false;
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<MinimizeOp, ApplyOp>([&](auto step) {
          optimizer = optimizer ? optimizer : op;
          averages |= step.getAverageDecay().has_value();
          accumulates |= isa<ApplyOp>(op);
        })
        .Case([&](AccumulateOp) { accumulates = true; });
  });
  if (!optimizer)
    return;
  if (VariableRoles(module).find(VariableRole::Steps) == VariableOp())
    addVariable(module, optimizer->getLoc(), VariableRole::Steps,
                RankedTensorType::get({1}, IntegerType::get(module.getContext(), 32)), 0, /*before=*/nullptr);
  addStateOfWeights(module, {.averages = averages, .accumulates = accumulates});
}

class CompleteModulePass : public mlir::heddle::impl::CompleteModulePassBase<CompleteModulePass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(CallInliner(module).run()))
      return signalPassFailure();
    replaceConstants(module);
    if (!ModelFunctions(module).task) // the training entries are derived later, with their state
      addState(module);
  }
};

} // namespace
