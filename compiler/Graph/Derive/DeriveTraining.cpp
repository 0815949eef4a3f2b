// Training (section 5): entries that lower the loss of a model's functions.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVETRAININGPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

// The inputs with the expected answers.
constexpr StringLiteral kLabelPorts[] = {"target_out",     "source_labelled", "source_label",
                                         "source_follows", "pair_label",      "pair_grade"};

class DeriveTrainingPass : public mlir::heddle::impl::DeriveTrainingPassBase<DeriveTrainingPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    module = getOperation();
    model.emplace(module);
    if (!model->training) {
      if (failed(takeLargest(module)))
        signalPassFailure();
      return;
    }
    if (!model->logits || !model->loss) {
      model->training.emitOpError() << "trains a model that has no function '" << (model->logits ? "loss" : "logits")
                                    << "'";
      return signalPassFailure();
    }
    // Packed weights and weights of 16 bits are not trained.
    bool isPacked = llvm::any_of(module.getOps<VariableOp>(), [](VariableOp variable) {
      bool isHalf = variable.getTensorType().getElementTypeBitWidth() == 16;
      return variable.getKind() == VariableKind::Weight && (variable.getRole() == VariableRole::Scales || isHalf);
    });
    bool isTrained = steps && !isPacked;
    SmallVector<StringRef> entries{"eval"};
    if (isTrained)
      entries.append({"train_step", "parallel_train_step", "accumulate_step", "apply_step", "parallel_apply_step"});
    if (failed(model->verify(entries)) || failed(checkLoss()) || failed(checkRate()))
      return signalPassFailure();
    if (isTrained) {
      addState();
      buildTrainStep("train_step");
      if (ranks)
        buildTrainStep("parallel_train_step")->setAttr(kRanksAttrName, UnitAttr::get(&getContext()));
    }
    if (isTrained && model->training.getAccumulate()) {
      buildAccumulateStep();
      buildApplyStep("apply_step");
      if (ranks)
        buildApplyStep("parallel_apply_step")->setAttr(kRanksAttrName, UnitAttr::get(&getContext()));
    }
    if (failed(takeLargest(module)))
      return signalPassFailure();
    buildEval();
  }

private:
  LogicalResult checkLoss();
  LogicalResult checkRate();
  void addState();
  void inlineLoss(EntryBuilder &entry);
  Value scaledLoss(EntryBuilder &entry);
  template <typename OpTy, typename... Inputs> Value optimize(EntryBuilder &entry, Inputs... inputs);
  func::FuncOp buildTrainStep(StringRef name);
  void buildAccumulateStep();
  func::FuncOp buildApplyStep(StringRef name);
  void buildEval();
  Location lossPlace() {
    Operation *last = model->loss.getBody().front().back().getPrevNode();
    return last ? last->getLoc() : model->loss.getLoc();
  }

  ModuleOp module;
  std::optional<ModelFunctions> model;
};

} // namespace

LogicalResult DeriveTrainingPass::checkLoss() {
  func::FuncOp loss = model->loss;
  for (unsigned i = 0; i < loss.getNumResults(); ++i)
    if (auto type = dyn_cast<RankedTensorType>(loss.getResultTypes()[i]);
        type && getPortName(loss.getResultAttrDict(i)) == "token_loss") {
      if (type.getRank() == 1 && type.getElementType().isF32() && model->logits.getNumArguments() > 0)
        return success();
      return loss.emitError() << "the result 'token_loss' should be a number for each token, got " << type;
    }
  return loss.emitError() << "the model's function 'loss' has no result 'token_loss', which is what is trained";
}

LogicalResult DeriveTrainingPass::checkRate() {
  if (!model->rate)
    return model->training.emitOpError("trains a model that has no function 'rate', which makes the learning rate");
  auto scalar = RankedTensorType::get({1}, Float32Type::get(&getContext()));
  if (func::FuncOp rate = model->rate; rate.getArgumentTypes() != ArrayRef<Type>{scalar} ||
                                       rate.getResultTypes() != ArrayRef<Type>{scalar} || !rate.getBody().hasOneBlock())
    return rate.emitError()
           << "the model's function 'rate' should make a tensor<1xf32>, the learning rate, of another, "
              "the step's number; its type is "
           << rate.getFunctionType();
  return success();
}

void DeriveTrainingPass::addState() {
  TrainingOp training = model->training;
  Location where = training.getLoc();
  auto counter = RankedTensorType::get({1}, IntegerType::get(&getContext(), 32));
  auto *seed = module.lookupSymbol(getVariableName(VariableRole::Seed));
  if (training.getAccumulate())
    addVariable(module, where, VariableRole::MicroSteps, counter, 0, seed);
  if (training.getLossScale()) {
    auto scalar = RankedTensorType::get({1}, Float32Type::get(&getContext()));
    addVariable(module, where, VariableRole::LossScale, scalar, training.getLossScale()->convertToDouble(), seed);
    addVariable(module, where, VariableRole::GoodSteps, counter, 0, seed);
    addVariable(module, where, VariableRole::SkippedSteps, counter, 0, seed);
  }
  addStateOfWeights(module,
                    {.averages = training.getAverageDecay().has_value(), .accumulates = training.getAccumulate()});
}

void DeriveTrainingPass::inlineLoss(EntryBuilder &entry) {
  if (model->memory)
    entry.inlineFunction(model->memory);
  if (model->hidden)
    entry.inlineFunction(model->hidden);
  else // callers list a model's inputs and the expected outputs side by side
    entry.port(model->logits, 0);
  for (unsigned i = 0; i < model->loss.getNumArguments(); ++i)
    if (StringRef name = getPortName(model->loss.getArgAttrDict(i)); llvm::is_contained(kLabelPorts, name))
      entry.port(model->loss, i);
  entry.inlineFunction(model->logits);
  if (model->next)
    entry.inlineFunction(model->next);
  entry.inlineFunction(model->loss);
}

/// Returns the sum of the tokens' losses times the input `token_scale`, and times their weights if there are any. The
/// caller knows how many tokens a step has in all. `sentence_scale` scales the losses of pairs of sentences.
Value DeriveTrainingPass::scaledLoss(EntryBuilder &entry) {
  inlineLoss(entry);
  auto scalar = RankedTensorType::get({1}, entry.builder.getF32Type());
  Location where = lossPlace();
  auto sum = [&](StringRef losses, StringRef by) -> Value {
    Value scale = entry.port(by, scalar), each = entry.result(losses);
    Value scales = BroadcastOp::create(entry.builder, where, each.getType(), scale);
    Value scaled = arith::MulFOp::create(entry.builder, where, each, scales);
    if (losses == "token_loss" && model->training.getTokenWeights()) {
      Value weights = entry.port("token_weights", cast<RankedTensorType>(each.getType()));
      scaled = arith::MulFOp::create(entry.builder, where, scaled, weights);
    }
    return SumOp::create(entry.builder, where, scalar, scaled, /*columns=*/false);
  };
  Value loss = sum("token_loss", "token_scale");
  if (entry.result("sentence_loss"))
    loss = arith::AddFOp::create(entry.builder, where, loss, sum("sentence_loss", "sentence_scale"));
  entry.output("loss", loss);
  return loss;
}

template <typename OpTy, typename... Inputs> Value DeriveTrainingPass::optimize(EntryBuilder &entry, Inputs... inputs) {
  TrainingOp t = model->training;
  auto op =
      OpTy::create(entry.builder, t.getLoc(), inputs..., t.getBeta1Attr(), t.getBeta2Attr(), t.getEpsilonAttr(),
                   t.getClipNormAttr(), t.getWeightDecayAttr(), t.getAverageDecayAttr(), t.getScaleIntervalAttr());
  IRMapping mapping;
  model->rate.getBody().cloneInto(&op.getRate(), mapping);
  Operation *end = op.getRate().front().getTerminator();
  OpBuilder builder(end);
  YieldOp::create(builder, end->getLoc(), end->getOperands());
  end->erase();
  return op;
}

func::FuncOp DeriveTrainingPass::buildTrainStep(StringRef name) {
  EntryBuilder entry(module, name, lossPlace(), {/*trains=*/true});
  Value loss = scaledLoss(entry);
  entry.output("learning_rate", optimize<MinimizeOp>(entry, loss));
  return entry.finish();
}

void DeriveTrainingPass::buildAccumulateStep() {
  // `step` does not change between two optimizer steps, but dropout must.
  std::string microSteps = getVariableName(VariableRole::MicroSteps);
  EntryBuilder entry(module, "accumulate_step", lossPlace(), {/*trains=*/true, microSteps, getNextStream(module)});
  Value loss = scaledLoss(entry);
  Location where = model->training.getLoc();
  AccumulateOp::create(entry.builder, where, loss, model->training.getLossScale().has_value());
  auto counter = RankedTensorType::get({1}, entry.builder.getI32Type());
  Value count = ReadOp::create(entry.builder, where, counter, microSteps);
  Value one = FillOp::create(entry.builder, where, counter, entry.builder.getI32IntegerAttr(1));
  Value next = arith::AddIOp::create(entry.builder, where, count, one);
  WriteOp::create(entry.builder, where, microSteps, next);
  entry.finish();
}

func::FuncOp DeriveTrainingPass::buildApplyStep(StringRef name) {
  EntryBuilder entry(module, name, model->training.getLoc());
  entry.output("learning_rate", optimize<ApplyOp>(entry));
  return entry.finish();
}

/// Builds the entry for the loss of each token or label, without dropout and label smoothing. With labels, it also
/// returns the most probable label of each row of logits.
void DeriveTrainingPass::buildEval() {
  EntryBuilder entry(module, "eval", lossPlace());
  inlineLoss(entry);
  Value loss = entry.result("token_loss");
  for (Operation &op : *loss.getParentBlock())
    if (auto entropy = dyn_cast<CrossEntropyOp>(op))
      entropy.setSmoothing(APFloat(0.0f));
  entry.output("token_loss", loss);
  auto addChoice = [&](StringRef name, StringRef of) {
    Value logits = entry.result(of);
    auto choices = getDimType(cast<RankedTensorType>(logits.getType()), 0, entry.builder.getI32Type());
    entry.output(name, ArgmaxOp::create(entry.builder, lossPlace(), choices, logits));
  };
  // If the model grades, its logits are the grades.
  bool areGrades = cast<RankedTensorType>(entry.result("logits").getType()).getRank() == 1;
  if (areGrades)
    entry.output("logits", entry.result("logits"));
  else if (!model->isDecoded())
    addChoice("choice", "logits");
  if (Value ofSentences = entry.result("sentence_loss")) {
    entry.output("sentence_loss", ofSentences);
    addChoice("sentence_choice", "next");
  }
  entry.finish();
}
