#include "runtime/model/Description.h"

#include "runtime/artifact/Meaning.h"
#include "runtime/schema/DescriptionKeys.h"
#include "runtime/tokenizers/EncoderInput.h"
#include "runtime/tokenizers/PublishedVocabulary.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace heddle {
namespace {

Error lacking(std::string_view key) {
  return makeError(ErrorKind::Unsupported, "the artifact's model description has no '", key,
                   "': the model is not a Transformer that heddle-run can train or translate with. `heddle-run call` "
                   "runs the entries of any artifact.");
}

} // namespace

Result<ModelDescription> ModelDescription::parse(std::string_view text) {
  Result<heddle::Description> read = heddle::Description::parse(text);
  if (!read.ok())
    return std::move(read).error().within("the artifact is malformed");
  ModelDescription description;
  static_cast<Description &>(description) = *std::move(read);
  const Description &d = description;
  for (auto [key, value] : {std::pair("vocab_size", d.vocabularySize),
                            {"max_tokens", d.maximumTokens},
                            {"max_sequences", d.maximumSequences},
                            {"max_length", d.maximumLength}})
    if (value == 0)
      return lacking(key);
  if (d.cacheRows == 0)
    description.cacheRows = d.maximumTokens;
  Marks &marks = description.marks;
  marks.begin = int32_t(d.beginId.value_or(marks.begin));
  marks.end = int32_t(d.endId.value_or(marks.end));
  marks.endsSources = d.endsSources;
  marks.hasTypes = d.tokenTypes > 0;
  marks.neighbours = d.neighbours;
  marks.sentences = d.sentences;
  marks.image = d.image;
  marks.joinsPairs = d.architecture == kEmbedder;
  description.isPublished = !d.tensors.empty();
  description.knownTokens = d.vocabularySize;
  description.scalesLoss = d.lossScale > 0;
  description.prefers = d.json.value("objective", "likelihood") != "likelihood";
  description.hidesWords = d.architecture == kEncoderAlone && d.json.value("hidden_words", int64_t(0)) != 0;
  description.grades = d.json.value("grades", int64_t(0)) != 0;
  description.weighsTokens = d.json.value("token_weights", false);
  return description;
}

std::vector<std::string> differences(const nlohmann::json &before, const nlohmann::json &now, bool functionOnly) {
  std::set<std::string> keys;
  std::vector<std::string> result;
  if (functionOnly && sayMeaning(before, now)) {
    result = meaningDifferences(before["meaning"], now["meaning"]);
    keys.insert("adapter");  // compared separately: an adapter's base has none
  } else if (functionOnly) { // a checkpoint from before `meaning`
    keys.insert("adapter");
    for (const schema::DescriptionKey &key : schema::kDescriptionKeys)
      if (key.role == schema::KeyRole::Structure || key.role == schema::KeyRole::Tokens)
        keys.emplace(key.name);
  } else {
    for (const nlohmann::json *side : {&before, &now})
      for (const auto &item : side->items())
        keys.insert(item.key());
  }
  // Before the key `source_end` existed, sources ended with the end mark.
  auto isSourceEnd = [&](const std::string &key) { return functionOnly && key == "source_end"; };
  auto show = [&](const nlohmann::json &side, const std::string &key) {
    if (!side.contains(key))
      return std::string(isSourceEnd(key) ? "true" : "absent");
    nlohmann::json value = side.at(key);
    if (functionOnly && key == "adapter" && value.is_object())
      value.erase("dropout"); // only used in training
    return value.dump();
  };
  for (const std::string &key : keys) {
    if (!functionOnly && (key == "meaning" || key == "published"))
      continue; // derived from the other keys
    // A key that was added to Heddle later has its default, with which a model computes what it did before.
    if (functionOnly && !before.contains(key) && !isSourceEnd(key))
      continue;
    if (std::string was = show(before, key), is = show(now, key); was != is)
      result.push_back(str(key, " (", was, ", now ", is, ")"));
  }
  return result;
}

Status checkVocabulary(const TextCodec &vocabulary, const ModelDescription &description) {
  int32_t pieces = vocabulary.pieces();
  std::optional<int32_t> end = vocabulary.endId();
  if (pieces > description.vocabularySize)
    return makeError(ErrorKind::InvalidArgument, "the vocabulary has ", pieces, " pieces and the model room for ",
                     description.vocabularySize, "; compile it with --set vocab_size=", pieces,
                     " or use a smaller vocabulary.");
  if (end && *end != description.marks.end)
    return makeError(ErrorKind::InvalidArgument, "a sentence's end is token ", *end, " of the vocabulary and ",
                     description.marks.end, " of the model; use the vocabulary that the model was made with.");
  return Success();
}

InputMarks ModelDescription::inputMarks(const TextCodec &vocabulary) const {
  const InputMarks *own = vocabulary.inputMarks();
  if (architecture == kDecoderAlone) // reads a text as the beginning of one that it continues
    return {.before = marks.beginsTexts ? std::vector<int32_t>{marks.begin} : std::vector<int32_t>(),
            .after = own ? own->after : std::vector<int32_t>()};
  return inputMarksOf(vocabulary, marks.begin, marks.end);
}

Status adoptVocabulary(TextCodec &vocabulary, ModelDescription &description) {
  bool isEncoder = description.architecture != kDecoderAlone && description.architecture != kEncoderAndDecoder;
  if (const InputMarks *inputs = vocabulary.inputMarks(); description.isPublished && isEncoder && inputs) {
    if (!inputs->before.empty())
      description.marks.begin = inputs->before.front();
    if (!inputs->after.empty())
      description.marks.end = inputs->after.back();
  }
  if (const InputMarks *inputs = vocabulary.inputMarks();
      description.isPublished && description.architecture == kEncoderAndDecoder && inputs)
    description.marks.sourceBegin = inputs->before;
  bool hasOwnRule = dynamic_cast<const PublishedVocabulary *>(&vocabulary); // a trained vocabulary has none
  if (!description.isPublished || description.architecture != kDecoderAlone || !hasOwnRule)
    return checkVocabulary(vocabulary, description);
  Marks &marks = description.marks;
  vocabulary.limitTo(int32_t(description.vocabularySize));
  description.knownTokens = vocabulary.pieces();
  if (std::optional<int32_t> end = vocabulary.endId(); end && *end != marks.end) {
    description.otherEnds.push_back(marks.end);
    marks.end = *end;
  }
  std::optional<int32_t> begin = vocabulary.beginId();
  marks.beginsTexts = begin.has_value();
  marks.begin = begin.value_or(marks.begin);
  return checkVocabulary(vocabulary, description);
}

Status checkLabels(const TextCodec &vocabulary, const ModelDescription &description, std::string_view checkpoint) {
  if (auto labels = int64_t(vocabulary.labels().size()); labels == 0 || labels > description.classes)
    return makeError(ErrorKind::InvalidArgument, "'", checkpoint, "' has ", labels, " labels and the model ",
                     description.classes, "; use a checkpoint of `heddle-run train --data`.");
  return Success();
}

Status checkArchitecture(const ModelDescription &description, std::string_view wanted, std::string_view command) {
  if (description.architecture == wanted)
    return Success();
  std::string_view taken = schema::findTask(wanted, &schema::Task::architecture)->stacks;
  if (!description.task())
    return makeError(ErrorKind::Unsupported, "the artifact's model has the architecture '", description.architecture,
                     "', and ", command, " takes ", taken, "; `heddle-run call` calls its entries.");
  return makeError(ErrorKind::Unsupported, "the artifact's model is ", description.task()->stacks, ", and ", command,
                   " takes ", taken, "; ", description.task()->use, ", and `heddle-run call` calls its entries.");
}

Status checkTask(const ModelDescription &description, TextKind kind, std::string_view command) {
  auto flagsOf = [](TextKind text) {
    return text == TextKind::Plain ? "--text" : text == TextKind::Records ? "--data" : "--src and --tgt";
  };
  const schema::Task *task = description.task();
  TextKind taken = description.hidesWords ? TextKind::Plain : task ? task->text : TextKind::None;
  if (taken == TextKind::None)
    return checkArchitecture(description, std::ranges::find(schema::kTasks, kind, &schema::Task::text)->architecture,
                             command);
  if (kind == TextKind::Records && description.architecture == kDecoderAlone) {
    if (command != "train" || description.weighsTokens)
      return Success();
    return makeError(ErrorKind::InvalidArgument,
                     "the artifact's training counts every token alike, and of prompts with completions "
                     "only the completions count: compile it with --set token_weights=true.");
  }
  if (kind == taken)
    return Success();
  return makeError(ErrorKind::InvalidArgument, flagsOf(kind), kind == TextKind::Pairs ? " are" : " is",
                   " not for the artifact's model, ", task->stacks, ": give ", flagsOf(taken), " instead.");
}

} // namespace heddle
