// Training (section 5): entries that lower the loss of a model's functions.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "compiler/Graph/Derive/SelectRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

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
    if (failed(model->verify(entries)) || failed(checkLoss()) || failed(checkRate()) || failed(checkPreference()))
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
  LogicalResult checkPreference();
  void addState();
  void inlineLoss(EntryBuilder &entry);
  void selectLabelled(Block &block);
  Value scaledLoss(EntryBuilder &entry);
  Value preferenceLoss(EntryBuilder &entry);
  Value lossOf(EntryBuilder &entry) {
    return model->training.getPreference() ? preferenceLoss(entry) : scaledLoss(entry);
  }
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

/// Two target sequences are compared, so `logits` must take the starts and lengths of target sequences.
LogicalResult DeriveTrainingPass::checkPreference() {
  if (!model->training.getPreference())
    return success();
  int found = 0;
  for (unsigned i = 0; i < model->logits.getNumArguments(); ++i)
    found += llvm::is_contained({"target_starts", "target_lengths"}, getPortName(model->logits.getArgAttrDict(i)));
  if (found == 2 && model->task.getName() == "language")
    return success();
  return model->training.emitOpError("has a preference between answers, which only models of the task 'language' give");
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
  else // declares the model's first input here, because an entry lists it before the labels
    entry.port(model->logits, 0);
  for (unsigned i = 0; i < model->loss.getNumArguments(); ++i)
    if (StringRef name = getPortName(model->loss.getArgAttrDict(i)); llvm::is_contained(kLabelPorts, name))
      entry.port(model->loss, i);
  if (model->comparesVectors())
    entry.inlineFunction(model->pooled);
  entry.inlineFunction(model->logits);
  if (model->next)
    entry.inlineFunction(model->next);
  entry.inlineFunction(model->loss);
}

/// The loss of labelled tokens needs no logits of others. Evaluation gives the choices of all tokens, and keeps them.
void DeriveTrainingPass::selectLabelled(Block &block) {
  SmallVector<EmbeddingOp> selections;
  for (auto selection : block.getOps<EmbeddingOp>()) {
    auto indices = cast<RankedTensorType>(selection.getIndices().getType());
    auto table = cast<RankedTensorType>(selection.getTable().getType());
    if (indices.isDynamicDim(0) && getSizeName(indices, 0).ends_with("_labels") && table.isDynamicDim(0))
      selections.push_back(selection);
  }
  llvm::for_each(selections, selectRowsEarly);
}

/// Returns the sum of the tokens' losses, each times its weight (if any) and the input `token_scale`: only the caller
/// knows how many tokens the whole step has. `sentence_scale` scales the losses of sentence pairs.
Value DeriveTrainingPass::scaledLoss(EntryBuilder &entry) {
  inlineLoss(entry);
  selectLabelled(*entry.result("token_loss").getParentBlock());
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

/// Returns a value with the gradient of the pairs' mean loss, and adds the loss itself as an output. Let d be a
/// sequence's weighted log-probability minus the reference model's. A pair's loss is f(z), where z = d(preferred) -
/// d(other). The returned value is the sum of f'(z) z over all pairs, times `token_scale`, with f'(z) as a constant of
/// the backward pass. `token_scale` is 1 / (number of pairs).
Value DeriveTrainingPass::preferenceLoss(EntryBuilder &entry) {
  inlineLoss(entry);
  Value losses = entry.result("token_loss");
  for (Operation &op : *losses.getParentBlock())
    if (auto entropy = dyn_cast<CrossEntropyOp>(op))
      entropy.setSmoothing(APFloat(0.0f));
  TrainingOp training = model->training;
  OpBuilder &b = entry.builder;
  Location where = lossPlace();
  Type f32 = b.getF32Type();
  auto scalar = RankedTensorType::get({1}, f32);
  auto ofTarget = [&](StringRef name) {
    for (unsigned i = 0; i < model->logits.getNumArguments(); ++i)
      if (getPortName(model->logits.getArgAttrDict(i)) == name)
        return entry.port(model->logits, i);
    return Value();
  };
  Value starts = ofTarget("target_starts"), lengths = ofTarget("target_lengths");
  RankedTensorType each = getDimType(cast<RankedTensorType>(starts.getType()), 0, f32);
  auto fill = [&](double value) -> Value {
    return FillOp::create(b, where, each, b.getF32FloatAttr(static_cast<float>(value)));
  };
  auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, where, x, y); };
  auto sub = [&](Value x, Value y) -> Value { return arith::SubFOp::create(b, where, x, y); };
  auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, where, x, y); };
  auto sumOfTokens = [&](Value tokens) -> Value {
    auto type = cast<RankedTensorType>(tokens.getType());
    auto rows = RankedTensorType::get({type.getDimSize(0), 1}, f32, type.getEncoding());
    auto sums = RankedTensorType::get({each.getDimSize(0), 1}, f32, each.getEncoding());
    Value column = ReshapeOp::create(b, where, rows, tokens);
    Value pooled =
        SegmentOp::create(b, where, sums, Type(), Pool::Sum, column, starts, lengths, "target_length").getResult();
    return ReshapeOp::create(b, where, each, pooled);
  };
  Value weights = entry.port("token_weights", cast<RankedTensorType>(losses.getType()));
  RankedTensorType whole = getDimType(cast<RankedTensorType>(starts.getType()), 0, b.getI32Type());
  auto sequences = module.lookupSymbol<SizeOp>("sequences");
  std::optional<int64_t> most = sequences ? std::optional(static_cast<int64_t>(sequences.getMaximum())) : std::nullopt;
  Value partner = entry.port("partner", whole, most), preferred = entry.port("preferred", each);
  Value reference = entry.port("reference", each);
  Value scale = BroadcastOp::create(b, where, each, entry.port("token_scale", scalar));
  // The log-probability minus the reference model's. The loss ipo takes the mean per token.
  Value beyond = sub(fill(0), add(sumOfTokens(mul(losses, weights)), reference));
  bool isMean = training.getPreference() == "ipo";
  if (isMean)
    beyond =
        arith::DivFOp::create(b, where, beyond, arith::MaximumFOp::create(b, where, sumOfTokens(weights), fill(1)));
  Value known = StopGradientOp::create(b, where, beyond);
  Value margin = mul(preferred, sub(known, EmbeddingOp::create(b, where, each, partner, known)));
  double beta = training.getPreferenceBeta()->convertToDouble();
  double wrong = training.getPreferenceSmoothing()->convertToDouble();
  Value loss, slope;
  if (isMean) {
    Value difference = sub(margin, fill(1 / (2 * beta)));
    loss = mul(difference, difference);
    slope = mul(difference, fill(2));
  } else {
    // -(1 - wrong) log sigmoid(x) - wrong log sigmoid(-x), where -log sigmoid(x) = max(-x, 0) + log(1 + exp(-|x|)) and
    // sigmoid(x) = (1 + tanh(x / 2)) / 2.
    Value x = mul(margin, fill(beta)), negative = mul(x, fill(-1));
    Value power = math::ExpOp::create(b, where, arith::MinimumFOp::create(b, where, x, negative));
    Value rest = math::LogOp::create(b, where, add(fill(1), power));
    Value forRight = add(arith::MaximumFOp::create(b, where, negative, fill(0)), rest);
    Value forWrong = add(arith::MaximumFOp::create(b, where, x, fill(0)), rest);
    loss = add(mul(forRight, fill(1 - wrong)), mul(forWrong, fill(wrong)));
    Value sigmoid = mul(add(math::TanhOp::create(b, where, mul(x, fill(0.5))), fill(1)), fill(0.5));
    slope = mul(sub(sigmoid, fill(1 - wrong)), fill(beta));
  }
  // Both sequences of a pair have the pair's loss, so each counts half. A sequence of no pair has `preferred` 0.
  Value counts = mul(mul(preferred, preferred), fill(0.5));
  auto sum = [&](Value value) -> Value { return SumOp::create(b, where, scalar, value, /*columns=*/false); };
  entry.output("loss", sum(mul(mul(loss, counts), scale)));
  Value factors = StopGradientOp::create(b, where, mul(mul(slope, preferred), scale));
  return sum(mul(factors, beyond));
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
  Value loss = lossOf(entry);
  entry.output("learning_rate", optimize<MinimizeOp>(entry, loss));
  return entry.finish();
}

void DeriveTrainingPass::buildAccumulateStep() {
  // Dropout follows the counter of this entry's calls, because `step` stays the same between two optimizer steps.
  std::string microSteps = getVariableName(VariableRole::MicroSteps);
  EntryBuilder entry(module, "accumulate_step", lossPlace(), {/*trains=*/true, microSteps, getNextStream(module)});
  Value loss = lossOf(entry);
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
