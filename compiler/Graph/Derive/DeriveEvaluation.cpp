// Entries that compute whole sequences: the logits of all tokens, and the vectors of an encoder.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "runtime/schema/Tasks.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVEEVALUATIONPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DeriveEvaluationPass : public mlir::heddle::impl::DeriveEvaluationPassBase<DeriveEvaluationPass> {
public:
  void runOnOperation() override {
    ModelFunctions model(getOperation());
    if (!model.task)
      return;
    // The hidden states of a model that labels texts or tokens are no result of their own.
    bool encodes = model.hidden && !isOfLabels(model.task.getName());
    bool hasLogits = model.logits && (model.hidden || model.task.getLogitsEntry() || !model.isDecoded());
    SmallVector<StringRef> entries;
    if (encodes)
      entries.push_back("encode");
    if (hasLogits)
      entries.push_back("logits");
    if (failed(model.verify(entries)))
      return signalPassFailure();
    if (encodes)
      build("encode", {model.hidden, model.pooled}, {"hidden", "pooled"});
    if (hasLogits)
      build("logits", {model.hidden ? model.hidden : model.memory, model.logits}, {"logits"});
  }

private:
  static bool isOfLabels(StringRef task) {
    ::heddle::Labelling kind = ::heddle::schema::findTask(std::string_view(task))->labelling;
    return kind == ::heddle::Labelling::Texts || kind == ::heddle::Labelling::Words;
  }

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
