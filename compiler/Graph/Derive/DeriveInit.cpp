// The entry that gives every variable its first value. It is derived last, when all variables are declared.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVEINITPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true if a module without a task gets an `init`: it has none, and all of its weights say how they start.
bool wantsInit(ModuleOp module) {
  bool isAnyWeight = false;
  for (auto variable : module.getOps<VariableOp>()) {
    if (variable.getKind() != VariableKind::Weight)
      continue;
    if (!variable.getStart())
      return false;
    isAnyWeight = true;
  }
  return isAnyWeight && !module.lookupSymbol("init");
}

class DeriveInitPass : public mlir::heddle::impl::DeriveInitPassBase<DeriveInitPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ModelFunctions model(module);
    if (!model.task && !wantsInit(module))
      return;
    if (model.task && failed(model.verify(StringRef("init"))))
      return signalPassFailure();
    Location where = model.task ? model.task.getLoc() : module.getLoc();
    int32_t stream = getNextStream(module);

    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(kModelFunction))
        function.erase();
    VariableOp step = VariableRoles(module).find(VariableRole::Steps);
    if (step && model.task && !model.training && SymbolTable::symbolKnownUseEmpty(step, module))
      step.erase(); // only dropout used it

    auto seedType = RankedTensorType::get({2}, IntegerType::get(&getContext(), 32));
    std::string seedName = getVariableName(VariableRole::Seed);
    if (!module.lookupSymbol(seedName)) {
      Operation *first = nullptr;
      if (auto variables = module.getOps<VariableOp>(); !variables.empty())
        first = *variables.begin();
      addVariable(module, where, VariableRole::Seed, seedType, 0, first);
      module.lookupSymbol<VariableOp>(seedName).removeStartAttr(); // the caller sets it
    }
    EntryBuilder entry(module, "init", where);
    OpBuilder &b = entry.builder;
    Value seed = entry.read(seedName, seedType, where);
    for (auto variable : module.getOps<VariableOp>()) {
      if (variable.getKind() == VariableKind::Frozen) { // its values come from a published model
        variable.removeStartAttr();
        continue;
      }
      std::optional<StartAttr> start = variable.getStart();
      if (!start && variable.getKind() == VariableKind::Weight) {
        variable.emitOpError() << "@" << variable.getSymName() << " is a weight and does not say how it starts";
        return signalPassFailure();
      }
      if (!start)
        continue; // the caller sets it: the seed
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
    if (model.task)
      model.task.erase();
  }
};

} // namespace
