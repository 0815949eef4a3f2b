// The conditions that a model's functions meet so that entries can be derived from them: a single block each, one type
// for each name, and the results and inputs that training and decoding expect.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "compiler/Graph/Derive/StepBuilder.h"
#include "runtime/schema/Tasks.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_VERIFYMODELPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The token inputs of a decoding step, each with the run-time size of its extent.
constexpr std::pair<StringLiteral, StringLiteral> kStepInputs[] = {
    {"target_in", "target_tokens"}, {"target_positions", "target_tokens"}, {"target_starts", kSequences},
    {"target_lengths", kSequences}, {"source_starts", kSequences},         {"source_lengths", kSequences}};

class VerifyModelPass : public mlir::heddle::impl::VerifyModelPassBase<VerifyModelPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ModelFunctions model(module);
    named.clear();
    markAllAnalysesPreserved();
    if (!model.task)
      return;
    if (!::heddle::schema::findTask(std::string_view(model.task.getName()))) {
      auto names = llvm::map_to_vector(::heddle::schema::kTasks, [](const auto &task) { return StringRef(task.name); });
      model.task.emitOpError() << "expects one of the tasks " << llvm::join(names, ", ") << ", got '"
                               << model.task.getName() << "'";
      return signalPassFailure();
    }
    if (failed(verifySingle<TaskOp>()) || failed(verifySingle<TrainingOp>()))
      return signalPassFailure();
    if (module.getOps<VariableOp>().empty()) {
      model.task.emitOpError("is of a model without variables; declare its weights with heddle.variable");
      return signalPassFailure();
    }
    if (failed(model.verify()))
      return signalPassFailure();
    for (func::FuncOp function : {model.memory, model.hidden, model.pooled, model.logits, model.next, model.loss})
      if (function && failed(verify(function)))
        return signalPassFailure();
    if (model.training && model.logits && model.loss && failed(verifyTrained(model)))
      return signalPassFailure();
    if (model.isDecoded() && failed(verifyDecoded(model)))
      return signalPassFailure();
  }

private:
  template <typename OpTy> LogicalResult verifySingle() {
    auto ops = llvm::to_vector(getOperation().getOps<OpTy>());
    if (ops.size() > 1)
      return ops[1].emitOpError("is a second one of its kind; a model has one");
    return success();
  }

  LogicalResult verify(func::FuncOp function) {
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (failed(name(function, getPortName(function.getArgAttrDict(i)), type)))
        return failure();
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(name(function, getPortName(function.getResultAttrDict(i)), type)))
        return failure();
    return success();
  }

  /// Values with the same name in several functions are the same value.
  LogicalResult name(func::FuncOp function, StringRef name, Type type) {
    auto [known, isNew] = named.try_emplace(name, Named{function, type});
    if (!isNew && known->second.type != type)
      return function.emitError() << "'" << name << "' is a " << type << " here, and a " << known->second.type
                                  << " in the model's function '" << known->second.function.getSymName() << "'";
    return success();
  }

  /// Fails, after an error, unless `function` has an f32 result of that name, with a rank within `ranks` (from, to), of
  /// which only the first dimension is dynamic.
  LogicalResult verifyResult(func::FuncOp function, StringRef name, std::pair<int64_t, int64_t> ranks, StringRef what) {
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      if (getPortName(function.getResultAttrDict(i)) != name)
        continue;
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && tensor.getElementType().isF32() && tensor.getRank() >= ranks.first &&
          tensor.getRank() <= ranks.second && tensor.isDynamicDim(0) && tensor.getNumDynamicDims() == 1)
        return success();
      return function.emitError() << "the result '" << name << "' of the model's function '" << function.getSymName()
                                  << "' should be " << what << ", got " << type;
    }
    return function.emitError() << "the model's function '" << function.getSymName() << "' has no result '" << name
                                << "': " << what;
  }

  LogicalResult verifyTrained(ModelFunctions &model) {
    if (failed(verifyResult(model.logits, "logits", {1, 2}, "a row of numbers, or a number, for each answer")))
      return failure();
    auto isLossOfSentences = [&](unsigned i) {
      return getPortName(model.loss.getResultAttrDict(i)) == "sentence_loss";
    };
    if (llvm::none_of(llvm::seq(model.loss.getNumResults()), isLossOfSentences))
      return success();
    if (!model.next)
      return model.loss.emitError("the result 'sentence_loss' is of a model that has a function 'next'");
    if (failed(verifyResult(model.loss, "sentence_loss", {1, 1}, "a number for each pair of sentences")))
      return failure();
    return verifyResult(model.next, "next", {2, 2}, "a row of numbers for each pair of sentences");
  }

  LogicalResult verifyDecoded(ModelFunctions &model) {
    func::FuncOp logits = model.logits;
    Type integer = IntegerType::get(&getContext(), 32);
    for (auto [i, type] : llvm::enumerate(logits.getArgumentTypes())) {
      StringRef name = getPortName(logits.getArgAttrDict(i));
      auto step = llvm::find_if(kStepInputs, [&](const auto &input) { return input.first == name; });
      if (step == std::end(kStepInputs)) {
        if (model.memory && named.lookup(name).function == model.memory)
          continue;
        return logits.emitError() << "decoding a token at a time knows no input '" << name
                                  << "'; it has target_in, target_positions, target_starts and target_lengths, and "
                                     "what the function 'memory' takes and makes";
      }
      if (RankedTensorType expected = columnOf(&getContext(), step->second, integer); type != expected)
        return logits.emitError() << "the input '" << name << "' should be a " << expected << ", got " << type;
    }
    return success();
  }

  struct Named {
    func::FuncOp function; // the first function with the name
    Type type;
  };
  llvm::StringMap<Named> named;
};

} // namespace
