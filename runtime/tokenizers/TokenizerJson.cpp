#include "runtime/tokenizers/TokenizerJson.h"

#include "runtime/tokenizers/BytePairs.h"
#include "runtime/tokenizers/JsonFields.h"
#include "runtime/tokenizers/MergedPieces.h"
#include "runtime/tokenizers/TokenizerSteps.h"
#include "runtime/tokenizers/Unigram.h"

namespace heddle {
namespace {

using nlohmann::json;
using Parts = PublishedVocabulary::Parts;

class Reader {
public:
  Reader(const json &whole, std::string path) : whole(whole), path(std::move(path)), steps(this->path) {}

  Result<Parts> read() const {
    Parts parts;
    const json &kind = at(model(), "type");
    if (kind != "BPE" && kind != "Unigram")
      return steps.unreadable("a model of type ", kind.dump());
    HEDDLE_ASSIGN(parts.normalizer, steps.normalizer(at(whole, "normalizer")));
    HEDDLE_ASSIGN(parts.cutter, steps.cutter(at(whole, "pre_tokenizer")));
    bool isBytes = steps.cutsBytes(at(whole, "pre_tokenizer"));
    PieceRule rule{.isBytes = isBytes};
    if (!isBytes) {
      HEDDLE_ASSIGN(rule, steps.decoder(at(whole, "decoder")));
    }
    if (kind == "BPE") {
      HEDDLE_CHECK(isBytes ? readBytePairs(parts) : readMergedPieces(parts));
    } else if (isBytes) {
      return steps.unreadable("a model of type \"Unigram\" of bytes");
    } else {
      HEDDLE_CHECK(readUnigram(parts));
    }
    std::vector<int32_t> added;
    HEDDLE_CHECK(addTokens(parts, added));
    if (const json &unknown = at(model(), "unk_token"); unknown.is_string())
      parts.unknown = parts.table.find(unknown.get<std::string>());
    HEDDLE_CHECK(readMarks(at(whole, "post_processor"), parts));
    if (parts.begin)
      parts.marks.push_back(*parts.begin);
    parts.texts = PieceTexts(parts.table, std::move(rule), added);
    return parts;
  }

private:
  const json &model() const { return at(whole, "model"); }

  // For byte pair encoding: reads the pieces and the merges.
  Result<Merges> readMerges(Parts &parts) const {
    for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const json &value = at(model(), key); !value.is_null() && value != "")
        return steps.unreadable("'", key, "' ", value.dump());
    HEDDLE_ASSIGN(parts.table, PieceTable::fromObject(at(model(), "vocab"), path));
    Merges merges;
    for (const json &merge : at(model(), "merges")) {
      std::string left, right;
      if (merge.is_string()) {
        std::string line = merge.get<std::string>();
        size_t space = line.find(' ');
        left = line.substr(0, space);
        right = space == std::string::npos ? "" : line.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      } else {
        return steps.malformed("merge ", merges.size(), " is ", merge.dump().substr(0, 100), ", and not two pieces");
      }
      HEDDLE_CHECK(merges.add(parts.table, left, right, {path, "merge", merges.size()}));
    }
    return merges;
  }

  Status readBytePairs(Parts &parts) const {
    if (isTrue(model(), "byte_fallback"))
      return steps.unreadable("'byte_fallback', and pieces of bytes");
    HEDDLE_ASSIGN(Merges merges, readMerges(parts));
    // If every byte has a piece, an `unk_token` that is not a piece does no harm.
    BytePairs::Options options{.wholeWordsFirst = isTrue(model(), "ignore_merges"),
                               .unknown = parts.table.find(textAt(model(), "unk_token")),
                               .fusesUnknown = isTrue(model(), "fuse_unk")};
    HEDDLE_ASSIGN(BytePairs pairs, BytePairs::create(parts.table, std::move(merges), options, path));
    parts.model = std::make_unique<BytePairs>(std::move(pairs));
    return Success();
  }

  Status readMergedPieces(Parts &parts) const {
    HEDDLE_ASSIGN(Merges merges, readMerges(parts));
    MergedPieces::Options options;
    options.usesBytes = isTrue(model(), "byte_fallback");
    options.fusesUnknown = isTrue(model(), "fuse_unk");
    options.wholeWordsFirst = isTrue(model(), "ignore_merges");
    if (const json &unknown = at(model(), "unk_token"); !unknown.is_null()) {
      options.unknown = parts.table.find(textAt(model(), "unk_token"));
      if (!options.unknown)
        return steps.malformed("'unk_token' is ", unknown.dump().substr(0, 100), ", and no piece");
    }
    parts.model = std::make_unique<MergedPieces>(parts.table, std::move(merges), options);
    return Success();
  }

  Status readUnigram(Parts &parts) const {
    std::vector<Unigram::Piece> pieces;
    for (const json &entry : at(model(), "vocab")) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        return steps.malformed("piece ", pieces.size(), " is ", entry.dump().substr(0, 100),
                               ", and not a text with a score");
      HEDDLE_CHECK(parts.table.add(int32_t(pieces.size()), entry[0].get<std::string>(), path));
      pieces.push_back({entry[0].get<std::string>(), entry[1].get<double>()});
    }
    const json &unknown = at(model(), "unk_id");
    if (!unknown.is_number_unsigned() || unknown.get<size_t>() >= pieces.size())
      return steps.unreadable("a unigram model with ", pieces.size(), " pieces and 'unk_id' ",
                              unknown.dump().substr(0, 100));
    bool usesBytes = isTrue(model(), "byte_fallback");
    parts.model = std::make_unique<Unigram>(parts.table, unknown.get<int32_t>(), usesBytes, std::move(pieces),
                                            /*isSingle=*/false);
    return Success();
  }

  // Reads the tokens that are recognised in a text as a whole, whether or not they are pieces of the model.
  Status addTokens(Parts &parts, std::vector<int32_t> &added) const {
    for (const json &token : at(whole, "added_tokens")) {
      const json &id = at(token, "id"), &content = at(token, "content");
      if (!id.is_number_integer() || !content.is_string())
        return steps.malformed("an added token is ", token.dump().substr(0, 100), ", without a number or a text");
      int64_t wide = id.get<int64_t>();
      auto number = wide >= 0 && wide < (1 << 24) ? int32_t(wide) : -1;
      std::string text = content.get<std::string>();
      HEDDLE_CHECK(parts.table.add(number, text, path));
      added.push_back(number);
      if (isTrue(token, "special"))
        parts.marks.push_back(number);
      if (text == kMaskPiece || text == "<mask>") // BERT's and ModernBERT's, or RoBERTa's
        parts.mask = number;
      bool isNormalized = isTrue(token, "normalized");
      if (isNormalized)
        text = parts.normalizer.apply(text);
      if (!text.empty())
        (isNormalized ? parts.normalizedWholes : parts.wholes)
            .add(std::move(text), number,
                 {isTrue(token, "lstrip"), isTrue(token, "rstrip"), isTrue(token, "single_word")});
    }
    return Success();
  }

  // Reads the tokens that begin and end a text.
  Status readMarks(const json &processor, Parts &parts) const {
    if (processor.is_null() || is(processor, "type", "ByteLevel"))
      return Success();
    if (is(processor, "type", "Sequence") && at(processor, "processors").is_array()) {
      for (const json &one : at(processor, "processors"))
        HEDDLE_CHECK(readMarks(one, parts));
      return Success();
    }
    auto refuse = [&] { return steps.unreadable("the post-processor ", steps.shortened(processor)); };
    auto set = [&](std::optional<int32_t> &mark, const json &id) -> Status {
      if (mark || !id.is_number_unsigned())
        return refuse();
      if (id.get<uint64_t>() >= uint64_t(parts.table.size()))
        return steps.malformed("a text's mark is token ", id.dump(), ", and the vocabulary has ", parts.table.size());
      mark = id.get<int32_t>();
      return Success();
    };
    if (is(processor, "type", "BertProcessing") || is(processor, "type", "RobertaProcessing")) {
      HEDDLE_CHECK(set(parts.begin, last(at(processor, "cls"))));
      HEDDLE_CHECK(set(parts.end, last(at(processor, "sep"))));
      size_t betweenTexts = is(processor, "type", "RobertaProcessing") ? 2 : 1;
      parts.inputs = InputMarks{{*parts.begin}, {*parts.end}, std::vector<int32_t>(betweenTexts, *parts.end)};
      return Success();
    }
    const json &single = at(processor, "single");
    if (!is(processor, "type", "TemplateProcessing") || !single.is_array())
      return refuse();
    bool isBehind = false; // whether the text itself was passed
    for (const json &part : single) {
      if (is(at(part, "Sequence"), "id", "A") && !isBehind) {
        isBehind = true;
        continue;
      }
      std::string name = textAt(at(part, "SpecialToken"), "id");
      const json &ids = at(at(at(processor, "special_tokens"), name.c_str()), "ids");
      if (ids.size() != 1)
        return refuse();
      HEDDLE_CHECK(set(isBehind ? parts.end : parts.begin, last(ids)));
    }
    parts.inputs.emplace();
    if (parts.begin)
      parts.inputs->before.push_back(*parts.begin);
    if (parts.end)
      parts.inputs->after.push_back(*parts.end);
    parts.inputs->between = marksBetween(processor, *parts.inputs, parts.table.size());
    return Success();
  }

  // The marks between the two texts of a template's pairs; nothing if a pair begins or ends with other marks than a
  // single text.
  static std::optional<std::vector<int32_t>> marksBetween(const json &processor, const InputMarks &single,
                                                          int32_t pieces) {
    std::vector<int32_t> marks[3]; // before, between and after the texts
    size_t place = 0;
    const json &pair = at(processor, "pair");
    for (const json &part : pair.is_array() ? pair : json::array()) {
      if (place < 2 && is(at(part, "Sequence"), "id", place == 0 ? "A" : "B")) {
        ++place;
        continue;
      }
      std::string name = textAt(at(part, "SpecialToken"), "id");
      for (const json &id : at(at(at(processor, "special_tokens"), name.c_str()), "ids"))
        marks[place].push_back(id.is_number_unsigned() && id.get<uint64_t>() < uint64_t(pieces) ? id.get<int32_t>()
                                                                                                : -1);
    }
    bool fits = place == 2 && marks[0] == single.before && marks[2] == single.after;
    return fits && std::ranges::find(marks[1], -1) == marks[1].end() ? std::optional(std::move(marks[1]))
                                                                     : std::nullopt;
  }

  static const json &last(const json &list) {
    static const json none;
    return list.is_array() && !list.empty() ? list.back() : none;
  }

  const json &whole;
  std::string path;
  TokenizerSteps steps;
};

// Reads tokenizer_config.json, if the folder has it: the end mark, and `add_bos_token`, which overrides the
// post-processor in whether a text begins with the begin mark.
void readSettings(const std::filesystem::path &folder, Parts &parts) {
  Result<std::string> text = readVocabularyFile(folder / "tokenizer_config.json");
  Result<json> config = text.ok() ? parseJson(*text, "'tokenizer_config.json'") : Result<json>(json());
  if (!config.ok())
    return;
  auto token = [&](const char *key) { // a piece, given as a string or in an object
    const json &value = at(*config, key);
    return parts.table.find(value.is_object() ? textAt(value, "content") : textAt(*config, key));
  };
  if (std::optional<int32_t> end = token("eos_token"))
    parts.end = end;
  const json &begins = at(*config, "add_bos_token");
  if (begins == false)
    parts.begin.reset();
  else if (begins == true && !parts.begin)
    parts.begin = token("bos_token");
  if (parts.begin)
    parts.marks.push_back(*parts.begin);
}

} // namespace

Result<bool> cutsAsGpt2(const std::filesystem::path &folder) {
  std::filesystem::path path = folder / PublishedVocabulary::kTokenizerJson;
  HEDDLE_ASSIGN(std::string text, readVocabularyFile(path));
  HEDDLE_ASSIGN(json whole, parseJson(text, str("'", path.string(), "'")));
  const json &marks = at(whole, "post_processor");
  return is(at(whole, "pre_tokenizer"), "type", "ByteLevel") && at(whole, "normalizer").is_null() &&
         at(whole, "added_tokens").size() <= 1 && (marks.is_null() || is(marks, "type", "ByteLevel"));
}

Result<Parts> readTokenizerJson(const std::filesystem::path &folder) {
  // The last three are not part of the vocabulary but are needed for answers and chats, so checkpoints keep them too.
  constexpr std::string_view names[] = {PublishedVocabulary::kTokenizerJson, "tokenizer_config.json",
                                        "special_tokens_map.json", "chat_template.jinja", "generation_config.json"};
  std::string path = (folder / PublishedVocabulary::kTokenizerJson).string();
  HEDDLE_ASSIGN(std::vector<TokenizerFile> files, readTokenizerFiles(folder, names));
  HEDDLE_ASSIGN(json whole, parseJson(files.front().bytes, str("'", path, "'")));
  HEDDLE_ASSIGN(Parts parts, Reader(whole, path).read());
  readSettings(folder, parts);
  parts.files = std::move(files);
  return parts;
}

} // namespace heddle
