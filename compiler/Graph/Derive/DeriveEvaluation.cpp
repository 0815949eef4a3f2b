// Entries that compute whole sequences: the logits of all tokens, and the hidden states of an encoder or a decoder.
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
    if (failed(model.verify()))
      return signalPassFailure();
    bool continues = model.task.getName() == "language" && model.logits && model.logits.getNumResults() == 1;
    Value lastStates = continues ? findLastStates(model.logits) : Value();
    bool hasLogits =
        model.logits && !model.comparesVectors() && (model.hidden || model.task.getLogitsEntry() || !model.isDecoded());
    SmallVector<StringRef> entries;
    if (encodes || lastStates)
      entries.push_back("encode");
    if (hasLogits)
      entries.push_back("logits");
    if (failed(model.verify(entries)))
      return signalPassFailure();
    if (encodes)
      build("encode", {model.hidden, model.pooled}, {"hidden", "pooled"});
    if (lastStates)
      buildEncode(model.logits, lastStates);
    if (hasLogits)
      build("logits", {model.hidden ? model.hidden : model.memory, model.logits}, {"logits"});
  }

private:
  static bool isOfLabels(StringRef task) {
    ::heddle::Labelling kind = ::heddle::schema::findTask(std::string_view(task))->labelling;
    return kind == ::heddle::Labelling::Texts || kind == ::heddle::Labelling::Words;
  }

  /// Returns the hidden states from which a decoder computes its logits: the left operand of the last matmul. Only
  /// elementwise ops follow this matmul, such as scales, a soft cap, a bias, and the sum with an adapter's matmul,
  /// which is the sum's second operand. Returns null if the logits are computed in another way.
  static Value findLastStates(func::FuncOp logits) {
    Value value = logits.getBody().front().getTerminator()->getOperand(0);
    while (Operation *op = value.getDefiningOp()) {
      if (auto product = dyn_cast<MatmulOp>(op))
        return product.getTransposeLhs() ? Value() : product.getLhs();
      auto operand = llvm::find_if(
          op->getOperands(), [](Value each) { return !isa_and_nonnull<FillOp, BroadcastOp>(each.getDefiningOp()); });
      if (!op->hasTrait<OpTrait::Elementwise>() || operand == op->getOperands().end())
        return {};
      value = *operand;
    }
    return {};
  }

  /// Builds the entry for a decoder's hidden states. It has the inputs of `logits`, the target's tokens, but computes
  /// no logits.
  void buildEncode(func::FuncOp logits, Value states) {
    EntryBuilder entry(getOperation(), "encode", getOperation().getLoc());
    entry.inlineFunction(logits);
    entry.output("hidden", entry.mapping.lookup(states));
    entry.finish();
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
