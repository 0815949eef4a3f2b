#include "tools/heddle-run/model/Trainer.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/model/CallInputs.h"
#include "tools/heddle-run/model/Evaluator.h"

#include <chrono>
#include <cmath>
#include <optional>

namespace heddle::run {
namespace {

Result<double> readScalar(Engine &engine, std::string_view output) {
  HEDDLE_ASSIGN(HostTensor tensor, engine.output(output));
  if (tensor.type() != ElementType::F32 || tensor.bytes().size() != sizeof(float))
    return makeError(ErrorKind::Malformed, "the entry's output '", output, "' is ",
                     describe(tensor.type(), tensor.shape()),
                     ", and a training needs one f32; compile the model anew.");
  return double(tensor.values<float>()[0]);
}

} // namespace

Trainer::Trainer(Engine &engine, const ModelDescription &model, const Tokenizer &tokenizer, const SentencePairs &pairs,
                 std::vector<Batch> validation, TrainerOptions options, std::function<bool()> stopRequested)
    : engine(engine), model(model), tokenizer(tokenizer), pairs(pairs), validation(std::move(validation)),
      options(std::move(options)), stopRequested(std::move(stopRequested)),
      batches(pairs, this->options.limits, this->options.seed), fingerprint(hexadecimal(pairs.fingerprint())) {}

Status Trainer::prepare() {
  std::vector<std::string_view> entries;
  if (options.microBatches > 1)
    entries = {"accumulate_step", "apply_step"};
  else
    entries = {"train_step"};
  for (std::string_view entry : entries)
    if (!engine.hasEntry(entry))
      return makeError(ErrorKind::Unsupported, "the artifact has no entry '", entry, "'",
                       options.microBatches > 1
                           ? ", which --accumulate needs; compile the model with --set accumulate=true."
                           : "; it was not compiled for training.");
  if (!validation.empty())
    entries.push_back("eval");
  return engine.prepare(entries);
}

Status Trainer::begin() {
  HEDDLE_CHECK(prepare());
  return engine.init(options.seed);
}

Status Trainer::resume() {
  HEDDLE_CHECK(prepare());
  HEDDLE_ASSIGN(Manifest manifest, loadCheckpoint(options.checkpoint, engine, model, CheckpointUse::Training));
  HEDDLE_ASSIGN(HostTensor step, engine.readVariable("step"));
  if (step.type() != ElementType::I32 || step.values<int32_t>().size() != 1 ||
      uint64_t(step.values<int32_t>()[0]) != manifest.step)
    return makeError(ErrorKind::Malformed, "the checkpoint '", options.checkpoint.string(), "' says step ",
                     manifest.step, " in its manifest and another in its optimizer's state; use another checkpoint.");
  for (const std::string &difference : differences(manifest.description, model.json, /*functionOnly=*/false))
    log(LogLevel::Warning, str("the model was compiled anew since the checkpoint, with another ", difference));

  taken = manifest.step;
  options.seed = manifest.seed;
  DataCursor cursor = manifest.cursor;
  if (manifest.dataFingerprint != fingerprint) {
    log(LogLevel::Warning, "the training text is not that of the checkpoint; its first epoch begins now");
    cursor = {};
  }
  batches = BatchSource(pairs, options.limits, options.seed, cursor);
  resumed = true;
  return Success();
}

Result<StepReport> Trainer::takeStep() {
  auto start = std::chrono::steady_clock::now();
  StepReport report;
  report.step = taken + 1;
  std::vector<Batch> parts;
  for (uint64_t i = 0; i < options.microBatches; ++i) {
    parts.push_back(batches.next());
    report.sourceTokens += parts.back().source.layout.tokens();
    report.targetTokens += parts.back().target.tokens();
  }
  report.epoch = batches.cursor().epoch;

  std::string_view entry = options.microBatches > 1 ? "accumulate_step" : "train_step";
  float lossScale = 1 / float(report.targetTokens);
  for (const Batch &part : parts) {
    CallInputs inputs;
    inputs.addBatch(part).add("loss_scale", std::span<const float>(&lossScale, 1));
    HEDDLE_CHECK(engine.run(entry, inputs));
    HEDDLE_ASSIGN(double loss, readScalar(engine, "loss"));
    report.loss += loss;
  }
  if (!std::isfinite(report.loss))
    return makeError(ErrorKind::InvalidArgument, "the loss is ", report.loss, " at step ", report.step,
                     ": the training has diverged and stops; the last checkpoint stays as it is. Try a lower "
                     "learning_rate, a longer warmup or clip_norm.");
  if (options.microBatches > 1)
    HEDDLE_CHECK(engine.run("apply_step", {}));
  HEDDLE_ASSIGN(report.learningRate, readScalar(engine, "learning_rate"));
  taken = report.step;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

Status Trainer::validate(TrainingLog &log, Progress &progress) {
  HEDDLE_ASSIGN(EvaluationResult result, evaluate(engine, validation));
  progress.clear();
  char text[120];
  std::snprintf(text, sizeof text, "step %llu: validation loss %.4f, perplexity %.2f",
                static_cast<unsigned long long>(taken), result.loss, result.perplexity());
  heddle::log(LogLevel::Info, text);
  return log.validation(taken, result);
}

Status Trainer::save() {
  Manifest manifest;
  manifest.step = taken;
  manifest.seed = options.seed;
  manifest.cursor = batches.cursor();
  manifest.dataFingerprint = fingerprint;
  manifest.description = model.json;
  return saveCheckpoint(options.checkpoint, engine, tokenizer, manifest);
}

Result<TrainingEnd> Trainer::run(TrainingLog &log, Progress &progress) {
  auto due = [&](uint64_t every) { return every != 0 && taken % every == 0; };
  std::optional<uint64_t> savedAt;
  if (resumed)
    savedAt = taken;
  while (taken < options.steps) {
    if (stopRequested()) {
      progress.clear();
      if (savedAt != taken)
        HEDDLE_CHECK(save());
      return TrainingEnd::Stopped;
    }
    HEDDLE_ASSIGN(StepReport report, takeStep());
    HEDDLE_CHECK(log.step(report));
    progress.step(report);
    if (!validation.empty() && (due(options.validateEvery) || taken == options.steps))
      HEDDLE_CHECK(validate(log, progress));
    if (due(options.saveEvery) || taken == options.steps) {
      HEDDLE_CHECK(save());
      savedAt = taken;
    }
  }
  progress.clear();
  return TrainingEnd::Finished;
}

} // namespace heddle::run
