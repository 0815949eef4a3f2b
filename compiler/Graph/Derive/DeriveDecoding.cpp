// Decoding (section 6.1), one token of each sequence at a time, from functions that are written for whole sequences.
// Values that depend only on the memory and on weights are computed once and kept. For earlier tokens, the keys and
// values of attention are kept. Everything else is computed for the newest tokens, row by row.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "compiler/Graph/Derive/StepBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVEDECODINGPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DeriveDecodingPass : public mlir::heddle::impl::DeriveDecodingPassBase<DeriveDecodingPass> {
public:
  void runOnOperation() override {
    module = getOperation();
    ModelFunctions functions(module);
    if (!functions.task || !functions.isDecoded())
      return;
    SmallVector<StringRef> entries{"decode_step", "beam_step"};
    if (functions.memory)
      entries.push_back("encode");
    else
      entries.append({"sample_step", "prefill"});
    if (failed(functions.verify(entries)))
      return signalPassFailure();
    FailureOr<DecodingPlan> made = DecodingPlan::make(functions);
    if (failed(made))
      return signalPassFailure();
    plan.emplace(std::move(*made));
    task = functions.task;
    declareState();
    if (functions.memory)
      buildEncode();
    if (failed(buildDecodeStep()) || failed(buildBeamStep()))
      return signalPassFailure();
    if (!functions.memory && failed(buildSampleStep()))
      return signalPassFailure();
    // A recurrence needs the state after the token before, so it reads one token of a sequence in a call.
    if (!functions.memory && llvm::none_of(plan->stepOps, llvm::IsaPred<ScanOp>) && failed(buildPrefill()))
      signalPassFailure();
  }

private:
  void declareState();
  void buildEncode();
  FailureOr<Value> buildNextLogits(EntryBuilder &entry, StringRef size);
  LogicalResult buildDecodeStep();
  LogicalResult buildSampleStep();
  LogicalResult buildPrefill();
  LogicalResult buildBeamStep();
  Value withoutPadding(EntryBuilder &entry, Value logits);
  Value continueHistory(EntryBuilder &entry, Value parent, Value position, Value row);
  RankedTensorType lastRows() {
    return RankedTensorType::get({plan->maxSequences, 1}, IntegerType::get(&getContext(), 32));
  }
  RankedTensorType indices(StringRef size) {
    return columnOf(&getContext(), size, IntegerType::get(&getContext(), 32));
  }
  Value port(EntryBuilder &entry, StringRef name, StringRef size, int64_t limit) {
    return entry.port(name, indices(size), limit);
  }
  /// The input OF_ROLE.
  Value port(EntryBuilder &entry, StringRef of, StringRef role, StringRef size, int64_t limit) {
    return entry.port((of + "_" + role).str(), indices(size), limit, (of + "." + role).str());
  }
  Value repeatForTokens(EntryBuilder &entry, Value value);
  SmallVector<Value> continueLastRows(EntryBuilder &entry, Value parent, Value starts, Value row);
  void addSourcePorts(EntryBuilder &entry);
  int64_t vocabulary() { return cast<RankedTensorType>(plan->logits.getType()).getDimSize(1); }

  ModuleOp module;
  TaskOp task;
  std::optional<DecodingPlan> plan;
};

} // namespace

/// For each hypothesis of a beam search, the rows of the caches that hold its tokens.
static constexpr StringLiteral kHistory = "cache.history";

/// Returns the name of the cache with the row of each hypothesis's latest token (number 0), of the token before, and so
/// on.
static std::string nameOfLastRow(int64_t number) {
  return "cache.last_row" + (number == 0 ? "" : "_" + std::to_string(number + 1));
}

/// The run-time size of all pairs of a sequence and a token that the sequence already has.
static constexpr StringLiteral kSeen = "seen";

/// The run-time size of the prompt tokens that a call reads.
static constexpr StringLiteral kPromptTokens = "prompt_tokens";

void DeriveDecodingPass::declareState() {
  Operation *first = plan->functions.logits;
  if (auto variables = module.getOps<VariableOp>(); !variables.empty())
    first = *variables.begin();
  OpBuilder builder(first);
  Location where = task.getLoc();
  auto addSize = [&](StringRef name, int64_t maximum, StringRef longestOf) {
    SizeOp::create(builder, where, name, maximum, longestOf.empty() ? StringAttr() : builder.getStringAttr(longestOf));
  };
  addSize(kCacheLength, plan->maxLength, "cache_lengths");
  addSize("groups", plan->maxSequences, "");
  addSize("beam", static_cast<int64_t>(task.getBeam()), "group_lengths");
  if (!plan->functions.memory) {
    addSize(kSeen, plan->cacheRows, ""); // each has a row in the caches, or is about to get one
    addSize(kPromptTokens, plan->maxTokens, "");
  }
  // Caches come before the weights, as callers list them.
  Operation *before = nullptr;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.isWeight() && !before)
      before = variable;
  for (const DecodingPlan::Cache &cache : plan->caches)
    addVariable(module, cache.value.getLoc(), cache.name, VariableKind::Cache, cache.type, 0, before);
  auto history = RankedTensorType::get({plan->maxSequences, plan->maxLength}, builder.getI32Type());
  addVariable(module, where, kHistory, VariableKind::Cache, history, 0, before);
  for (int64_t i = 0; i < plan->getReach(); ++i)
    addVariable(module, where, nameOfLastRow(i), VariableKind::Cache, lastRows(), 0, before);
}

/// Builds the entry that runs the memory's function and writes the values that decoding reads into the caches, at
/// `memory_rows`. These values are the same for all later tokens.
void DeriveDecodingPass::buildEncode() {
  EntryBuilder entry(module, "encode", plan->functions.memory.getLoc());
  entry.inlineFunction(plan->functions.memory);
  Value rows = port(entry, "memory_rows", plan->sourceTokens, plan->maxTokens);
  plan->mapMemory(entry);
  auto keep = [&](Value value) {
    const DecodingPlan::Cache *cache = plan->findCache(value);
    if (!cache)
      return;
    Value kept = entry.mapping.lookup(value);
    if (getSizeName(cast<RankedTensorType>(kept.getType()), 0) == kSequences) // kept at each token of the sequence
      kept = repeatForTokens(entry, kept);
    updateCache(entry, *cache, rows, kept);
  };
  for (BlockArgument argument : plan->functions.logits.getArguments())
    keep(argument);
  for (Operation *op : plan->memoryOps) {
    plan->inlineConstants(entry, *op);
    entry.inlineOp(*op);
    for (Value result : op->getResults())
      keep(result);
  }
  entry.finish();
}

/// Turns a value with a row for each sequence into one with a row for each token of the source.
Value DeriveDecodingPass::repeatForTokens(EntryBuilder &entry, Value value) {
  OpBuilder &b = entry.builder;
  Location where = value.getLoc();
  Value starts = port(entry, "source", "starts", kSequences, plan->maxTokens + 1);
  Value lengths = port(entry, "source", "lengths", kSequences, plan->maxLength + 1);
  RankedTensorType tokens = indices(plan->sourceTokens);
  auto located = LocateOp::create(b, where, tokens, tokens, starts, lengths, "source_length");
  RankedTensorType type = getTypeOfDims({{tokens, 0}, {cast<RankedTensorType>(value.getType()), 1}}, b.getF32Type());
  return EmbeddingOp::create(b, where, type, located.getSequence(), value);
}

void DeriveDecodingPass::addSourcePorts(EntryBuilder &entry) {
  if (!plan->functions.memory)
    return;
  // The caller says where in the caches the memory of each sequence is.
  port(entry, "source", "starts", kSequences, plan->maxTokens + 1);
  port(entry, "source", "lengths", kSequences, plan->maxLength + 1);
}

/// Builds the logits that follow each of a call's `size` new tokens. The caches hold the tokens before them and the
/// results of `encode`.
FailureOr<Value> DeriveDecodingPass::buildNextLogits(EntryBuilder &entry, StringRef size) {
  StepInputs inputs{.size = size};
  inputs.token = port(entry, "token", size, vocabulary());
  inputs.position = port(entry, "position", size, plan->maxLength);
  // The tokens of a prompt are neighbours. Kernels that know it read keys once for several of them.
  inputs.starts = size == kPromptTokens
                      ? IotaOp::create(entry.builder, task.getLoc(), indices(size), /*dim=*/0).getResult()
                      : port(entry, "query", "starts", size, plan->maxSequences);
  inputs.lengths = port(entry, "query", "lengths", size, 2);
  inputs.rows = port(entry, "cache_rows", size, plan->cacheRows);
  // A sequence without tokens may start behind the last token.
  inputs.pastStarts = port(entry, "cache", "starts", size, plan->cacheRows + 1);
  inputs.pastLengths = port(entry, "cache", "lengths", size, plan->maxLength + 1);
  addSourcePorts(entry);
  for (int64_t distance = 1; distance <= plan->getReach(); ++distance) { // tokens of a sequence are neighbours
    OpBuilder &b = entry.builder;
    Type type = inputs.rows.getType();
    Location where = task.getLoc();
    Value back = FillOp::create(b, where, type, b.getI32IntegerAttr(static_cast<int32_t>(distance)));
    Value zero = FillOp::create(b, where, type, b.getI32IntegerAttr(0));
    inputs.before.push_back(arith::MaxSIOp::create(b, where, arith::SubIOp::create(b, where, inputs.rows, back), zero));
  }
  return StepBuilder(entry, *plan, inputs).build();
}

/// Builds the entry that computes one more token for each sequence.
LogicalResult DeriveDecodingPass::buildDecodeStep() {
  EntryBuilder entry(module, "decode_step", plan->functions.logits.getLoc());
  FailureOr<Value> logits = buildNextLogits(entry, kSequences);
  if (failed(logits))
    return failure();
  Value best = ArgmaxOp::create(entry.builder, task.getLoc(), indices(kSequences), withoutPadding(entry, *logits));
  entry.output("next_token", best);
  entry.output("logits", *logits);
  entry.finish();
  return success();
}

/// Builds the entry that writes the keys and values of prompt tokens to the caches. Each layer writes all of them
/// before any token attends, so a call may hold several tokens of a sequence. The entry has no logits.
LogicalResult DeriveDecodingPass::buildPrefill() {
  EntryBuilder entry(module, "prefill", plan->functions.logits.getLoc());
  if (failed(buildNextLogits(entry, kPromptTokens)))
    return failure();
  entry.finish();
  return success();
}

/// Builds a decoding step that draws the next token, with a random key for each sequence and penalties for tokens that
/// it already has. The token is the only output.
LogicalResult DeriveDecodingPass::buildSampleStep() {
  EntryBuilder entry(module, "sample_step", plan->functions.logits.getLoc());
  OpBuilder &b = entry.builder;
  Location where = task.getLoc();
  FailureOr<Value> logits = buildNextLogits(entry, kSequences);
  if (failed(logits))
    return failure();
  auto number = [&](StringRef name, StringRef size) {
    return entry.port(name, columnOf(&getContext(), size, b.getF32Type()));
  };
  Value rows = port(entry, "seen_rows", kSeen, plan->maxSequences),
        tokens = port(entry, "seen_tokens", kSeen, vocabulary());
  Value penalised =
      PenaliseOp::create(b, where, withoutPadding(entry, *logits), rows, tokens, number("penalty", kSeen));
  auto drawn = DrawOp::create(b, where, penalised, number("temperature", kSequences),
                              entry.port("top_k", indices(kSequences)), number("top_p", kSequences),
                              entry.port("key_low", indices(kSequences)), entry.port("key_high", indices(kSequences)));
  entry.output("next_token", drawn.getToken());
  entry.finish();
  return success();
}

/// Returns the logits with minus infinity for padding, which is not a word.
Value DeriveDecodingPass::withoutPadding(EntryBuilder &entry, Value logits) {
  if (!task.getPadding())
    return logits;
  OpBuilder &b = entry.builder;
  Location where = task.getLoc();
  auto type = cast<RankedTensorType>(logits.getType());
  auto whole = RankedTensorType::get(type.getShape(), b.getI32Type(), type.getEncoding());
  auto row = RankedTensorType::get({type.getDimSize(1)}, b.getI32Type());
  Value column = BroadcastOp::create(b, where, whole, IotaOp::create(b, where, row, 0));
  Value token = FillOp::create(b, where, whole, b.getI32IntegerAttr(static_cast<int32_t>(*task.getPadding())));
  Value padding = arith::CmpIOp::create(b, where, arith::CmpIPredicate::eq, column, token);
  Value never = FillOp::create(b, where, type, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  return arith::SelectOp::create(b, where, padding, never, logits);
}

/// Builds the entry that computes one more token for each hypothesis of a beam search, and then the best continuations
/// of each group. A group is the hypotheses of one sentence, which are neighbours in the batch. Hypothesis i continues
/// hypothesis parent[i] of the step before with `token`. Cached rows stay where they were written, and `cache.history`
/// says where that is.
LogicalResult DeriveDecodingPass::buildBeamStep() {
  EntryBuilder entry(module, "beam_step", plan->functions.logits.getLoc());
  OpBuilder &b = entry.builder;
  Location where = task.getLoc();
  StepInputs inputs;
  inputs.token = port(entry, "token", kSequences, vocabulary());
  inputs.position = port(entry, "position", kSequences, plan->maxLength);
  Value parent = port(entry, "parent", kSequences, plan->maxSequences);
  inputs.rows = port(entry, "cache_row", kSequences, plan->cacheRows);
  inputs.pastLengths = port(entry, "cache", "lengths", kSequences, plan->maxLength + 1);
  addSourcePorts(entry);
  Value score = entry.port("score", columnOf(&getContext(), kSequences, b.getF32Type()));
  Value expected = port(entry, "expected", kSequences, vocabulary());
  Value groupStarts = port(entry, "group", "starts", "groups", plan->maxSequences + 1);
  Value groupLengths = port(entry, "group", "lengths", "groups", static_cast<int64_t>(task.getBeam()) + 1);

  RankedTensorType perHypothesis = indices(kSequences);
  inputs.starts = IotaOp::create(b, where, perHypothesis, 0);
  inputs.lengths = FillOp::create(b, where, perHypothesis, b.getI32IntegerAttr(1));
  inputs.pastStarts = FillOp::create(b, where, perHypothesis, b.getI32IntegerAttr(0));
  inputs.history = continueHistory(entry, parent, inputs.position, inputs.rows);
  auto history = RankedTensorType::get({plan->maxSequences, plan->maxLength}, b.getI32Type());
  Value kept =
      ScatterRowsOp::create(b, where, history, entry.read(kHistory, history, where), inputs.starts, inputs.history);
  WriteOp::create(b, where, kHistory, kept);
  inputs.before = continueLastRows(entry, parent, inputs.starts, inputs.rows);
  FailureOr<Value> answer = StepBuilder(entry, *plan, inputs).build();
  if (failed(answer))
    return failure();
  Value logits = withoutPadding(entry, *answer);

  auto entropy =
      CrossEntropyOp::create(b, where, score.getType(), score.getType(), logits, expected, b.getF32FloatAttr(0));
  Value before = arith::SubFOp::create(b, where, score, entropy.getLogSumExp());
  Value scores = arith::AddFOp::create(b, where, logits, BroadcastOp::create(b, where, logits.getType(), before));
  // Twice as many candidates as the beam is wide: even if half of them end their sentence, enough remain to continue.
  int64_t count = std::min(2 * static_cast<int64_t>(task.getBeam()), vocabulary());
  auto ofGroups = [&](Type element) {
    return RankedTensorType::get({ShapedType::kDynamic, count}, element, indices("groups").getEncoding());
  };
  RankedTensorType places = ofGroups(b.getI32Type());
  auto best =
      TopKOp::create(b, where, ofGroups(b.getF32Type()), places, places, scores, groupStarts, groupLengths, "beam");
  entry.output("best_score", best.getValues());
  entry.output("best_parent", best.getRows());
  entry.output("best_token", best.getColumns());
  entry.output("expected_loss", entropy.getLoss());
  entry.output("logits", logits);
  entry.finish();
  return success();
}

/// Returns the history of each hypothesis: its parent's history with the row of the new token at its own position.
Value DeriveDecodingPass::continueHistory(EntryBuilder &entry, Value parent, Value position, Value row) {
  OpBuilder &b = entry.builder;
  Location where = NameLoc::get(b.getStringAttr("history"), task.getLoc());
  auto kept = RankedTensorType::get({plan->maxSequences, plan->maxLength}, b.getI32Type());
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, plan->maxLength}, b.getI32Type(), indices(kSequences).getEncoding());
  Value past = EmbeddingOp::create(b, where, type, parent, entry.read(kHistory, kept, where));
  auto places = RankedTensorType::get({plan->maxLength}, b.getI32Type());
  Value positions = BroadcastOp::create(b, where, type, IotaOp::create(b, where, places, 0));
  Value isNew = arith::CmpIOp::create(b, where, arith::CmpIPredicate::eq, positions,
                                      BroadcastOp::create(b, where, type, position));
  return arith::SelectOp::create(b, where, isNew, BroadcastOp::create(b, where, type, row), past);
}

/// Returns the rows of each hypothesis's earlier tokens, the nearest first. Then shifts the kept rows by one token: the
/// rows of the newest tokens become the nearest.
SmallVector<Value> DeriveDecodingPass::continueLastRows(EntryBuilder &entry, Value parent, Value starts, Value row) {
  OpBuilder &b = entry.builder;
  Location where = NameLoc::get(b.getStringAttr("states"), task.getLoc());
  auto type = RankedTensorType::get({ShapedType::kDynamic, 1}, b.getI32Type(), indices(kSequences).getEncoding());
  SmallVector<Value> before;
  for (int64_t i = 0; i < plan->getReach(); ++i) {
    Value last = entry.read(nameOfLastRow(i), lastRows(), where);
    Value rows = i == 0 ? BroadcastOp::create(b, where, type, row).getResult() : before.back();
    before.push_back(EmbeddingOp::create(b, where, type, parent, last));
    WriteOp::create(b, where, nameOfLastRow(i), ScatterRowsOp::create(b, where, lastRows(), last, starts, rows));
  }
  return before;
}
