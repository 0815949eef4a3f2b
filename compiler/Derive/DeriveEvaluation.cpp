// What a model says of whole sequences: the logits of all tokens, and the vectors of an encoder alone.
#include "compiler/Derive/Derive.h"

#include "compiler/Derive/EntryBuilder.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DeriveEvaluationPass : public PassWrapper<DeriveEvaluationPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DeriveEvaluationPass)

  StringRef getArgument() const override { return "heddle-derive-evaluation"; }
  StringRef getDescription() const override { return "Make entries that compute a model's functions as they are"; }

  void runOnOperation() override {
    ModelFunctions model(getOperation());
    if (!model.task)
      return;
    if (model.hidden) {
      build("encode", {model.hidden, model.pooled}, {"hidden", "pooled"});
      if (model.logits)
        build("logits", {model.hidden, model.logits}, {"logits"});
    } else if (model.logits && (model.task.getLogitsEntry() || !model.isDecoded())) {
      build("logits", {model.memory, model.logits}, {"logits"});
    }
  }

private:
  void build(StringRef name, ArrayRef<func::FuncOp> functions, ArrayRef<StringRef> outputs) {
    EntryBuilder entry(getOperation(), name, getOperation().getLoc());
    for (func::FuncOp function : functions)
      if (function)
        entry.inlineFunction(function);
    for (StringRef output : outputs)
      if (Value value = entry.result(output))
        entry.output(output, value);
    entry.finish();
  }
};

} // namespace

std::unique_ptr<Pass> heddle::createDeriveEvaluationPass() { return std::make_unique<DeriveEvaluationPass>(); }
void heddle::registerDeriveEvaluationPass() { PassRegistration<DeriveEvaluationPass>(); }
