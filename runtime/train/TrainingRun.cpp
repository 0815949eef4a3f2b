#include "runtime/train/TrainingRun.h"

#include "runtime/core/Log.h"
#include "runtime/data/PreferenceRecords.h"
#include "runtime/data/Records.h"
#include "runtime/model/EmbeddingRule.h"
#include "runtime/model/Translator.h"
#include "runtime/text/Hash.h"
#include "runtime/tokenizers/LabelledVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/Conversations.h"
#include "runtime/train/FolderSync.h"
#include "runtime/train/ModelVocabulary.h"

#include <map>

namespace heddle {
namespace {

const std::map<std::string, VocabularyType> kVocabularyTypes = {
    {"bpe", VocabularyType::Bpe}, {"unigram", VocabularyType::Unigram}, {"word", VocabularyType::Word}};

Status checkResume(const TrainingOptions &options) {
  HEDDLE_ASSIGN(std::filesystem::path checkpoint, findCheckpoint(options.checkpoint));
  if (checkpoint == options.checkpoint)
    return makeError(ErrorKind::InvalidArgument, "'", options.checkpoint.string(),
                     "' is a single checkpoint of a training; --resume needs the folder that holds it, and goes on "
                     "from the newest checkpoint there.");
  HEDDLE_ASSIGN(Manifest manifest, Manifest::read(checkpoint));
  if (options.seed && *options.seed != manifest.seed)
    return makeError(ErrorKind::InvalidArgument, "--seed ", *options.seed, " contradicts the checkpoint '",
                     options.checkpoint.string(), "', which was begun with seed ", manifest.seed,
                     "; leave --seed out.");
  if (!options.vocabulary.empty())
    return makeError(ErrorKind::InvalidArgument, "--vocab and --resume contradict each other: the checkpoint '",
                     options.checkpoint.string(), "' has its vocabulary.");
  return Success();
}

Status checkOptions(const TrainingOptions &options) {
  for (auto [flag, value] : {std::pair("--steps", options.steps),
                             {"--accumulate", options.microBatches},
                             {"--shuffle-window", options.windowLines},
                             {"--keep-last", options.keepLast}})
    if (value == 0)
      return makeError(ErrorKind::InvalidArgument, flag, " is 0; it is at least 1.");
  if (options.checkpoint.empty())
    return makeError(ErrorKind::InvalidArgument, "--checkpoint names no folder; checkpoints need one.");
  if (!options.text.isOneKind())
    return makeError(ErrorKind::InvalidArgument,
                     "the text to train on is of one kind: give --src and --tgt, or --text, or --data.");
  const char *validation = options.text.validationFlags();
  if (options.validation.source.empty() != options.validation.target.empty())
    return makeError(ErrorKind::InvalidArgument, "--valid-src and --valid-tgt come together or not at all.");
  if (!options.validation.empty() &&
      (!options.validation.isOneKind() || options.validation.textKind() != options.text.textKind()))
    return makeError(ErrorKind::InvalidArgument, "the validation text is of the training text's kind: give ",
                     validation,
                     options.text.isPlain()     ? " beside --text."
                     : options.text.isRecords() ? " beside --data."
                                                : " beside --src and --tgt.");
  if (!options.weights.empty() && (options.resume || !options.vocabulary.empty()))
    return makeError(ErrorKind::InvalidArgument, "--weights begins a training with the weights and the vocabulary of '",
                     options.weights, "'; leave ", options.resume ? "--resume" : "--vocab", " out.");
  if (!kVocabularyTypes.contains(options.vocabularyType))
    return makeError(ErrorKind::InvalidArgument, "--vocab-type is '", options.vocabularyType,
                     "', and is bpe, unigram or word.");
  if (options.patience != 0 && options.validation.empty())
    return makeError(ErrorKind::InvalidArgument, "--patience counts validations: give ", validation,
                     ", or leave it out.");
  if (options.validateBleu && options.text.textKind() != TextKind::Pairs)
    return makeError(ErrorKind::InvalidArgument, "--validate-bleu translates sentence pairs; leave it out with ",
                     options.text.isPlain() ? "--text." : "--data.");
  if (options.validateBleu && options.validation.empty())
    return makeError(ErrorKind::InvalidArgument,
                     "--validate-bleu translates the validation text: give --valid-src and --valid-tgt.");
  return options.resume ? checkResume(options) : Status(Success());
}

// Returns the labels of the records. Also finds mistakes in records now, instead of in the middle of an epoch or as a
// text from which no vocabulary can be learnt.
Result<std::vector<std::string>> readLabels(const LineBlocks &records, const ModelDescription &model,
                                            const ConversationReader &chat) {
  Labelling kind = model.labelling();
  if (kind == Labelling::None) {
    HEDDLE_CHECK(model.prefers ? checkRecords<PreferenceRecord>(records, chat)
                               : checkRecords<TextRecord>(records, chat));
    return std::vector<std::string>();
  }
  HEDDLE_ASSIGN(std::vector<std::string> labels, collectLabels(records, kind));
  bool areNamed = kind != Labelling::Grades && kind != Labelling::Partners;
  if (labels.empty() && areNamed)
    return makeError(ErrorKind::InvalidArgument, "'", records.source().string(), "' has no record.");
  return labels;
}

} // namespace

Result<std::unique_ptr<TrainingRun>> TrainingRun::open(TrainingOptions options) {
  HEDDLE_CHECK(checkOptions(options));
  std::unique_ptr<TrainingRun> run(new TrainingRun(std::move(options)));
  if (run->isFirst()) {
    HEDDLE_ASSIGN(run->lock, FolderLock::take(run->options.checkpoint));
  }
  return run;
}

// Lowers the limits of a batch from the maxima of the compiled model to the options.
Status TrainingRun::setLimits() {
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
  HEDDLE_CHECK(lower("--batch-sequences", options.batchSequences, limits.maximumSequences, "max_sequences"));
  HEDDLE_CHECK(lower("--batch-tokens", options.batchTokens, limits.maximumTokens, "max_tokens"));
  bool joinsPairs = model.prefers || model.marks.joinsPairs;
  if (joinsPairs && limits.maximumSequences < 2)
    return makeError(ErrorKind::InvalidArgument, "a batch holds ", limits.maximumSequences, " sequence, and a pair of ",
                     model.prefers ? "answers" : "texts", " has two: raise max_sequences or --batch-sequences.");
  limits.maximumLength = std::min(limits.maximumLength, limits.maximumTokens / (joinsPairs ? 2 : 1));
  options.limits = limits;
  return Success();
}

// Warns if the folder that the weights come from makes vectors of hidden states in another way than the model.
Status TrainingRun::comparePooling() const {
  std::error_code error;
  if (model.architecture != kEmbedder ||
      !std::filesystem::exists(std::filesystem::path(options.weights) / kModulesFile, error))
    return Success();
  HEDDLE_ASSIGN(EmbeddingRule rule, readEmbeddingRule(options.weights));
  nlohmann::json parameters = model.json.value("parameters", nlohmann::json::object());
  std::string own = parameters.value("pool", ""), theirs;
  for (Pooling pooling : rule.poolings)
    theirs += (theirs.empty() ? "" : " and ") + std::string(nameOf(pooling));
  if (!own.empty() && own != theirs)
    log(LogLevel::Warning,
        str("'", options.weights, "' makes vectors by ", theirs, " (its modules.json), and the model by ", own,
            "; compile it with --set pool=", theirs, " to train the vectors that the folder has"));
  return Success();
}

// Returns the folder for a decompressed copy of the text: on the disk of the checkpoints.
std::filesystem::path TrainingRun::spoolFolder() const {
  std::error_code error;
  std::filesystem::path folder = plainPath(options.checkpoint);
  while (!std::filesystem::is_directory(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder;
}

Result<std::unique_ptr<TextCodec>> TrainingRun::learnVocabulary() const {
  if (Marks learnt; model.marks.begin != learnt.begin || model.marks.end != learnt.end)
    return makeError(ErrorKind::InvalidArgument, "the model marks the begin of a text by token ", model.marks.begin,
                     " and its end by ", model.marks.end, ", and a vocabulary that is learnt has ", learnt.begin,
                     " and ", learnt.end,
                     ": give the vocabulary that the model was made with, by --vocab=FOLDER or, "
                     "with its weights, by --weights=FOLDER.");
  log(LogLevel::Info, str("learning a vocabulary of ", model.vocabularySize, " pieces"));
  VocabularyTraining how;
  how.type = kVocabularyTypes.at(options.vocabularyType);
  how.mask = isOfHiddenWords(model.labelling());
  how.lineEnds = options.text.isPlain() && options.text.kind() != DocumentKind::Line && !how.mask;
  if (options.text.isRecords())
    how.textOfLine = model.prefers                          ? textOfPreferenceRecord
                     : model.labelling() == Labelling::None ? textOfTextRecord
                     : isOfPairs(model.labelling())         ? textOfPair
                                                            : textOfRecord;
  std::vector<std::filesystem::path> files = text->files();
  if (model.marks.image.pixels() > 0) // the vocabulary is for captions; the sources are images
    files = {files.back()};
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::train(files, int32_t(model.vocabularySize), how));
  if (tokenizer.pieces() < model.vocabularySize)
    log(LogLevel::Warning, str("the training text gives only ", tokenizer.pieces(), " pieces; the model's other ",
                               model.vocabularySize - tokenizer.pieces(), " stay unused"));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

Result<std::unique_ptr<TextCodec>> TrainingRun::makeVocabulary() const {
  if (options.resume)
    return loadVocabulary(options.checkpoint, *engine, model);
  if (!options.base.empty() && options.vocabulary.empty())
    return loadVocabulary(options.base, *engine, model);
  if (!options.weights.empty())
    return loadVocabulary(options.weights, *engine, model);
  if (!options.vocabulary.empty())
    return openVocabulary(options.vocabulary);
  if (model.marks.image.pixels() > 0 && model.labelling() == Labelling::Texts)
    return std::make_unique<NoTokens>();
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> embedded, embeddedVocabulary(*engine));
  return embedded ? std::move(embedded) : learnVocabulary();
}

// Adds the labels to the vocabulary, unless it has labels that somebody has named.
Status TrainingRun::addLabels(std::vector<std::string> labels) {
  bool areNamed = std::ranges::any_of(vocabulary->labels(), [&](const std::string &label) {
    return !label.starts_with(kUnnamedLabel) || std::ranges::find(labels, label) != labels.end();
  });
  if (areNamed || !model.givesLabels() || model.labelling() == Labelling::Grades)
    return Success();
  if (int64_t(labels.size()) > model.classes)
    return makeError(ErrorKind::InvalidArgument, "the records have ", labels.size(), " labels and the model room for ",
                     model.classes, "; compile it for as many, with --set classes=", labels.size(),
                     " where the text has that parameter.");
  if (int64_t(labels.size()) < model.classes)
    log(LogLevel::Warning, str("the records have only ", labels.size(), labels.size() == 1 ? " label" : " labels",
                               "; the model's other ", model.classes - int64_t(labels.size()), " stay unused"));
  vocabulary = std::make_unique<LabelledVocabulary>(std::move(vocabulary), std::move(labels));
  return Success();
}

Status TrainingRun::readValidation(const ConversationReader &chat) {
  if (options.validateBleu)
    HEDDLE_CHECK(Translator::check(*engine, model, {}));
  if (options.validation.empty())
    return Success();
  TextFiles files = options.validation;
  files.documents = options.text.documents;
  HEDDLE_ASSIGN(LineBlocks lines, files.open(spoolFolder()));
  HEDDLE_ASSIGN(PackedText packed, packText(files, lines, *vocabulary, options.limits, model.labelling(), chat, "use"));
  log(packed.report.isWorthAWarning() ? LogLevel::Warning : LogLevel::Info,
      "validation: " + packed.report.describe(options.limits.maximumLength));
  validation = std::move(packed.batches);
  if (options.validateBleu) {
    HEDDLE_ASSIGN(validationText, lines.readAll());
  }
  return Success();
}

Status TrainingRun::readText(SessionEngine &opened) {
  engine = &opened;
  HEDDLE_ASSIGN(model, ModelDescription::parse(engine->description()));
  HEDDLE_CHECK(options.text.check(model, "train"));
  HEDDLE_CHECK(openBase(options.base, "", *engine, model, options.others));
  HEDDLE_CHECK(setLimits());
  if (options.text.isPlain())
    options.documents = options.text.documents;
  HEDDLE_ASSIGN(text, options.text.open(spoolFolder()));
  if (text->lines() == 0)
    return makeError(ErrorKind::InvalidArgument, options.text.named(),
                     options.text.isPlain()     ? " is empty; give text."
                     : options.text.isRecords() ? " is empty; give records, each on a line of its own."
                                                : " are empty; give text with a sentence on each line.");
  std::vector<std::string> labels;
  ConversationReader chat = conversationReader(options.chatTemplate, options.resume ? options.checkpoint.string()
                                                                     : !options.base.empty() ? options.base
                                                                                             : options.weights);
  if (options.text.isRecords()) {
    HEDDLE_ASSIGN(labels, readLabels(*text, model, chat));
  }
  HEDDLE_ASSIGN(vocabulary, makeVocabulary());
  HEDDLE_CHECK(adoptVocabulary(*vocabulary, model));
  BatchLimits &limits = options.limits;
  limits.marks = model.marks;
  limits.marks.prefers = model.prefers;
  HEDDLE_CHECK(checkHides(*vocabulary, limits, model.labelling()));
  if (options.text.isRecords() && model.labelling() != Labelling::None)
    HEDDLE_CHECK(addLabels(std::move(labels)));
  corpus = options.text.examples(*text, *vocabulary, limits, model.labelling(), chat);
  return readValidation(chat);
}

// Reads a first batch. A text without examples, or with a mistake in its first lines, then fails before an earlier
// training run is set aside.
Status TrainingRun::checkText() const {
  constexpr uint64_t kLines = 1 << 12; // reading them takes a moment
  BatchSource batches(*corpus, {options.limits, options.seed.value_or(1), std::min(options.windowLines, kLines)});
  HEDDLE_CHECK(batches.next());
  return Success();
}

// Fails unless all ranks have the same inputs and flags.
Status TrainingRun::checkRanks() const {
  if (!options.ranks)
    return Success();
  std::string pieces, checkpoint = "none";
  for (const TokenizerFile &file : vocabulary->files())
    pieces += file.name + file.bytes;
  if (options.resume) {
    HEDDLE_ASSIGN(std::filesystem::path folder, findCheckpoint(options.checkpoint));
    HEDDLE_ASSIGN(Manifest manifest, Manifest::read(folder));
    checkpoint = manifest.toJson();
  }
  HEDDLE_ASSIGN(std::string base, hashFrozen(*engine)); // the ranks do not send it to each other
  auto number = [](uint64_t value) { return std::to_string(value); };
  return checkAlike(*options.ranks, {{"artifact", number(engine->artifactSeal())},
                                     {"training text", corpus->fingerprint()},
                                     {"vocabulary", pieces},
                                     {"--resume", number(options.resume)},
                                     {"checkpoint", checkpoint},
                                     {"frozen weights", base},
                                     {"--seed", number(taking->seed())},
                                     {"--accumulate", number(options.microBatches)},
                                     {"--batch-tokens", number(uint64_t(options.limits.maximumTokens))},
                                     {"--batch-sequences", number(uint64_t(options.limits.maximumSequences))},
                                     {"--steps", number(options.steps)},
                                     {"--shuffle-window", number(options.windowLines)},
                                     {"--validate-every", number(options.validateEvery)},
                                     {"--save-every", number(options.saveEvery)},
                                     {"--patience", number(options.patience)},
                                     {"text for validation", number(!options.validation.empty())},
                                     {"--weights", number(!options.weights.empty())}});
}

// Logs which part of a sharded optimizer's state this rank keeps.
void TrainingRun::describeState() const {
  uint64_t whole = 0;
  bool isSharded = false;
  for (const VariableInfo &variable : engine->variables())
    if (variable.kind == VariableKind::OptimizerState && !variable.isStorage) {
      whole += variable.bytes;
      isSharded |= variable.isSharded;
    }
  if (isSharded && options.ranks)
    log(LogLevel::Info, str("of the optimizer's state, ", describeBytes(whole), ", each rank keeps ",
                            describeBytes(engine->onDevice().memory().optimizerState)));
}

Status TrainingRun::setEarlierAside() {
  const std::filesystem::path &folder = options.checkpoint;
  if (options.resume || !isFirst() || (!findCheckpoint(folder).ok() && listCheckpoints(folder).empty()))
    return Success();
  lock->release(); // the lock file must not be moved along
  HEDDLE_ASSIGN(std::filesystem::path moved, setAside(folder));
  HEDDLE_ASSIGN(lock, FolderLock::take(folder));
  log(LogLevel::Warning, str("'", folder.string(), "' held an earlier training, which is now at '", moved.string(),
                             "'; --resume would have continued it"));
  return Success();
}

Status TrainingRun::begin() {
  if (isFirst())
    HEDDLE_CHECK(checkText());
  taking.emplace(*engine, inputs(), options, options.stopRequested);
  if (options.resume) {
    HEDDLE_CHECK(taking->resume());
    log(LogLevel::Info, str("resuming after step ", taking->step()));
  } else {
    HEDDLE_CHECK(taking->begin());
    if (!options.weights.empty()) {
      if (isAdapter(options.weights))
        HEDDLE_CHECK(checkContinuation(options.weights, *engine));
      std::vector<std::string> fresh;
      HEDDLE_ASSIGN(std::optional<uint64_t> step, loadWeights(options.weights, *engine, model, options.others, &fresh));
      std::string list;
      for (const std::string &name : fresh)
        list += (list.empty() ? "; these start fresh: " : ", ") + name;
      HEDDLE_CHECK(comparePooling());
      log(LogLevel::Info, str("begins with the weights of ", options.weights, " ", describeWeights(step), list));
    }
  }
  HEDDLE_CHECK(checkRanks()); // the ranks meet here after all have loaded the weights, so the folder may be set aside
  if (isDone()) {
    log(LogLevel::Warning, str("all ", options.steps, " steps are done; a larger --steps goes on"));
    return Success();
  }
  HEDDLE_CHECK(taking->share());
  describeState();
  if (model.prefers && !options.resume) {
    HEDDLE_ASSIGN(reference, ReferenceScores::compute(*engine, *corpus, options.limits, validation));
    log(LogLevel::Info, str("the reference has scored ", reference->size(), " answers"));
  }
  HEDDLE_CHECK(setEarlierAside());
  if (!model.prefers)
    return Success();
  if (options.resume) {
    HEDDLE_ASSIGN(reference, ReferenceScores::load(options.checkpoint));
  } else if (isFirst()) {
    HEDDLE_CHECK(reference->save(options.checkpoint));
  }
  taking->setReference(*reference);
  return Success();
}

} // namespace heddle
