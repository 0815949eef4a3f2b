#include "compiler/Import/Entries.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

// Run-time sizes.
static constexpr StringLiteral kSourceTokens = "source_tokens";
static constexpr StringLiteral kTargetTokens = "target_tokens";
static constexpr StringLiteral kSequences = "sequences";
static constexpr StringLiteral kSourceLength = "source_length";
static constexpr StringLiteral kTargetLength = "target_length";
static constexpr StringLiteral kCacheLength = "cache_length";
static constexpr StringLiteral kGroups = "groups";
static constexpr StringLiteral kBeam = "beam";

/// For each hypothesis of a beam search, the rows of the caches that hold its tokens.
static constexpr StringLiteral kHistory = "cache.history";

// Counters. `step` counts optimizer steps, `micro_step` the batches whose gradients were accumulated.
static constexpr StringLiteral kStep = "step";
static constexpr StringLiteral kMicroStep = "micro_step";
static constexpr StringLiteral kSeed = "seed";

// What the loss is scaled by, and counters of steps whose gradients were finite, since it last changed, and of others.
static constexpr StringLiteral kLossScale = "loss_scale";
static constexpr StringLiteral kGoodSteps = "good_steps";
static constexpr StringLiteral kSkippedSteps = "skipped_steps";

void Entries::build() {
  declareSizes();
  declareState();
  if (d.hasDecoder()) {
    buildTrainStep();
    if (d.accumulate) {
      buildAccumulateStep();
      buildApplyStep();
    }
    buildEval();
    if (d.logitsEntry)
      buildLogits();
    if (d.hasEncoder())
      buildEncode();
    buildDecodeStep();
    buildBeamStep();
  } else {
    buildHidden();
  }
  if (d.explainEntry)
    buildExplain();
  buildInit(); // last: by now every variable is declared
}

void Entries::declareSizes() {
  Graph::At at(graph, "max_tokens");
  if (d.hasEncoder())
    graph.addSize(kSourceTokens, d.maxTokens);
  if (d.hasDecoder())
    graph.addSize(kTargetTokens, d.maxTokens);
  graph.addSize(kSequences, d.maxSequences);
  if (d.hasEncoder())
    graph.addSize(kSourceLength, d.maxLength, "source_lengths");
  if (!d.hasDecoder())
    return;
  graph.addSize(kTargetLength, d.maxLength, "target_lengths");
  graph.addSize(kCacheLength, d.maxLength, "cache_lengths");
  Graph::At beam(graph, "beam");
  graph.addSize(kGroups, d.maxSequences);
  graph.addSize(kBeam, d.beam, "group_lengths");
}

void Entries::declareState() {
  auto addCounter = [&](StringRef name, int64_t extent) {
    graph.addVariable(name, VariableKind::Counter, graph.tensor({extent}, graph.i32()), Initializer::zeros());
  };
  if (d.hasDecoder())
    addCounter(kStep, 1);
  if (d.hasDecoder() && d.accumulate)
    addCounter(kMicroStep, 1);
  if (d.scalesLoss()) {
    Graph::At at(graph, "loss_scale", "loss scale");
    graph.addVariable(kLossScale, VariableKind::OptimizerState, graph.tensor({1}, graph.f32()),
                      Initializer::constant(d.lossScale));
    addCounter(kGoodSteps, 1);
    addCounter(kSkippedSteps, 1);
  }
  addCounter(kSeed, 2);

  Graph::At at(graph, "max_tokens");
  SmallVector<StringRef> attentions{"self"};
  if (d.hasEncoder())
    attentions.push_back("cross");
  for (int64_t i = 0; i < d.decoderLayers; ++i)
    for (StringRef attention : attentions)
      for (StringRef part : {"key", "value"})
        graph.addVariable(cache(Transformer::decoderLayer(i), attention, part), VariableKind::Cache,
                          graph.tensor({d.maxTokens, d.dModel}, graph.f32()), Initializer::zeros());
  graph.addVariable(kHistory, VariableKind::Cache, graph.tensor({d.maxSequences, d.maxLength}, graph.i32()),
                    Initializer::zeros());
}

//===-- Ports ---------------------------------------------------------------------------------------------------===//

Sequences Entries::addSequences(StringRef side, StringRef sequences, StringRef longest) {
  // A sequence without tokens may start behind the last token.
  Value starts = graph.addIndices((side + "_starts").str(), sequences, d.maxTokens + 1);
  Value lengths = graph.addIndices((side + "_lengths").str(), sequences, d.maxLength + 1);
  return {starts, lengths, longest};
}

Tokens Entries::addSource() {
  Value ids = graph.addIndices("source", kSourceTokens, d.vocabSize);
  Value positions = graph.addIndices("source_positions", kSourceTokens, d.maxLength);
  Value types = d.tokenTypes > 0 ? graph.addIndices("source_types", kSourceTokens, d.tokenTypes) : Value();
  return {ids, positions, addSequences("source", kSequences, kSourceLength), types};
}

Entries::Batch Entries::addBatch(bool labels) {
  Tokens source = d.hasEncoder() ? addSource() : Tokens();
  Value in = graph.addIndices("target_in", kTargetTokens, d.vocabSize);
  Value out = labels ? graph.addIndices("target_out", kTargetTokens, d.vocabSize) : Value();
  Value positions = graph.addIndices("target_positions", kTargetTokens, d.maxLength);
  return {source, {in, positions, addSequences("target", kSequences, kTargetLength)}, out};
}

//===-- Training (5) --------------------------------------------------------------------------------------------===//

/// The loss of a batch with label smoothing and dropout (5.4), whose masks follow the counter `step`. Adds the ports.
Value Entries::trainingLoss(StringRef step) {
  Batch batch = addBatch();
  Value lossScale = graph.addScalar("loss_scale");
  if (d.dropout > 0 || d.attentionDropout > 0)
    transformer.train({graph.read(kSeed), graph.read(step)});
  Value logits = decode(batch);
  transformer.infer();

  Graph::At at(graph, "label_smoothing", "loss");
  Type perToken = getDimType(cast<RankedTensorType>(logits.getType()), 0, graph.f32());
  auto entropy =
      graph.create<CrossEntropyOp>(perToken, perToken, logits, batch.targetOut, graph.number(d.labelSmoothing));
  Value scaled = graph.create<arith::MulFOp>(entropy.getLoss(), graph.broadcast(lossScale, perToken));
  Value loss = graph.create<SumOp>(lossScale.getType(), scaled, /*columns=*/false);
  graph.addOutput("loss", loss);
  return loss;
}

FloatAttr Entries::averageDecay() { return d.emaDecay > 0 ? graph.number(d.emaDecay) : FloatAttr(); }

IntegerAttr Entries::scaleInterval() {
  return d.scalesLoss() ? graph.builder.getI64IntegerAttr(d.lossScaleInterval) : IntegerAttr();
}

void Entries::buildTrainStep() {
  graph.beginEntry("train_step");
  Value loss = trainingLoss(kStep);
  Graph::At at(graph, "warmup", "optimizer");
  Value rate =
      graph.create<MinimizeOp>(loss, graph.number(d.learningRate), graph.builder.getI64IntegerAttr(d.warmup),
                               graph.number(d.adamBeta1), graph.number(d.adamBeta2), graph.number(d.adamEpsilon),
                               graph.number(d.clipNorm), averageDecay(), scaleInterval());
  graph.addOutput("learning_rate", rate);
  graph.endEntry();
}

void Entries::buildAccumulateStep() {
  Graph::At at(graph, "accumulate", "optimizer");
  graph.beginEntry("accumulate_step");
  // `step` stands still between two optimizer steps; dropout must not.
  Value loss = trainingLoss(kMicroStep);
  graph.create<AccumulateOp>(loss, d.scalesLoss());
  Value microStep = graph.read(kMicroStep);
  Value one = graph.fill(cast<RankedTensorType>(microStep.getType()), 1);
  graph.write(kMicroStep, graph.create<arith::AddIOp>(microStep, one));
  graph.endEntry();
}

void Entries::buildApplyStep() {
  Graph::At at(graph, "warmup", "optimizer");
  graph.beginEntry("apply_step");
  Value rate = graph.create<ApplyOp>(graph.number(d.learningRate), graph.builder.getI64IntegerAttr(d.warmup),
                                     graph.number(d.adamBeta1), graph.number(d.adamBeta2), graph.number(d.adamEpsilon),
                                     graph.number(d.clipNorm), averageDecay(), scaleInterval());
  graph.addOutput("learning_rate", rate);
  graph.endEntry();
}

void Entries::buildInit() {
  graph.beginEntry("init");
  Value seed = graph.read(kSeed);
  for (const Variable &variable : graph.getVariables()) {
    if (variable.name == kSeed)
      continue;
    const Initializer &initializer = variable.initializer;
    Graph::At at(graph, variable);
    Value value;
    if (initializer.kind == Initializer::Constant) {
      value = graph.fill(variable.type, initializer.scale);
    } else {
      auto distribution = initializer.kind == Initializer::Normal ? Distribution::Normal : Distribution::Uniform;
      value =
          graph.create<RandomOp>(variable.type, seed, DistributionAttr::get(graph.builder.getContext(), distribution),
                                 graph.number(initializer.scale), graph.whole(graph.nextStream()));
    }
    graph.write(variable.name, value);
  }
  graph.endEntry();
}

//===-- Evaluation and decoding (6.1) ---------------------------------------------------------------------------===//

/// The logits of a batch's target tokens.
Value Entries::decode(const Batch &batch) {
  Value encoded = d.hasEncoder() ? transformer.encode(batch.source) : Value();
  return transformer.decode(batch.targetIn, encoded, batch.source.sequences);
}

void Entries::buildEval() {
  graph.beginEntry("eval");
  Batch batch = addBatch();
  Value logits = decode(batch);
  Graph::At at(graph, "vocab_size", "loss");
  Type perToken = getDimType(cast<RankedTensorType>(logits.getType()), 0, graph.f32());
  auto entropy = graph.create<CrossEntropyOp>(perToken, perToken, logits, batch.targetOut, graph.number(0));
  graph.addOutput("token_loss", entropy.getLoss());
  graph.endEntry();
}

void Entries::buildLogits() {
  Graph::At at(graph, "logits_entry");
  graph.beginEntry("logits");
  graph.addOutput("logits", decode(addBatch(/*labels=*/false)));
  graph.endEntry();
}

/// The weights of every attention (3.2.1), as many keys at once as a head is wide. They are never in memory, but what
/// attention makes of one-hot values is: where the value of the key in slot i has a 1 in column i of each head, column
/// i of a head of softmax(Q K^T) V is that key's weight. A key whose slot is the head's width has no column.
void Entries::buildExplain() {
  Graph::At at(graph, "explain_entry", "explain");
  graph.beginEntry("explain");
  Batch batch = d.hasDecoder() ? addBatch(/*labels=*/false) : Batch{addSource(), {}, {}};
  Value ofSource = d.hasEncoder() ? addOneHot("source", kSourceTokens) : Value();
  Value ofTarget = d.hasDecoder() ? addOneHot("target", kTargetTokens) : Value();
  transformer.watch([&](StringRef name, function_ref<Value(Value)> attend) {
    bool ownTokens = name.starts_with("decoder.") && name.ends_with(".self");
    graph.addOutput(("weights." + name).str(), attend(ownTokens ? ofTarget : ofSource));
  });
  if (d.hasDecoder())
    decode(batch); // the logits, which nobody asks for, go
  else
    transformer.encode(batch.source);
  transformer.watch(nullptr);
  graph.endEntry();
}

/// tensor<tokens x d_model> with a 1 for each token in one column of each head, which an input says.
Value Entries::addOneHot(StringRef side, StringRef tokens) {
  int64_t headWidth = d.dModel / d.heads;
  Value slots = graph.addIndices((side + "_slots").str(), tokens, headWidth + 1);
  RankedTensorType indices = graph.tensor({tokens, d.dModel}, graph.i32());
  RankedTensorType values = graph.tensor({tokens, d.dModel}, graph.f32());
  Value columns = graph.broadcast(graph.create<IotaOp>(graph.tensor({d.dModel}, graph.i32())), indices);
  Value ofHead = graph.create<arith::RemUIOp>(columns, graph.fill(indices, static_cast<double>(headWidth)));
  Value isItsOwn = graph.create<arith::CmpIOp>(arith::CmpIPredicate::eq, ofHead, graph.broadcast(slots, indices));
  Value one = graph.fill(values, 1), zero = graph.fill(values, 0);
  return graph.create<arith::SelectOp>(isItsOwn, one, zero);
}

/// Runs the encoder and leaves its output behind, at `memory_rows` of the cross-attention caches, as the keys and
/// values that each decoder layer makes of it: they are the same for every token to come.
void Entries::buildEncode() {
  graph.beginEntry("encode");
  Tokens source = addSource();
  Value rows = graph.addIndices("memory_rows", kSourceTokens, d.maxTokens);
  Value encoded = transformer.encode(source);
  Graph::At at(graph, "max_tokens", "cache");
  for (int64_t i = 0; i < d.decoderLayers; ++i) {
    std::string layer = Transformer::decoderLayer(i);
    updateCache(cache(layer, "cross", "key"), rows, transformer.keys(layer + ".cross", encoded));
    updateCache(cache(layer, "cross", "value"), rows, transformer.values(layer + ".cross", encoded));
  }
  graph.endEntry();
}

/// One more token for each sequence. The self-attention caches hold the tokens before it, the cross-attention caches
/// what `encode` left there.
void Entries::buildDecodeStep() {
  graph.beginEntry("decode_step");
  Value token = graph.addIndices("token", kSequences, d.vocabSize);
  Value position = graph.addIndices("position", kSequences, d.maxLength);
  Value starts = graph.addIndices("query_starts", kSequences, d.maxSequences);
  Value lengths = graph.addIndices("query_lengths", kSequences, 2);
  Value rows = graph.addIndices("cache_rows", kSequences, d.maxTokens);
  Sequences cached = addSequences("cache", kSequences, kCacheLength);
  Sequences source = d.hasEncoder() ? addSequences("source", kSequences, kSourceLength) : Sequences();
  Value logits = decodeToken({token, position, {starts, lengths, /*longest=*/""}}, rows,
                             transformer.seenFromLast(cached), {}, source);
  Graph::At at(graph, "vocab_size", "argmax");
  graph.addOutput("next_token", graph.create<ArgmaxOp>(token.getType(), withoutPadding(logits)));
  graph.addOutput("logits", logits);
  graph.endEntry();
}

Value Entries::withoutPadding(Value logits) {
  if (!d.paddingId)
    return logits;
  auto type = cast<RankedTensorType>(logits.getType());
  RankedTensorType whole = getTypeOfDims({{type, 0}, {type, 1}}, graph.i32());
  Value column = graph.broadcast(graph.create<IotaOp>(graph.tensor({d.vocabSize}, graph.i32())), whole);
  Value padding = graph.create<arith::CmpIOp>(arith::CmpIPredicate::eq, column,
                                              graph.fill(whole, static_cast<double>(*d.paddingId)));
  Value never = graph.fill(type, -std::numeric_limits<double>::infinity());
  return graph.create<arith::SelectOp>(padding, never, logits);
}

/// One more token for each hypothesis of a beam search, and the best continuations of each group of hypotheses: those
/// of one sentence, neighbours in the batch. Hypothesis i continues hypothesis parent[i] of the step before with
/// `token`; its tokens' keys and values stay where they were written, and `cache.history` says where that was.
void Entries::buildBeamStep() {
  graph.beginEntry("beam_step");
  Value token = graph.addIndices("token", kSequences, d.vocabSize);
  Value position = graph.addIndices("position", kSequences, d.maxLength);
  Value parent = graph.addIndices("parent", kSequences, d.maxSequences);
  Value row = graph.addIndices("cache_row", kSequences, d.maxTokens);
  Value length = graph.addIndices("cache_lengths", kSequences, d.maxLength + 1);
  Sequences source = d.hasEncoder() ? addSequences("source", kSequences, kSourceLength) : Sequences();
  Value score = graph.addNumbers("score", kSequences);
  Value expected = graph.addIndices("expected", kSequences, d.vocabSize);
  Value groupStarts = graph.addIndices("group_starts", kGroups, d.maxSequences + 1);
  Value groupLengths = graph.addIndices("group_lengths", kGroups, d.beam + 1);

  auto perHypothesis = cast<RankedTensorType>(token.getType());
  Value hypotheses = graph.create<IotaOp>(perHypothesis);
  Value history = continueHistory(parent, position, row);
  updateCache(kHistory, hypotheses, history);
  Sequences past = transformer.seenFromLast({graph.fill(perHypothesis, 0), length, kCacheLength});
  Tokens tokens{token, position, {hypotheses, graph.fill(perHypothesis, 1), /*longest=*/""}};
  Value logits = withoutPadding(decodeToken(tokens, row, past, history, source));

  Graph::At at(graph, "beam", "beam");
  auto scored = cast<RankedTensorType>(logits.getType());
  auto entropy = graph.create<CrossEntropyOp>(score.getType(), score.getType(), logits, expected, graph.number(0));
  Value before = graph.create<arith::SubFOp>(score, entropy.getLogSumExp());
  Value scores = graph.add(logits, graph.broadcast(before, scored));
  // Half of twice as many as the beam is wide may end their sentence, and there still are as many to go on with.
  int64_t count = std::min(2 * d.beam, d.vocabSize);
  RankedTensorType indices = graph.tensor({kGroups, count}, graph.i32());
  auto best = graph.create<TopKOp>(graph.tensor({kGroups, count}, graph.f32()), indices, indices, scores, groupStarts,
                                   groupLengths, kBeam);
  graph.addOutput("best_score", best.getValues());
  graph.addOutput("best_parent", best.getRows());
  graph.addOutput("best_token", best.getColumns());
  graph.addOutput("expected_loss", entropy.getLoss());
  graph.addOutput("logits", logits);
  graph.endEntry();
}

/// The history of each hypothesis: its parent's, and at its own position the row where its token goes.
Value Entries::continueHistory(Value parent, Value position, Value row) {
  Graph::At at(graph, "beam", "history");
  RankedTensorType type = graph.tensor({kSequences, d.maxLength}, graph.i32());
  Value past = graph.create<EmbeddingOp>(type, parent, graph.read(kHistory));
  Value positions = graph.broadcast(graph.create<IotaOp>(graph.tensor({d.maxLength}, graph.i32())), type);
  Value isNew =
      graph.create<arith::CmpIOp>(arith::CmpIPredicate::eq, positions, graph.broadcast(position, type)).getResult();
  return graph.create<arith::SelectOp>(isNew, graph.broadcast(row, type), past);
}

Value Entries::decodeToken(const Tokens &token, Value rows, const Sequences &past, Value history,
                           const Sequences &source) {
  auto self = [&](StringRef layer, Value x) {
    Value keys = transformer.keys(layer + ".self", x), values = transformer.values(layer + ".self", x);
    return Memory{updateCache(cache(layer, "self", "key"), rows, keys),
                  updateCache(cache(layer, "self", "value"), rows, values), past, history};
  };
  auto cross = [&](StringRef layer, Value x) {
    return Memory{graph.read(cache(layer, "cross", "key")), graph.read(cache(layer, "cross", "value")), source};
  };
  return transformer.decodeStep(token, self, d.hasEncoder() ? Transformer::MemoryOf(cross) : nullptr);
}

//===-- An encoder alone ----------------------------------------------------------------------------------------===//

/// `encode` gives the hidden states of a batch, and a vector a sequence where that is asked for; `logits` what the head
/// says of each token.
void Entries::buildHidden() {
  graph.beginEntry("encode");
  Tokens source = addSource();
  Value hidden = transformer.encode(source);
  graph.addOutput("hidden", hidden);
  if (d.pooler)
    graph.addOutput("pooled", transformer.pool(hidden, source.sequences.starts));
  graph.endEntry();
  if (d.head == "none")
    return;
  Graph::At at(graph, "head");
  graph.beginEntry("logits");
  graph.addOutput("logits", transformer.logits(transformer.encode(addSource())));
  graph.endEntry();
}

std::string Entries::cache(StringRef layer, StringRef attention, StringRef part) {
  return ("cache." + layer + "." + attention + "." + part).str();
}

Value Entries::updateCache(StringRef name, Value indices, Value rows) {
  Value old = graph.read(name);
  Value updated = graph.create<ScatterRowsOp>(old.getType(), old, indices, rows);
  graph.write(name, updated);
  return updated;
}
