#include "runtime/train/Trainer.h"

#include "runtime/core/Log.h"
#include "runtime/core/Span.h"
#include "runtime/model/CallInputs.h"
#include "runtime/train/Adapter.h"

#include <chrono>
#include <cmath>
#include <map>

namespace heddle {
namespace {

template <typename T> Result<T> readScalar(PendingTensor &value, std::string_view name) {
  HEDDLE_ASSIGN(HostTensor tensor, value());
  if (tensor.type() != elementTypeOf<T>() || tensor.bytes().size() != sizeof(T))
    return makeError(ErrorKind::Malformed, "the entry's '", name, "' is ", describe(tensor.type(), tensor.shape()),
                     ", and a training needs a single ", toString(elementTypeOf<T>()), "; compile the model anew.");
  return tensor.values<T>()[0];
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

static bool hasPackedWeights(const Engine &engine) {
  return std::ranges::any_of(engine.variables(), [](const VariableInfo &variable) {
    return variable.role == VariableRole::Scales || (variable.kind == VariableKind::Weight && variable.isNarrow());
  });
}

Trainer::Trainer(Engine &engine, TrainingInputs inputs, TrainerOptions options, std::function<bool()> stopRequested)
    : engine(engine), inputs(inputs), options(std::move(options)), stopRequested(std::move(stopRequested)),
      preference(PreferenceLoss::of(inputs.model)), checkpoints(this->options.checkpoint, this->options.keepLast) {}

Status Trainer::prepare(bool fresh) {
  std::vector<std::string_view> entries = entriesOfStep();
  for (std::string_view entry : entries)
    if (!engine.hasEntry(entry))
      return makeError(
          ErrorKind::Unsupported, "the artifact has no entry '", entry, "'",
          batchesOfRank() > 1 && !engine.hasEntry("accumulate_step")
              ? ", which --accumulate needs; compile the model with --set accumulate=true."
          : rankCount() > 1 && engine.hasEntry("train_step")
              ? ", with which several ranks train together; compile the model with --shard=none."
          : hasPackedWeights(engine)
              ? "; its weights are packed or of 16 bits, and such weights are not trained. Compile the model with "
                "--weights=f32, or train an adapter beside them (--lora)."
              : "; it was not compiled for training.");
  if (!inputs.validation.empty() && isFirst())
    entries.push_back("eval");
  if (!inputs.validationText.source.empty() && isFirst())
    entries.insert(entries.end(), {"encode", "beam_step"});
  if (fresh)
    entries.push_back("init");
  return engine.prepare(entries, options.kernelProgress);
}

std::vector<std::string_view> Trainer::entriesOfStep() const {
  bool isAlone = rankCount() == 1;
  if (batchesOfRank() > 1)
    return {"accumulate_step", isAlone ? "apply_step" : "parallel_apply_step"};
  return {isAlone ? "train_step" : "parallel_train_step"};
}

void Trainer::busy(std::string_view what) const {
  if (options.ranks)
    options.ranks->others().busy(what);
}

Status Trainer::share() { return options.ranks ? shareState(*options.ranks, engine) : Status(Success()); }

void Trainer::serveFrom(DataCursor cursor) {
  batches =
      std::make_unique<BatchSource>(inputs.corpus, BatchOptions{options.limits, seed(), options.windowLines}, cursor);
}

nlohmann::json Trainer::batching() const {
  nlohmann::json flags = {{"accumulate", options.microBatches},
                          {"batch-sequences", options.limits.maximumSequences},
                          {"batch-tokens", options.limits.maximumTokens},
                          {"max_length", options.limits.maximumLength},
                          {"shuffle-window", options.windowLines}};
  if (!options.documents.empty())
    flags["documents"] = options.documents;
  return flags;
}

Status Trainer::begin() {
  HEDDLE_CHECK(prepare(/*fresh=*/true));
  serveFrom({});
  HEDDLE_ASSIGN(baseHash, hashFrozen(engine));
  std::map<std::string, HostTensor> ofBase; // initial values of weights trained in addition to adapters
  for (const std::string &name : weightsBesideAdapters(engine)) {
    HEDDLE_ASSIGN(ofBase[name], engine.readVariable(name));
  }
  HEDDLE_CHECK(engine.init(seed()));
  for (const auto &[name, value] : ofBase)
    HEDDLE_CHECK(engine.writeVariable(name, value));
  return Success();
}

// An adapter is useless with other base weights than those it was trained with.
Status Trainer::checkBase(const Manifest &manifest, const std::filesystem::path &checkpoint) {
  HEDDLE_ASSIGN(baseHash, hashFrozen(engine));
  if (manifest.baseHash.empty() || manifest.baseHash == baseHash)
    return Success();
  std::string message = str("the checkpoint '", checkpoint.string(), "' is of an adapter to the weights of '",
                            manifest.base, "', and the weights of --base=", options.base, " are others");
  if (options.others == OtherMeaning::Refuse)
    return makeError(ErrorKind::InvalidArgument, message,
                     ". Name the base that it was trained with; --force goes on with this one all the same.");
  log(LogLevel::Warning, message);
  return Success();
}

Status Trainer::resume() {
  HEDDLE_CHECK(prepare(/*fresh=*/false));
  HEDDLE_ASSIGN(std::filesystem::path checkpoint, findCheckpoint(options.checkpoint));
  HEDDLE_ASSIGN(Manifest manifest,
                loadCheckpoint(checkpoint, engine, inputs.model, CheckpointUse::Training, options.others));
  HEDDLE_CHECK(checkBase(manifest, checkpoint));
  HEDDLE_ASSIGN(HostTensor step, engine.readVariable(engine.variableOf(VariableRole::Steps)));
  if (step.type() != ElementType::I32 || step.values<int32_t>().size() != 1 ||
      uint64_t(step.values<int32_t>()[0]) != manifest.step)
    return makeError(ErrorKind::Malformed, "the checkpoint '", checkpoint.string(), "' says step ", manifest.step,
                     " in its manifest and another in its optimizer's state; use another checkpoint.");
  auto compiledAnew = differences(manifest.description, inputs.model.json, /*functionOnly=*/false);
  for (const std::string &difference : compiledAnew)
    log(LogLevel::Warning, str("the model was compiled anew since the checkpoint, with another ", difference));
  if (compiledAnew.empty() && manifest.artifactSeal != engine.artifactSeal())
    log(LogLevel::Warning, "the model was compiled anew since the checkpoint, by another compiler or for another "
                           "target: results may differ in their last digits");

  taken = manifest.step;
  options.seed = manifest.seed;
  validated = manifest.validation;
  DataCursor cursor = manifest.cursor;
  if (manifest.dataFingerprint != inputs.corpus.fingerprint()) {
    log(LogLevel::Warning, "the training text is not the text of the checkpoint; its first epoch begins now");
    cursor = {};
  } else if (auto changed = differences(manifest.batching, batching(), /*functionOnly=*/false); !changed.empty()) {
    for (const std::string &flag : changed)
      log(LogLevel::Warning, str("batches differ from the batches of the checkpoint, by ", flag));
    if (cursor.batch != 0 || cursor.window != 0)
      cursor = {cursor.epoch + 1, 0, 0};
  }
  serveFrom(cursor);
  resumed = true;
  return Success();
}

Status Trainer::checkLoss(double loss, std::string_view entry, uint64_t step) const {
  // A uniform guess over all tokens or labels has a loss of log(their number). A model that learns stays below ten
  // times that.
  double limit = 10 * std::log(double(std::max<int64_t>(inputs.model.choices(), 3)));
  // The losses of grades, of vectors and of preferences have no such bound.
  bool isBounded =
      inputs.model.labelling() != Labelling::Grades && inputs.model.architecture != kEmbedder && !preference;
  if (std::isfinite(loss) && (loss <= limit || !isBounded))
    return Success();
  return makeError(ErrorKind::InvalidArgument, "the loss is ", loss, " at step ", step, ", in the entry '", entry,
                   std::isfinite(loss) ? str("', and ten times the loss of a blind guess is ", limit) : "'",
                   ": the training has diverged and stops; the last checkpoint stays as it is. Try a lower "
                   "learning_rate, a longer warmup or clip_norm",
                   std::isfinite(loss) ? "."
                                       : "; --debug-numerics names the op that computed the first NaN or infinity.");
}

Result<Trainer::StartedStep> Trainer::startStep() {
  StartedStep started;
  StepReport &report = started.report;
  started.start = std::chrono::steady_clock::now();
  report.step = taken + 1;
  Span span("step");
  span.with("step", int64_t(report.step));
  if (options.ranks)
    options.ranks->others().atStep(report.step);
  busy("reading text");
  uint32_t rank = options.ranks ? options.ranks->rank() : 0;
  std::vector<BatchPart> parts;
  std::optional<Span> gathering(std::in_place, "get batches");
  BatchTotals whole;
  for (uint64_t i = 0; i < options.microBatches; ++i) {
    HEDDLE_ASSIGN(BatchPart part,
                  sharesOutWholeBatches() ? batches->nextPart(0, 1) : batches->nextPart(rank, rankCount()));
    whole.add(part.whole);
    if (!sharesOutWholeBatches() || i / batchesOfRank() == rank)
      parts.push_back(std::move(part));
  }
  report.sourceTokens = whole.sourceTokens;
  report.targetTokens = whole.targetTokens;
  report.labels = whole.labels;
  report.predictions = whole.predictions;
  report.sentences = whole.sentences;
  gathering.reset();
  span.with("source_tokens", report.sourceTokens).with("target_tokens", report.targetTokens);
  report.dataSeconds = secondsSince(started.start);
  report.epoch = batches->cursor().epoch;

  std::vector<std::string_view> entries = entriesOfStep();
  started.lastEntry = entries.front();
  if (options.ranks)
    options.ranks->others().at("starting the step");
  for (const BatchPart &share : parts) {
    const Batch &part = share.batch;
    float counts = share.counts ? 1.0f : 0.0f;
    float tokenScale = counts / float(report.predictions), sentenceScale = counts / float(report.sentences);
    CallInputs values;
    std::vector<float> ones; // the weights of a batch in which all tokens count
    if (inputs.model.weighsTokens) {
      ones.assign(part.weights.empty() ? size_t(part.target.tokens()) : 0, 1.0f);
      values.add("token_weights", std::span<const float>(ones.empty() ? part.weights : ones));
    }
    std::vector<float> before;
    if (preference) {
      HEDDLE_ASSIGN(before, reference->of(part));
      values.add("partner", std::span<const int32_t>(part.partner))
          .add("preferred", std::span<const float>(part.preferred))
          .add("reference", std::span<const float>(before));
    }
    HEDDLE_CHECK(values.addBatch(engine.findEntry(started.lastEntry), part));
    values.add("token_scale", std::span<const float>(&tokenScale, 1));
    if (report.sentences != 0)
      values.add("sentence_scale", std::span<const float>(&sentenceScale, 1));
    if (Status status = engine.run(started.lastEntry, values); !status)
      return std::move(status).error().within(str("step ", report.step));
    HEDDLE_ASSIGN(started.losses.emplace_back(), engine.outputLater("loss"));
  }
  if (entries.size() > 1)
    if (Status status = engine.run(entries.back(), {}); !status)
      return std::move(status).error().within(str("step ", report.step));
  HEDDLE_ASSIGN(started.learningRate, engine.outputLater("learning_rate"));
  if (inputs.model.scalesLoss) {
    HEDDLE_ASSIGN(started.lossScale, engine.variableLater(engine.variableOf(VariableRole::LossScale)));
    HEDDLE_ASSIGN(started.skipped, engine.variableLater(engine.variableOf(VariableRole::SkippedSteps)));
  }
  taken = report.step;
  return started;
}

Result<StepReport> Trainer::finishStep(StartedStep &started) {
  StepReport report = started.report;
  Span span("wait for step");
  span.with("step", int64_t(report.step));
  if (options.ranks)
    options.ranks->atRun("computing");
  for (PendingTensor &part : started.losses) {
    HEDDLE_ASSIGN(float loss, readScalar<float>(part, "loss"));
    report.loss += double(loss);
  }
  if (options.ranks) {
    HEDDLE_ASSIGN(std::vector<double> sums,
                  options.ranks->others().sum({report.loss, stopRequested() ? 1.0 : 0.0}, "the sum of the losses"));
    report.loss = sums[0];
    stopAgreed |= sums[1] > 0;
    options.ranks->others().at("finishing the step");
  }
  HEDDLE_CHECK(checkLoss(report.loss, started.lastEntry, report.step));
  HEDDLE_ASSIGN(report.learningRate, readScalar<float>(started.learningRate, "learning_rate"));
  if (inputs.model.scalesLoss) {
    HEDDLE_ASSIGN(report.lossScale, readScalar<float>(started.lossScale, variableName(VariableRole::LossScale)));
    HEDDLE_ASSIGN(int32_t count, readScalar<int32_t>(started.skipped, variableName(VariableRole::SkippedSteps)));
    report.skipped = skipped = uint64_t(count);
  }
  // Steps overlap: the device starts this step when the previous one is done.
  report.seconds = secondsSince(std::max(started.start, finished));
  finished = std::chrono::steady_clock::now();
  return report;
}

Result<bool> Trainer::validate(TrainingObserver &observer) {
  observer.beginValidation();
  Span span("validate");
  span.with("step", int64_t(taken));
  EvaluationResult result;
  if (isFirst()) {
    busy("validating");
    HEDDLE_ASSIGN(result, preference ? evaluatePreferences(engine, inputs.validation, *preference, *reference)
                                     : evaluate(engine, inputs.validation));
    HEDDLE_CHECK(checkLoss(result.loss, "eval", taken));
    if (!inputs.validationText.source.empty()) {
      HEDDLE_ASSIGN(result.bleu, translationBleu(engine, inputs.model, inputs.vocabulary, inputs.validationText));
    }
  }
  if (options.ranks) {
    HEDDLE_ASSIGN(std::vector<double> sums, options.ranks->others().sum({result.loss}, "the validation of rank 0"));
    if (!isFirst())
      return validated.note(taken, sums[0]);
  }
  bool best = validated.note(taken, result.loss);
  HEDDLE_CHECK(observer.validation(taken, result, best));
  return best;
}

Status Trainer::save(TrainingObserver &observer) {
  if (!isFirst())
    return takePartInWriting(engine);
  busy("writing a checkpoint");
  observer.beginCheckpoint();
  Manifest manifest;
  manifest.step = taken;
  manifest.seed = seed();
  manifest.cursor = batches->cursor();
  manifest.dataFingerprint = inputs.corpus.fingerprint();
  manifest.batching = batching();
  manifest.validation = validated;
  manifest.artifactSeal = engine.artifactSeal();
  manifest.description = inputs.model.json;
  manifest.base = options.base;
  manifest.baseHash = baseHash;
  return checkpoints.save(engine, inputs.vocabulary, manifest);
}

Result<TrainingEnd> Trainer::run(TrainingObserver &observer) {
  if (!batches)
    return makeError(ErrorKind::InvalidArgument, "the training run has not begun: begin() or resume() comes first.");
  if (preference && !reference)
    return makeError(ErrorKind::InvalidArgument, "the model is trained on pairs of answers, which a reference has not "
                                                 "scored: setReference() comes first.");
  if (isFirst() && !hasFolder)
    HEDDLE_CHECK(checkpoints.open(/*isFresh=*/!resumed));
  hasFolder = true;
  auto due = [&](uint64_t every) { return every != 0 && taken % every == 0; };
  std::optional<uint64_t> savedAt;
  if (resumed)
    savedAt = taken;
  TrainingEnd end = TrainingEnd::Finished;
  std::optional<StartedStep> before; // a step whose loss has not been read
  auto finishBefore = [&]() -> Status {
    if (!before)
      return Success();
    HEDDLE_ASSIGN(StepReport report, finishStep(*before));
    before.reset();
    return observer.step(report);
  };
  while (taken < options.steps) {
    if (options.ranks ? stopAgreed : stopRequested()) {
      end = TrainingEnd::Stopped;
      break;
    }
    if (options.patience != 0 && validated.sinceBest >= options.patience) {
      end = TrainingEnd::Patience;
      break;
    }
    HEDDLE_CHECK(observer.beginStep());
    HEDDLE_ASSIGN(StartedStep started, startStep());
    if (std::string remark = batches->takeRemark(); !remark.empty())
      observer.remark(batches->isWarning() ? LogLevel::Warning : LogLevel::Info, "training: " + remark);
    HEDDLE_CHECK(finishBefore());
    before = std::move(started);
    // Check the step's loss before validating or saving.
    bool validates = !inputs.validation.empty() && (due(options.validateEvery) || taken == options.steps);
    if (validates || due(options.saveEvery))
      HEDDLE_CHECK(finishBefore());
    bool best = false;
    if (validates) {
      HEDDLE_ASSIGN(best, validate(observer));
    }
    if (due(options.saveEvery) || best) {
      HEDDLE_CHECK(save(observer));
      savedAt = taken;
    }
  }
  HEDDLE_CHECK(finishBefore());
  if (savedAt != taken)
    HEDDLE_CHECK(save(observer));
  return end;
}

} // namespace heddle
