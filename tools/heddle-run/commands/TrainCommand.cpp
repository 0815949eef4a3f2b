#include "tools/heddle-run/commands/Opening.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/model/Trainer.h"
#include "tools/heddle-run/report/StopSignal.h"

#include <unistd.h>

namespace heddle::run {
namespace {

Status checkOptions(const TrainCommand &command) {
  if (command.validSource.empty() != command.validTarget.empty())
    return makeError(ErrorKind::InvalidArgument, "--valid-src and --valid-tgt come together or not at all.");
  if (!command.weights.empty() && (command.resume || !command.vocabulary.empty()))
    return makeError(ErrorKind::InvalidArgument, "--weights begins a training with the weights and the vocabulary of '",
                     command.weights, "'; leave ", command.resume ? "--resume" : "--vocab", " out.");
  if (!command.resume)
    return Success();
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(command.checkpoint));
  if (command.seed && *command.seed != manifest.seed)
    return makeError(ErrorKind::InvalidArgument, "--seed ", *command.seed, " contradicts the checkpoint '",
                     command.checkpoint, "', which was begun with seed ", manifest.seed, "; leave --seed out.");
  if (!command.vocabulary.empty())
    return makeError(ErrorKind::InvalidArgument, "--vocab and --resume contradict each other: the checkpoint '",
                     command.checkpoint, "' has its vocabulary.");
  return Success();
}

Result<BatchLimits> batchLimits(const TrainCommand &command, const ModelDescription &model) {
  BatchLimits limits = model.limits();
  auto lower = [](const char *flag, int64_t wanted, int64_t &limit, const char *key) -> Status {
    if (wanted == 0)
      return Success();
    if (wanted < 0 || wanted > limit)
      return makeError(ErrorKind::InvalidArgument, flag, " ", wanted, " is not between 1 and ", limit,
                       ", which the model was compiled for; compile it with --set ", key, "=", wanted,
                       " or use --accumulate.");
    limit = wanted;
    return Success();
  };
  HEDDLE_CHECK(lower("--batch-sequences", command.batchSequences, limits.maximumSequences, "max_sequences"));
  HEDDLE_CHECK(lower("--batch-tokens", command.batchTokens, limits.maximumTokens, "max_tokens"));
  limits.maximumLength = std::min(limits.maximumLength, limits.maximumTokens);
  return limits;
}

Result<Tokenizer> makeTokenizer(const TrainCommand &command, const ModelDescription &model) {
  if (command.resume)
    return Tokenizer::loadFolder(command.checkpoint);
  if (!command.weights.empty())
    return Tokenizer::loadFolder(command.weights);
  if (!command.vocabulary.empty())
    return Tokenizer::load(command.vocabulary);
  log(LogLevel::Info, str("learning a vocabulary of ", model.vocabularySize, " pieces"));
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::train({command.source, command.target}, int32_t(model.vocabularySize)));
  if (tokenizer.pieces() < model.vocabularySize)
    log(LogLevel::Warning, str("the training text gives only ", tokenizer.pieces(), " pieces; the model's other ",
                               model.vocabularySize - tokenizer.pieces(), " stay unused"));
  return tokenizer;
}

Result<SentencePairs> readPairs(const char *what, const std::string &source, const std::string &target,
                                const Tokenizer &tokenizer, const BatchLimits &limits) {
  HEDDLE_ASSIGN(Corpus corpus, readCorpus(source, target, tokenizer, limits.maximumLength));
  log(corpus.report.skipped() == 0 ? LogLevel::Info : LogLevel::Warning,
      str(what, ": ", corpus.report.describe(limits.maximumLength)));
  if (corpus.pairs.empty())
    return makeError(ErrorKind::InvalidArgument, "'", source, "' and '", target, "' leave no pair to use (",
                     corpus.report.describe(limits.maximumLength), ").");
  return std::move(corpus.pairs);
}

} // namespace

Status runTrain(const TrainCommand &command) {
  HEDDLE_CHECK(checkOptions(command));
  HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> engine, openEngine(command.common));
  HEDDLE_ASSIGN(ModelDescription model, ModelDescription::parse(engine->description()));
  HEDDLE_ASSIGN(BatchLimits limits, batchLimits(command, model));
  HEDDLE_ASSIGN(Tokenizer tokenizer, makeTokenizer(command, model));
  HEDDLE_CHECK(checkVocabulary(tokenizer, model));
  HEDDLE_ASSIGN(SentencePairs pairs, readPairs("training", command.source, command.target, tokenizer, limits));
  std::vector<Batch> validation;
  if (!command.validSource.empty()) {
    HEDDLE_ASSIGN(SentencePairs held,
                  readPairs("validation", command.validSource, command.validTarget, tokenizer, limits));
    validation = packInOrder(held, limits);
  }

  TrainerOptions options;
  options.checkpoint = command.checkpoint;
  options.steps = command.steps;
  options.seed = command.seed.value_or(options.seed);
  options.microBatches = command.microBatches;
  options.validateEvery = command.validateEvery;
  options.saveEvery = command.saveEvery;
  options.limits = limits;
  watchStopSignals();
  Trainer trainer(*engine, model, tokenizer, pairs, std::move(validation), options, [] { return stopSignal() != 0; });
  if (command.resume) {
    HEDDLE_CHECK(trainer.resume());
    log(LogLevel::Info, str("resuming after step ", trainer.step()));
    if (trainer.step() >= command.steps) {
      log(LogLevel::Warning, str("all ", command.steps, " steps are done; a larger --steps goes on"));
      return Success();
    }
  } else {
    HEDDLE_CHECK(trainer.begin());
    if (!command.weights.empty()) {
      HEDDLE_ASSIGN(std::string which, loadWeights(command.weights, *engine, model));
      log(LogLevel::Info, str("begins with the weights of ", command.weights, " ", which));
    }
    if (holdsCheckpoint(command.checkpoint)) {
      HEDDLE_ASSIGN(std::filesystem::path moved, setAside(command.checkpoint));
      log(LogLevel::Warning, str("'", command.checkpoint, "' held an earlier training, which is now at '",
                                 moved.string(), "'; --resume would have continued it"));
    }
  }

  TrainingLog trainingLog;
  if (!command.log.empty()) {
    HEDDLE_ASSIGN(trainingLog, TrainingLog::open(command.log, trainer.step()));
  }
  Progress progress(stderr, isatty(STDERR_FILENO), command.steps);
  HEDDLE_ASSIGN(TrainingEnd end, trainer.run(trainingLog, progress));
  log(LogLevel::Info, end == TrainingEnd::Finished
                          ? str("trained ", trainer.step(), " steps; checkpoint ", command.checkpoint)
                          : str("stopped by a signal after step ", trainer.step(), "; checkpoint ", command.checkpoint,
                                "; --resume continues"));
  return Success();
}

} // namespace heddle::run
