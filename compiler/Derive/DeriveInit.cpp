// The entry that gives every variable its first value. It comes last: by then all variables are declared.
#include "compiler/Derive/Passes.h"

#include "compiler/Derive/EntryBuilder.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVEINITPASS
#include "compiler/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DeriveInitPass : public mlir::heddle::impl::DeriveInitPassBase<DeriveInitPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ModelFunctions model(module);
    if (!model.task)
      return;
    int32_t stream = getNextStream(module);

    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(kModelFunction))
        function.erase();
    VariableOp step = VariableRoles(module).find(VariableRole::Steps);
    if (step && !model.training && SymbolTable::symbolKnownUseEmpty(step, module))
      step.erase(); // it was dropout's alone

    EntryBuilder entry(module, "init", model.task.getLoc());
    OpBuilder &b = entry.builder;
    Value seed = entry.read(getVariableName(VariableRole::Seed), RankedTensorType::get({2}, b.getI32Type()),
                            model.task.getLoc());
    for (auto variable : module.getOps<VariableOp>()) {
      if (variable.getKind() == VariableKind::Frozen) { // whose values come from a published model
        variable.removeStartAttr();
        continue;
      }
      std::optional<StartAttr> start = variable.getStart();
      if (!start && variable.getKind() == VariableKind::Weight) {
        variable.emitOpError() << "@" << variable.getSymName() << " is a weight and does not say how it starts";
        return signalPassFailure();
      }
      if (!start)
        continue; // the caller's: the seed
      RankedTensorType type = variable.getTensorType();
      double scale = start->getScale().getValueAsDouble();
      Value value;
      if (start->getKind() == StartKind::Constant) {
        Type element = type.getElementType();
        TypedAttr constant = isa<FloatType>(element)
                                 ? TypedAttr(b.getFloatAttr(element, scale))
                                 : TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(scale)));
        value = FillOp::create(b, variable.getLoc(), type, constant);
      } else {
        auto distribution = start->getKind() == StartKind::Normal ? Distribution::Normal : Distribution::Uniform;
        value = RandomOp::create(b, variable.getLoc(), type, seed, DistributionAttr::get(&getContext(), distribution),
                                 b.getF32FloatAttr(static_cast<float>(scale)), b.getI32IntegerAttr(stream++));
      }
      WriteOp::create(b, variable.getLoc(), variable.getSymName(), value);
      variable.removeStartAttr();
    }
    entry.finish();
    if (model.training)
      model.training.erase();
    model.task.erase();
  }
};

} // namespace
