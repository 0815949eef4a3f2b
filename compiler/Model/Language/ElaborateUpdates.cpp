// Replaces the optimizer's text by functions and states:
//
//   heddle.optimizer "mine.weft" {text = "update(w, g) with m = zeros(w) { ... }", ...}
//   heddle.variable @query weight : tensor<8x4xf32>
// =>
//   heddle.variable @query weight : tensor<8x4xf32> {heddle.update = @update.0}
//   heddle.variable @optimizer.m.query optimizer_state : tensor<8x4xf32>
//   func.func private @update.0(%w: tensor<8x4xf32>, %g: ..., %m: ..., %rate: tensor<1xf32>, %step: ...) -> (..., ...)
#include "compiler/Model/Language/Passes.h"

#include "compiler/Model/Language/ModelText.h"
#include "compiler/Model/Language/WeightRoles.h"
#include "dialects/Heddle/VariableRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

namespace mlir::heddle {
#define GEN_PASS_DEF_ELABORATEUPDATESPASS
#include "compiler/Model/Language/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

llvm::StringMap<StringRef> language::findWeightRoles(ModuleOp module) {
  llvm::StringMap<StringRef> roles;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.isWeight())
      roles[variable.getSymName()] = variable.getTensorType().getRank() == 1 ? "vector" : "matrix";
  auto mark = [&](Value value, StringRef role) {
    auto read = value.getDefiningOp<ReadOp>();
    if (auto found = read ? roles.find(read.getVariable()) : roles.end();
        found != roles.end() && found->second != "vector")
      if (found->second != "embedding")
        found->second = role;
  };
  module.walk([&](EmbeddingOp op) { mark(op.getTable(), "embedding"); });
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.getSymName() != "logits" || function.isExternal())
      continue;
    // The logits are a matmul, perhaps with a bias, a scale or a soft cap.
    SmallVector<Value> open(function.getBody().front().getTerminator()->getOperands().take_front(1));
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (auto product = dyn_cast_or_null<MatmulOp>(op))
        mark(product.getRhs(), "head");
      else if (op && isElementwise(op) && !isa<EmbeddingOp>(op))
        llvm::append_range(open, op->getOperands());
    }
  }
  return roles;
}

llvm::StringMap<int64_t> language::findMatricesOfExperts(ModuleOp module) {
  llvm::StringMap<int64_t> matrices;
  module.walk([&](GroupedMatmulOp op) {
    if (auto read = op.getRhs().getDefiningOp<ReadOp>())
      matrices[read.getVariable()] = op.getGroups();
  });
  return matrices;
}

namespace {

class ElaborateUpdatesPass : public mlir::heddle::impl::ElaborateUpdatesPassBase<ElaborateUpdatesPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    auto optimizers = llvm::to_vector(getOperation().getOps<OptimizerOp>());
    if (optimizers.empty())
      return;
    if (optimizers.size() > 1) {
      optimizers[1].emitOpError("is a second optimizer of the module; remove either");
      return signalPassFailure();
    }
    if (steps && isTrained() && failed(elaborate(optimizers.front())))
      return signalPassFailure();
    optimizers.front().erase();
  }

private:
  /// Packed weights and weights of 16 bits are not trained.
  bool isTrained() {
    return llvm::none_of(getOperation().getOps<VariableOp>(), [](VariableOp variable) {
      return variable.getKind() == VariableKind::Weight &&
             (variable.getRole() == VariableRole::Scales || !variable.getTensorType().getElementType().isF32());
    });
  }

  LogicalResult elaborate(OptimizerOp optimizer) {
    FailureOr<language::ModelText> text =
        language::ModelText::readOptimizer(&getContext(), optimizer.getFile(), optimizer.getText());
    if (failed(text))
      return failure();
    FailureOr<language::Settings> values = readValues(optimizer);
    if (failed(values) || failed(text->setParameters(*values)))
      return failure();
    for (const auto &parameter : text->getParameters())
      (*values)[parameter.getKey()] = parameter.getValue();
    double decay = 0;
    getOperation().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op).Case<TrainingOp, MinimizeOp, ApplyOp>(
          [&](auto step) { decay = step.getWeightDecay() ? step.getWeightDecay()->convertToDouble() : 0; });
    });
    llvm::StringMap<StringRef> roles = language::findWeightRoles(getOperation());
    llvm::StringMap<int64_t> matrices = language::findMatricesOfExperts(getOperation());
    for (auto variable : llvm::make_early_inc_range(getOperation().getOps<VariableOp>())) {
      if (variable.getKind() != VariableKind::Weight || variable.getRole())
        continue;
      RankedTensorType type = variable.getTensorType();
      language::UpdatedWeight weight{variable.getSymName().str(), llvm::to_vector(type.getShape()),
                                     roles.lookup(variable.getSymName()), decay};
      if (auto found = matrices.find(variable.getSymName()); found != matrices.end())
        weight.matrices = found->second;
      if (type.getRank() != 2 || variable->hasAttr(kNoDecayAttrName)) // as the fused Adam does
        weight.weightDecay = 0;
      // Weights of one shape and role share a function.
      func::FuncOp &function =
          functions[{type.getAsOpaquePointer(), weight.role.str(), weight.weightDecay, weight.matrices}];
      if (!function) {
        std::string name = "update." + std::to_string(functions.size() - 1);
        if (failed(text->elaborateUpdate(getOperation(), name, weight, *values)))
          return failure();
        function = getOperation().lookupSymbol<func::FuncOp>(name);
      }
      variable->setAttr(kUpdateAttrName, FlatSymbolRefAttr::get(function));
      addStates(variable, function);
    }
    return success();
  }

  /// Returns the values of the names that the text reads.
  FailureOr<language::Settings> readValues(OptimizerOp optimizer) {
    language::Settings values;
    LocationAttr where = optimizer.getLoc();
    for (NamedAttribute entry : optimizer.getParameters()) {
      language::Setting &setting = values[entry.getName()];
      setting.where = where;
      Attribute value = entry.getValue();
      if (auto flag = dyn_cast<BoolAttr>(value))
        setting.value = flag.getValue();
      else if (auto whole = dyn_cast<IntegerAttr>(value))
        setting.value = whole.getInt();
      else if (auto number = dyn_cast<FloatAttr>(value))
        setting.value = number.getValueAsDouble();
      else if (auto string = dyn_cast<StringAttr>(value))
        setting.value = string.str();
      else if (auto list = dyn_cast<DenseF64ArrayAttr>(value))
        setting.value = std::vector<double>(list.asArrayRef().begin(), list.asArrayRef().end());
      else
        return optimizer.emitOpError() << "has the parameter " << entry.getName() << " = " << value
                                       << ", which is no number, string, flag or list of numbers";
    }
    return values;
  }

  /// Declares the weight's states: the arguments of its function between the gradient and the rate.
  void addStates(VariableOp weight, func::FuncOp function) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(weight);
    auto start = StartAttr::get(&getContext(), StartKind::Constant, builder.getF64FloatAttr(0));
    for (unsigned i = 2; i + 2 < function.getNumArguments(); ++i) {
      auto name = function.getArgAttrOfType<StringAttr>(i, "heddle.name");
      VariableOp::create(builder, weight.getLoc(), getStateName(name, weight.getSymName()),
                         VariableKind::OptimizerState, cast<RankedTensorType>(function.getArgumentTypes()[i]), start);
    }
  }

  // By type, role, decay and matrices.
  std::map<std::tuple<const void *, std::string, double, int64_t>, func::FuncOp> functions;
};

} // namespace
