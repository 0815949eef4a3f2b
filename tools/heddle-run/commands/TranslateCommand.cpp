#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/core/Log.h"
#include "runtime/model/LineTranslator.h"
#include "runtime/text/Lines.h"
#include "runtime/text/Utf8.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <algorithm>
#include <optional>
#include <span>

namespace heddle::run {
namespace {

// The given beginning of each line's translation.
class Prefixes {
public:
  static Result<Prefixes> open(const TranslateCommand &command) {
    Prefixes prefixes(command.prefixColumn);
    if (!command.prefixes.empty()) {
      HEDDLE_ASSIGN(prefixes.file, LineReader::open(command.prefixes));
      prefixes.path = command.prefixes;
    }
    return prefixes;
  }

  // Returns the line's prefix. If it is a column of `line`, removes it there.
  Result<std::string> next(std::string &line) {
    std::string prefix;
    if (size_t tab = line.find('\t'); column && tab != std::string::npos) {
      prefix = line.substr(tab + 1);
      line.resize(tab);
    }
    if (file && !file->next(prefix)) {
      HEDDLE_CHECK(file->status());
      return makeError(ErrorKind::InvalidArgument, "'", path, "' has ", file->lineNumber(),
                       " lines, and the standard input has more; every line needs its prefix, which may be empty.");
    }
    return prefix;
  }

private:
  explicit Prefixes(bool column) : column(column) {}

  bool column;
  std::string path;
  std::optional<LineReader> file;
};

// Warns of lines with text that the vocabulary does not know, for the first few such lines.
class UnknownText {
public:
  explicit UnknownText(const TextCodec &vocabulary) : vocabulary(vocabulary) {}

  void look(std::string_view line) {
    ++number;
    if (said > kMostLines)
      return;
    std::vector<std::string> unknown = vocabulary.unknownParts(replaceInvalidUtf8(line));
    if (unknown.empty())
      return;
    if (++said > kMostLines) {
      log(LogLevel::Warning, "further lines hold text that was never seen in training; they are not named");
      return;
    }
    std::string list;
    for (const std::string &part : std::span(unknown).first(std::min(unknown.size(), kMostParts)))
      list += (list.empty() ? "\"" : ", \"") + part + "\"";
    log(LogLevel::Warning, str("line ", number, " holds ", list, unknown.size() > kMostParts ? " and more" : "",
                               ", which was never seen in training: do not trust the answer"));
  }

private:
  static constexpr uint64_t kMostLines = 10;
  static constexpr size_t kMostParts = 5;

  const TextCodec &vocabulary;
  uint64_t number = 0, said = 0;
};

void print(const TranslatedLine &line, int64_t nBest) {
  size_t count = std::min(line.choices.size(), size_t(std::max<int64_t>(nBest, 1)));
  for (const TranslatedLine::Choice &choice : std::span(line.choices).first(count)) {
    if (nBest != 0)
      std::printf("%llu\t%.6f\t", static_cast<unsigned long long>(line.number), choice.score);
    printLine(choice.text);
  }
}

// Names the keys of `json` that would change what transformers generates, and that `translate` does not support.
void warnOfOtherRules(const nlohmann::json &json, const std::string &path) {
  std::string others;
  for (const auto &[key, harmless] :
       std::initializer_list<std::pair<const char *, double>>{{"encoder_no_repeat_ngram_size", 0},
                                                              {"repetition_penalty", 1},
                                                              {"encoder_repetition_penalty", 1},
                                                              {"num_beam_groups", 1},
                                                              {"bad_words_ids", 0},
                                                              {"suppress_tokens", 0},
                                                              {"begin_suppress_tokens", 0}}) {
    auto found = json.find(key);
    if (found != json.end() && !found->is_null() && *found != harmless && !(found->is_array() && found->empty()))
      others += str(others.empty() ? "" : ", ", key);
  }
  if (!others.empty())
    log(LogLevel::Warning, str(path, " sets ", others, ", which translate does not apply"));
}

// Reads rules of generation from a published model's files, unless a flag gives them: the length penalty; the first token
// of each translation; whether the end mark closes a translation of the maximum length; which sequences may not occur
// twice; and the least length.
Status readGenerationConfig(const std::filesystem::path &folder, const DecodingOptions &flags,
                            const ModelDescription &model, TranslationOptions &options) {
  std::optional<double> lengthPenalty = flags.lengthPenalty;
  constexpr uint64_t limit = 16 << 20;
  options.lengthPenalty = lengthPenalty.value_or(1);
  std::error_code error;
  for (const char *name : {"generation_config.json", "config.json"}) { // older folders have only the latter
    if (!std::filesystem::exists(folder / name, error))
      continue;
    std::string path = str("'", (folder / name).string(), "'");
    HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(folder / name, limit));
    HEDDLE_ASSIGN(nlohmann::json json, parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path));
    if (!json.is_object())
      return makeError(ErrorKind::Malformed, path, " is not a JSON object.");
    auto invalid = [&](const char *key, std::string_view wanted) {
      return makeError(ErrorKind::Malformed, path, " has ", key, " ", json[key].dump(-1, ' ', true), "; expected ",
                       wanted, ".");
    };
    options.forcesEnd = json.contains("forced_eos_token_id") && json["forced_eos_token_id"] == model.marks.end;
    if (nlohmann::json &begin = json["forced_bos_token_id"]; !begin.is_null()) {
      if (!begin.is_number_integer() || begin < 0 || begin >= model.vocabularySize)
        return invalid("forced_bos_token_id", str("a token from 0 to ", model.vocabularySize - 1));
      options.begin = begin.get<int32_t>();
    }
    if (nlohmann::json &penalty = json["length_penalty"]; !penalty.is_null() && !lengthPenalty) {
      if (!penalty.is_number() || penalty < 0)
        return invalid("length_penalty", "a number of at least 0, or give --length-penalty");
      options.lengthPenalty = penalty.get<double>();
    }
    int64_t least = 0, fresh = 0, noRepeat = 0;
    for (auto [key, value] :
         {std::pair("min_length", &least), {"min_new_tokens", &fresh}, {"no_repeat_ngram_size", &noRepeat}}) {
      nlohmann::json &given = json[key];
      if (given.is_null())
        continue;
      if (!given.is_number_integer() || given < 0 || given > int64_t(1) << 31)
        return invalid(key, "a whole number of at least 0");
      *value = given.get<int64_t>();
    }
    // min_length counts the begin mark.
    options.rules = {flags.noRepeat.value_or(noRepeat),
                     flags.minimumLength.value_or(std::max({least - 1, fresh, int64_t(0)}))};
    warnOfOtherRules(json, path);
    break;
  }
  return Success();
}

Status translate(const TranslateCommand &command, Profile *profile) {
  TranslationOptions options = translationOptions(command.decoding);
  options.ids = command.ids;
  options.from = command.from;
  options.to = command.to;
  options.hasLanguageColumns = command.languageColumns;
  HEDDLE_ASSIGN(options.sampling, samplingOptions(command.sampling));
  HEDDLE_ASSIGN(Prefixes prefixes, Prefixes::open(command));
  HEDDLE_ASSIGN(TrainedModel model,
                openTrained(command.common, command.checkpoint, kEncoderAndDecoder, "translate", profile,
                            /*needsVocabulary=*/!command.ids));
  if (options.rule == BeamRule::HuggingFace) {
    HEDDLE_CHECK(readGenerationConfig(command.checkpoint, command.decoding, model.description, options));
  }
  HEDDLE_CHECK(Translator::check(*model.engine, model.description, options));

  UnknownText unknown(*model.vocabulary);
  auto lineOf = [&](std::string &line) -> Result<LinePool<LineTranslator>::Line> {
    HEDDLE_ASSIGN(std::string prefix, prefixes.next(line));
    if (model.description.marks.image.pixels() == 0 && !command.ids)
      unknown.look(line);
    return [line = std::move(line), prefix = std::move(prefix)](LineTranslator &translator) {
      return translator.add(line, prefix);
    };
  };
  return distributeLines(workersFor<LineTranslator>(model, *model.vocabulary, options),
                         kCallsAhead * uint64_t(model.description.maximumSequences), lineOf,
                         [&](const TranslatedLine &line) { print(line, command.nBest); });
}

} // namespace

Status runTranslate(const TranslateCommand &command) {
  return profiled(command.common, "translate", filesRead(command.common, {command.checkpoint, command.prefixes}),
                  [&](Profile *profile) { return translate(command, profile); });
}

} // namespace heddle::run
