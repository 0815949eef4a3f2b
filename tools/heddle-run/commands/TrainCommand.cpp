#include "tools/heddle-run/commands/Conversations.h"
#include "tools/heddle-run/commands/Opening.h"

#include "runtime/core/Gguf.h"
#include "runtime/core/Log.h"
#include "runtime/data/Records.h"
#include "runtime/data/TextRecords.h"
#include "runtime/ranks/Ranks.h"
#include "runtime/text/Hash.h"
#include "runtime/tokenizers/LabelledVocabulary.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/FolderLock.h"
#include "runtime/train/FolderSync.h"
#include "runtime/train/ResumeProof.h"
#include "runtime/train/Trainer.h"
#include "tools/heddle-run/report/Logging.h"
#include "tools/heddle-run/report/StopSignal.h"
#include "tools/heddle-run/report/TrainingReport.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace heddle::run {
namespace {

Status checkOptions(const TrainCommand &command) {
  if (command.validation.source.empty() != command.validation.target.empty())
    return makeError(ErrorKind::InvalidArgument, "--valid-src and --valid-tgt come together or not at all.");
  const char *validation = command.text.validationFlags();
  if (!command.validation.empty() && command.validation.textKind() != command.text.textKind())
    return makeError(ErrorKind::InvalidArgument, "the validation text is of the training text's kind: give ",
                     validation,
                     command.text.isPlain()     ? " beside --text."
                     : command.text.isRecords() ? " beside --data."
                                                : " beside --src and --tgt.");
  if (!command.weights.empty() && (command.resume || !command.vocabulary.empty()))
    return makeError(ErrorKind::InvalidArgument, "--weights begins a training with the weights and the vocabulary of '",
                     command.weights, "'; leave ", command.resume ? "--resume" : "--vocab", " out.");
  if (command.patience != 0 && command.validation.empty())
    return makeError(ErrorKind::InvalidArgument, "--patience counts validations: give ", validation,
                     ", or leave it out.");
  if (command.validateBleu && command.text.textKind() != TextKind::Pairs)
    return makeError(ErrorKind::InvalidArgument, "--validate-bleu translates sentence pairs; leave it out with ",
                     command.text.isPlain() ? "--text." : "--data.");
  if (command.validateBleu && command.validation.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "--validate-bleu translates the validation text: give --valid-src and --valid-tgt.");
  if (command.verifyResume && command.resume)
    return makeError(ErrorKind::InvalidArgument, "--verify-resume trains from the beginning, in a folder of its own; "
                                                 "leave --resume out.");
  if (command.verifyResume && !command.common.profile.empty())
    return makeError(ErrorKind::InvalidArgument, "--verify-resume trains three times; leave --profile out.");
  auto whole = [](const std::filesystem::path &file) {
    std::error_code error; // ignored: opening the file will report it
    return weakly_canonical(absolute(file, error), error);
  };
  if (!command.common.profile.empty() && whole(command.common.profile) == whole(command.log))
    return makeError(ErrorKind::InvalidArgument, "--log and --profile both name '", command.common.profile,
                     "'; name two files.");
  if (!command.resume)
    return Success();
  HEDDLE_ASSIGN(std::filesystem::path checkpoint, findCheckpoint(command.checkpoint));
  if (checkpoint == command.checkpoint)
    return makeError(
        ErrorKind::InvalidArgument, "'", command.checkpoint,
        "' is a single checkpoint of a training; --resume needs the folder that holds it, and goes on from "
        "the newest checkpoint there.");
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(checkpoint));
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

// Reads a language model's vocabulary from a folder or GGUF file, or a checkpoint's from its folder. Any other file is
// a SentencePiece model.
Result<std::unique_ptr<TextCodec>> readVocabulary(const std::filesystem::path &path) {
  std::error_code error;
  auto has = [&](const char *name) { return std::filesystem::exists(path / name, error); };
  if (has("manifest.json") || !listCheckpoints(path).empty())
    return loadCheckpointVocabulary(path);
  if (std::filesystem::is_directory(path, error) || isGgufFile(path)) {
    HEDDLE_ASSIGN(PublishedVocabulary published, PublishedVocabulary::load(path));
    return std::make_unique<PublishedVocabulary>(std::move(published));
  }
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::load(path));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

Result<std::unique_ptr<TextCodec>> learnVocabulary(const TrainCommand &command, const ModelDescription &model,
                                                   const LineBlocks &text) {
  if (Marks learnt; model.marks.begin != learnt.begin || model.marks.end != learnt.end)
    return makeError(ErrorKind::InvalidArgument, "the model marks the begin of a text by token ", model.marks.begin,
                     " and its end by ", model.marks.end, ", and a vocabulary that is learnt has ", learnt.begin,
                     " and ", learnt.end,
                     ": give the vocabulary that the model was made with, by --vocab=FOLDER or, "
                     "with its weights, by --weights=FOLDER.");
  log(LogLevel::Info, str("learning a vocabulary of ", model.vocabularySize, " pieces"));
  VocabularyTraining how;
  how.type = command.vocabularyType == "word"      ? VocabularyType::Word
             : command.vocabularyType == "unigram" ? VocabularyType::Unigram
                                                   : VocabularyType::Bpe;
  how.mask = model.labelling() == Labelling::Hidden;
  how.lineEnds = command.text.isPlain() && command.text.kind() != DocumentKind::Line && !how.mask;
  if (command.text.isRecords())
    how.textOfLine = model.labelling() == Labelling::None ? textOfTextRecord
                     : isOfPairs(model.labelling())       ? textOfPair
                                                          : textOfRecord;
  std::vector<std::filesystem::path> files = text.files();
  if (model.marks.image.pixels() > 0) // the vocabulary is for captions; the sources are images
    files = {files.back()};
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::train(files, int32_t(model.vocabularySize), how));
  if (tokenizer.pieces() < model.vocabularySize)
    log(LogLevel::Warning, str("the training text gives only ", tokenizer.pieces(), " pieces; the model's other ",
                               model.vocabularySize - tokenizer.pieces(), " stay unused"));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

Result<std::unique_ptr<TextCodec>> makeVocabulary(const TrainCommand &command, const ModelDescription &model,
                                                  SessionEngine &engine, const LineBlocks &text) {
  if (command.resume)
    return loadVocabulary(command.checkpoint, engine, model);
  if (!command.common.base.empty() && command.vocabulary.empty())
    return loadVocabulary(command.common.base, engine, model);
  if (!command.weights.empty())
    return loadVocabulary(command.weights, engine, model);
  if (!command.vocabulary.empty())
    return readVocabulary(command.vocabulary);
  if (model.marks.image.pixels() > 0 && model.labelling() == Labelling::Texts)
    return std::make_unique<NoTokens>();
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> embedded, embeddedVocabulary(engine));
  return embedded ? std::move(embedded) : learnVocabulary(command, model, text);
}

// Returns the labels of the records. Also finds mistakes in records now, instead of in the middle of an epoch or as a
// text from which no vocabulary can be learnt.
Result<std::vector<std::string>> readLabels(const LineBlocks &records, Labelling kind, const ConversationReader &chat) {
  if (kind == Labelling::None) {
    HEDDLE_CHECK(checkTextRecords(records, chat));
    return std::vector<std::string>();
  }
  HEDDLE_ASSIGN(std::vector<std::string> labels, collectLabels(records, kind));
  if (labels.empty() && kind != Labelling::Grades)
    return makeError(ErrorKind::InvalidArgument, "'", records.source().string(), "' has no record.");
  return labels;
}

// Adds the labels to the vocabulary, unless it comes from a checkpoint that has labels.
Result<std::unique_ptr<TextCodec>> withLabels(std::unique_ptr<TextCodec> vocabulary, const ModelDescription &model,
                                              std::vector<std::string> labels) {
  if (!vocabulary->labels().empty() || model.labelling() == Labelling::Grades)
    return vocabulary;
  if (int64_t(labels.size()) > model.classes)
    return makeError(ErrorKind::InvalidArgument, "the records have ", labels.size(), " labels and the model room for ",
                     model.classes, "; compile it for as many, with --set classes=", labels.size(),
                     " where the text has that parameter.");
  if (int64_t(labels.size()) < model.classes)
    log(LogLevel::Warning, str("the records have only ", labels.size(), labels.size() == 1 ? " label" : " labels",
                               "; the model's other ", model.classes - int64_t(labels.size()), " stay unused"));
  return std::make_unique<LabelledVocabulary>(std::move(vocabulary), std::move(labels));
}

// Returns the folder for a decompressed copy of the text: on the disk of the checkpoints.
std::filesystem::path spoolFolder(const TrainCommand &command) {
  std::error_code error;
  std::filesystem::path folder = plainPath(command.checkpoint);
  while (!std::filesystem::is_directory(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder;
}

// Reads a first batch. A text without examples, or with a mistake in its first lines, then fails before an earlier
// training run is set aside.
Status checkText(const ExampleBlocks &corpus, const TrainerOptions &options) {
  constexpr uint64_t kLines = 1 << 12; // reading them takes a moment
  BatchSource batches(corpus, {options.limits, options.seed, std::min(options.windowLines, kLines)});
  HEDDLE_CHECK(batches.next());
  return Success();
}

TrainerOptions trainerOptions(const TrainCommand &command, const BatchLimits &limits, Ranks *ranks) {
  TrainerOptions options;
  options.checkpoint = command.checkpoint;
  options.steps = command.steps;
  options.seed = command.seed.value_or(options.seed);
  options.microBatches = command.microBatches;
  options.validateEvery = command.validateEvery;
  options.patience = command.patience;
  options.saveEvery = command.saveEvery;
  options.keepLast = command.keepLast;
  options.windowLines = command.shuffleWindow;
  if (command.text.isPlain())
    options.documents = command.text.documents;
  options.limits = limits;
  options.ranks = ranks;
  options.others = command.common.others;
  options.base = command.common.base;
  return options;
}

Status verifyResume(const TrainCommand &command, std::unique_ptr<SessionEngine> opened, TrainingInputs inputs,
                    const TrainerOptions &options) {
  std::filesystem::path folder = plainPath(command.checkpoint);
  folder += str(".verify.", ::getpid());
  std::error_code error;
  Progress progress(stderr, isatty(STDERR_FILENO), options.steps);
  TrainingLog nowhere;
  TrainingReport report(progress, nowhere, /*profile=*/nullptr);
  auto open = [&]() -> Result<std::unique_ptr<Engine>> {
    if (opened)
      return std::unique_ptr<Engine>(std::move(opened));
    HEDDLE_ASSIGN(std::unique_ptr<SessionEngine> again, openEngine(command.common, nullptr));
    HEDDLE_CHECK(openBase(command.common, "", *again, inputs.model));
    return std::unique_ptr<Engine>(std::move(again));
  };
  Result<ResumeProof> proof = proveResume(open, inputs, options, folder, report);
  std::filesystem::remove_all(folder, error);
  HEDDLE_CHECK(proof);
  std::vector<std::string> differences = proof->differences();
  if (!differences.empty()) {
    std::string list;
    for (const std::string &name : differences)
      list += (list.empty() ? "" : ", ") + name;
    return makeError(ErrorKind::Unsupported, "a training that is interrupted after step ", proof->interruptedAfter,
                     " and resumed is not the training that runs through: after step ", proof->steps,
                     " they differ in ", list, ".");
  }
  std::printf("%llu steps at once, and %llu and %llu with a checkpoint between them, end alike:\n",
              static_cast<unsigned long long>(proof->steps), static_cast<unsigned long long>(proof->interruptedAfter),
              static_cast<unsigned long long>(proof->steps - proof->interruptedAfter));
  for (const auto &[name, hash] : proof->whole.files)
    std::printf("%s %s\n", hash.c_str(), name.c_str());
  return Success();
}

std::string describeEnd(TrainingEnd end, const Trainer &trainer, const TrainCommand &command) {
  switch (end) {
  case TrainingEnd::Finished:
    return str("trained ", trainer.step(), trainer.step() == 1 ? " step" : " steps", "; checkpoint ",
               command.checkpoint);
  case TrainingEnd::Stopped:
    return str("stopped by a signal after step ", trainer.step(), "; checkpoint ", command.checkpoint,
               "; --resume continues");
  case TrainingEnd::Patience:
    return str("stopped after step ", trainer.step(), ": the last ", trainer.validations().sinceBest,
               " validations were no better than the validation of step ", trainer.validations().bestStep,
               "; checkpoint ", command.checkpoint, "/best");
  }
  return {};
}

// Fails unless all ranks have the same inputs and flags.
Status checkRanks(Ranks &ranks, const TrainCommand &command, const Trainer &trainer, SessionEngine &engine,
                  const TextCodec &vocabulary, const ExampleBlocks &corpus, const BatchLimits &limits) {
  std::string pieces, checkpoint = "none";
  for (const TokenizerFile &file : vocabulary.files())
    pieces += file.name + file.bytes;
  if (command.resume) {
    HEDDLE_ASSIGN(std::filesystem::path folder, findCheckpoint(command.checkpoint));
    HEDDLE_ASSIGN(Manifest manifest, Manifest::read(folder));
    checkpoint = manifest.toJson();
  }
  HEDDLE_ASSIGN(std::string base, hashFrozen(engine)); // the ranks do not send it to each other
  auto number = [](uint64_t value) { return std::to_string(value); };
  return checkAlike(ranks, {{"artifact", number(engine.artifactSeal())},
                            {"training text", corpus.fingerprint()},
                            {"vocabulary", pieces},
                            {"--resume", number(command.resume)},
                            {"checkpoint", checkpoint},
                            {"frozen weights", base},
                            {"--seed", number(trainer.seed())},
                            {"--accumulate", number(command.microBatches)},
                            {"--batch-tokens", number(uint64_t(limits.maximumTokens))},
                            {"--batch-sequences", number(uint64_t(limits.maximumSequences))},
                            {"--steps", number(command.steps)},
                            {"--shuffle-window", number(command.shuffleWindow)},
                            {"--validate-every", number(command.validateEvery)},
                            {"--save-every", number(command.saveEvery)},
                            {"--patience", number(command.patience)},
                            {"text for validation", number(!command.validation.empty())},
                            {"--weights", number(!command.weights.empty())}});
}

// Logs which part of a sharded optimizer's state this rank keeps.
void describeState(SessionEngine &engine) {
  uint64_t whole = 0;
  bool isSharded = false;
  for (const VariableInfo &variable : engine.variables())
    if (variable.kind == VariableKind::OptimizerState && !variable.isStorage) {
      whole += variable.bytes;
      isSharded |= variable.isSharded;
    }
  if (isSharded)
    log(LogLevel::Info, str("of the optimizer's state, ", describeBytes(whole), ", each rank keeps ",
                            describeBytes(engine.onDevice().memory().optimizerState)));
}

// Trains. The function may pass `engine` on; then it is null at the end.
Status trainOn(std::unique_ptr<SessionEngine> &engine, const TrainCommand &command, Profile *profile, Ranks *ranks) {
  bool isFirst = !ranks || ranks->isFirst(); // only the first rank writes files and messages
  std::optional<FolderLock> lock;
  if (!command.verifyResume && isFirst) {
    HEDDLE_ASSIGN(lock, FolderLock::take(command.checkpoint));
    HEDDLE_CHECK(TrainingLog::check(command.log, command.tensorboard));
  }
  HEDDLE_ASSIGN(engine, openEngine(command.common, profile, ranks));
  if (ranks) {
    const std::string &reason = ranks->reasonAgainstNccl();
    log(LogLevel::Info, str("the ranks exchange gradients by ", ranks->describeTransport(),
                            reason.empty() ? "" : str("; not by NCCL: ", reason)));
    engine->beforeRun = [ranks] { ranks->atRun("computing"); };
  }
  HEDDLE_ASSIGN(ModelDescription model, ModelDescription::parse(engine->description()));
  HEDDLE_CHECK(command.text.check(model, "train"));
  HEDDLE_CHECK(openBase(command.common, "", *engine, model));
  HEDDLE_ASSIGN(BatchLimits limits, batchLimits(command, model));
  HEDDLE_ASSIGN(LineBlocks text, command.text.open(spoolFolder(command)));
  if (text.lines() == 0)
    return makeError(ErrorKind::InvalidArgument, command.text.named(),
                     command.text.isPlain()     ? " is empty; give text."
                     : command.text.isRecords() ? " is empty; give records, each on a line of its own."
                                                : " are empty; give text with a sentence on each line.");
  std::vector<std::string> labels;
  ConversationReader chat =
      conversationReader(command.chatTemplate, command.resume                 ? command.checkpoint
                                               : !command.common.base.empty() ? command.common.base
                                                                              : command.weights);
  if (command.text.isRecords()) {
    HEDDLE_ASSIGN(labels, readLabels(text, model.labelling(), chat));
  }
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> vocabulary, makeVocabulary(command, model, *engine, text));
  HEDDLE_CHECK(adoptVocabulary(*vocabulary, model));
  limits.marks = model.marks;
  if (model.labelling() == Labelling::Hidden && (!vocabulary->maskId() || limits.maximumLength < 5))
    return makeError(ErrorKind::InvalidArgument,
                     !vocabulary->maskId() ? str("the vocabulary has no piece '", kMaskPiece,
                                                 "' to hide words behind; let it be learnt from the text.")
                                           : str("two sentences with their marks do not fit into a max_length of ",
                                                 limits.maximumLength, "."));
  if (command.text.isRecords() && model.labelling() != Labelling::None) {
    HEDDLE_ASSIGN(vocabulary, withLabels(std::move(vocabulary), model, std::move(labels)));
  }
  std::unique_ptr<ExampleBlocks> corpus = command.text.examples(text, *vocabulary, limits, model.labelling(), chat);
  std::vector<Batch> validation;
  ParallelText validationText;
  if (command.validateBleu)
    HEDDLE_CHECK(Translator::check(*engine, model, {}));
  if (!command.validation.empty()) {
    TextFiles files = command.validation;
    files.documents = command.text.documents;
    HEDDLE_ASSIGN(LineBlocks lines, files.open(spoolFolder(command)));
    HEDDLE_ASSIGN(PackedText packed, packText(files, lines, *vocabulary, limits, model.labelling(), chat, "use"));
    log(packed.report.isWorthAWarning() ? LogLevel::Warning : LogLevel::Info,
        "validation: " + packed.report.describe(limits.maximumLength));
    validation = std::move(packed.batches);
    if (command.validateBleu) {
      HEDDLE_ASSIGN(validationText, lines.readAll());
    }
  }
  TrainingInputs inputs{model, *vocabulary, *corpus, validation, validationText};
  TrainerOptions options = trainerOptions(command, limits, ranks);
  if (command.verifyResume)
    return verifyResume(command, std::move(engine), inputs, options);
  if (isFirst)
    HEDDLE_CHECK(checkText(*corpus, options));

  watchStopSignals();
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> nowhere(isFirst ? nullptr : std::fopen("/dev/null", "w"),
                                                           std::fclose);
  Progress progress(nowhere ? nowhere.get() : stderr, isFirst && isatty(STDERR_FILENO), command.steps);
  options.kernelProgress = [&](size_t done, size_t all) {
    progress.kernels(done, all);
    if (ranks)
      ranks->others().busy("compiling kernels");
  };
  Trainer trainer(*engine, inputs, options, [] { return stopSignal() != 0; });
  if (command.resume) {
    HEDDLE_CHECK(trainer.resume());
    log(LogLevel::Info, str("resuming after step ", trainer.step()));
    if (ranks)
      HEDDLE_CHECK(checkRanks(*ranks, command, trainer, *engine, *vocabulary, *corpus, limits));
    if (trainer.step() >= command.steps) {
      log(LogLevel::Warning, str("all ", command.steps, " steps are done; a larger --steps goes on"));
      return Success();
    }
  } else {
    HEDDLE_CHECK(trainer.begin());
    if (!command.weights.empty()) {
      if (isAdapter(command.weights))
        HEDDLE_CHECK(checkContinuation(command.weights, *engine));
      HEDDLE_ASSIGN(std::optional<uint64_t> step, loadWeights(command.weights, *engine, model, command.common.others));
      log(LogLevel::Info, str("begins with the weights of ", command.weights, " ", describeWeights(step)));
    }
    if (ranks) // the ranks meet here after all have loaded the weights, so the folder may be set aside
      HEDDLE_CHECK(checkRanks(*ranks, command, trainer, *engine, *vocabulary, *corpus, limits));
  }

  HEDDLE_CHECK(trainer.share());
  if (ranks)
    describeState(*engine);

  // From here on, files of an earlier training run are replaced.
  bool isOccupied = findCheckpoint(command.checkpoint).ok() || !listCheckpoints(command.checkpoint).empty();
  if (!command.resume && isFirst && isOccupied) {
    lock->release(); // the lock file must not be moved along
    HEDDLE_ASSIGN(std::filesystem::path moved, setAside(command.checkpoint));
    HEDDLE_ASSIGN(lock, FolderLock::take(command.checkpoint));
    std::error_code error;
    for (const std::filesystem::path file : {command.log, command.common.profile}) // their folders may have moved, too
      std::filesystem::create_directories(file.parent_path(), error);
    log(LogLevel::Warning, str("'", command.checkpoint, "' held an earlier training, which is now at '", moved.string(),
                               "'; --resume would have continued it"));
  }
  TrainingLog trainingLog;
  if (!command.log.empty() && isFirst)
    HEDDLE_CHECK(trainingLog.openJson(command.log, trainer.step()));
  if (!command.tensorboard.empty() && isFirst)
    HEDDLE_CHECK(trainingLog.openEvents(command.tensorboard, trainer.step()));
  TrainingReport report(progress, trainingLog, profile);
  HEDDLE_ASSIGN(TrainingEnd end, trainer.run(report));
  progress.clear();
  log(LogLevel::Info, describeEnd(end, trainer, command));
  if (trainer.skippedSteps() != 0)
    log(LogLevel::Info, str("of all ", trainer.step(), " steps, ", trainer.skippedSteps(),
                            " were skipped: their gradients overflowed"));
  return Success();
}

Status train(const TrainCommand &command, Profile *profile, Ranks *ranks) {
  std::unique_ptr<SessionEngine> engine;
  Status status = trainOn(engine, command, profile, ranks);
  if (!status && ranks) // tell the others before closing the device, as they may wait for this rank
    ranks->others().fail(status.message());
  return status;
}

} // namespace

namespace {

// With --restart-from-checkpoint, a launcher starts the same command again after any failure: resume if there is a
// checkpoint.
Status chooseStart(TrainCommand &command) {
  if (!command.restarts)
    return Success();
  if (command.resume || command.verifyResume)
    return makeError(ErrorKind::InvalidArgument,
                     "--restart-from-checkpoint resumes where there is a checkpoint; leave ",
                     command.resume ? "--resume" : "--verify-resume", " out.");
  Result<std::filesystem::path> newest = findCheckpoint(command.checkpoint);
  if (!newest && newest.error().kind != ErrorKind::NotFound)
    return std::move(newest).error();
  command.resume = newest.ok();
  if (command.resume) { // the checkpoint has both
    command.vocabulary.clear();
    command.weights.clear();
  }
  return Success();
}

Status trainAs(Ranks *ranks, TrainCommand command) {
  HEDDLE_CHECK(chooseStart(command));
  HEDDLE_CHECK(checkOptions(command));
  if (ranks && command.verifyResume)
    return makeError(ErrorKind::InvalidArgument,
                     "--verify-resume trains in one process; start it without other ranks.");
  if (ranks && !ranks->isFirst())
    command.common.profile.clear();
  std::vector<std::filesystem::path> read =
      filesRead(command.common, {command.vocabulary, command.weights}, {&command.text, &command.validation});
  HEDDLE_CHECK(cli::checkOutput("--log", command.log, read));
  return profiled(command.common, "train", read, [&](Profile *profile) {
    if (profile)
      profile->limitTo(command.profiledSteps.value_or(StepWindow()));
    return train(command, profile, ranks);
  });
}

void report(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "heddle-run train: %.*s\n", int(message.size()), message.data());
}

} // namespace

Status runTrain(const TrainCommand &command) {
  watchLostReader();
  HEDDLE_ASSIGN(RankPlace place, findRankPlace(command.ranks, [](const char *name) { return std::getenv(name); }));
  if (place.ranks == 1)
    return trainAs(nullptr, command);
  watchStopSignals(); // when a launcher ends this rank because another has ended, wait for the message that says which
  if (place.rank != 0)
    logOnlyProblems();
  MeetingOptions options{place, command.timeout, [] { return stopSignal() != 0; }, report};
  HEDDLE_ASSIGN(std::unique_ptr<Ranks> ranks, Ranks::join(options, command.transport));
  log(LogLevel::Info, str(place.ranks, " ranks, started by ", place.launcher));
  if (Status status = trainAs(ranks.get(), command); !status)
    ranks->others().fail(status.message());
  return Success();
}

} // namespace heddle::run
