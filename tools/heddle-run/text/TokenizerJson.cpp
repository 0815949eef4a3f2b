// The file tokenizer.json of a published model: byte pair encoding of bytes, as SmolLM, LLaMA 3 and Qwen have it.
#include "runtime/core/Json.h"
#include "tools/heddle-run/text/BytePairs.h"

#include <fstream>

namespace heddle::run {
namespace {

using nlohmann::json;

// How LLaMA 3 cuts texts into words, and Qwen, of which each number is a word.
constexpr std::string_view kCutsBefore = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view kCutsBehind = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Of an object, the value of a key; null where it has none.
const json &at(const json &object, const char *key) {
  static const json none;
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

bool is(const json &object, const char *key, const char *text) { return at(object, key) == text; }
bool isTrue(const json &object, const char *key, bool otherwise = false) {
  const json &value = at(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

class Reader {
public:
  explicit Reader(std::string path) : path(std::move(path)) {}

  template <typename... Why> Error unreadable(const Why &...why) const {
    return makeError(ErrorKind::Unsupported, "'", path, "' has ", why...,
                     "; of tokenizer.json Heddle reads byte pair encoding of bytes, as SmolLM, LLaMA 3 and Qwen have it.");
  }
  template <typename... Why> Error malformed(const Why &...why) const {
    return makeError(ErrorKind::Malformed, "'", path, "': ", why..., "; download the file again.");
  }

  // Whether texts are brought into normalization form C.
  Result<bool> composes(const json &normalizer) const {
    if (normalizer.is_null())
      return false;
    if (is(normalizer, "type", "NFC"))
      return true;
    return unreadable("the normalizer ", at(normalizer, "type").dump());
  }

  Result<WordRule> words(const json &cutter) const {
    const json &steps = at(cutter, "pretokenizers");
    bool isSequence = is(cutter, "type", "Sequence") && steps.is_array() && steps.size() == 2;
    const json &first = isSequence ? steps[0] : at(cutter, ""), &bytes = isSequence ? steps[1] : cutter;
    auto refuse = [&] { return unreadable("the pre-tokenizer ", cutter.dump().substr(0, 200)); };
    if (!is(bytes, "type", "ByteLevel") || isTrue(bytes, "add_prefix_space"))
      return refuse();
    bool isGpt2 = isTrue(bytes, "use_regex", true);
    if (!isSequence && isGpt2)
      return WordRule{};
    if (is(first, "type", "Digits") && isTrue(first, "individual_digits") && isGpt2)
      return WordRule{WordRule::Kind::GPT2, 1};
    const json &pattern = at(at(first, "pattern"), "Regex");
    if (!is(first, "type", "Split") || !is(first, "behavior", "Isolated") || isTrue(first, "invert") || isGpt2 || !pattern.is_string())
      return refuse();
    for (auto [numbers, count] : {std::pair(R"(\p{N}{1,3})", 3), {R"(\p{N})", 1}})
      if (pattern.get<std::string>() == str(kCutsBefore, numbers, kCutsBehind))
        return WordRule{WordRule::Kind::LLaMA3, count};
    return refuse();
  }

private:
  std::string path;
};

// What tokenizer_config.json says is the end of a text: a piece, or an object with it.
std::string endPiece(const std::filesystem::path &folder) {
  Result<std::string> text = readVocabularyFile(folder / "tokenizer_config.json");
  if (!text.ok())
    return {};
  Result<json> config = parseJson(*text, "'tokenizer_config.json'");
  if (!config.ok())
    return {};
  const json &end = at(*config, "eos_token");
  const json &piece = end.is_object() ? at(end, "content") : end;
  return piece.is_string() ? piece.get<std::string>() : std::string();
}

} // namespace

Result<bool> BytePairs::cutsAsGpt2(const std::filesystem::path &folder) {
  std::filesystem::path path = folder / kTokenizerJson;
  HEDDLE_ASSIGN(std::string text, readVocabularyFile(path));
  HEDDLE_ASSIGN(json whole, parseJson(text, str("'", path.string(), "'")));
  const json &added = at(whole, "added_tokens");
  return is(at(whole, "pre_tokenizer"), "type", "ByteLevel") && at(whole, "normalizer").is_null() && added.size() <= 1;
}

Result<BytePairs> BytePairs::loadJson(const std::filesystem::path &folder) {
  constexpr std::string_view names[] = {kTokenizerJson, "tokenizer_config.json"};
  std::filesystem::path path = folder / kTokenizerJson;
  Reader reader(path.string());
  BytePairs pairs;
  HEDDLE_ASSIGN(pairs.stored, readTokenizerFiles(folder, names));
  HEDDLE_ASSIGN(json whole, parseJson(pairs.stored.front().bytes, str("'", path.string(), "'")));
  const json &model = at(whole, "model");
  const json &kind = at(model, "type");
  if (kind != "BPE")
    return reader.unreadable("a model of type ", kind.dump());
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const json &value = at(model, key); !value.is_null() && value != "")
      return reader.unreadable("'", key, "' ", value.dump());
  if (isTrue(model, "byte_fallback"))
    return reader.unreadable("'byte_fallback'");
  HEDDLE_ASSIGN(pairs.composes, reader.composes(at(whole, "normalizer")));
  HEDDLE_ASSIGN(pairs.words, reader.words(at(whole, "pre_tokenizer")));
  pairs.wholeWordsFirst = isTrue(model, "ignore_merges");

  HEDDLE_ASSIGN(pairs.table, PieceTable::fromJson(at(model, "vocab").dump(), path.string()));
  for (const json &token : at(whole, "added_tokens")) {
    const json &id = at(token, "id"), &content = at(token, "content");
    if (!id.is_number_integer() || !content.is_string())
      return reader.malformed("an added token is ", token.dump().substr(0, 100), ", without a number or a text");
    for (const char *flag : {"single_word", "lstrip", "rstrip"})
      if (isTrue(token, flag))
        return reader.unreadable("an added token with '", flag, "'");
    int64_t number = id.get<int64_t>();
    auto narrow = number >= 0 && number < (1 << 24) ? int32_t(number) : -1;
    HEDDLE_CHECK(pairs.table.add(narrow, content.get<std::string>(), path.string()));
    pairs.wholes.push_back(narrow);
  }
  HEDDLE_CHECK(pairs.readAlphabet(path));
  for (int32_t id : pairs.wholes)
    pairs.texts[size_t(id)] = pairs.table[id];
  int32_t rank = 0;
  for (const json &merge : at(model, "merges")) {
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
      return reader.malformed("merge ", rank, " is ", merge.dump().substr(0, 100), ", and not two pieces");
    }
    HEDDLE_CHECK(pairs.addMerge(left, right, rank, str("'", path.string(), "', merge ", rank, ",")));
    ++rank;
  }
  pairs.end = pairs.table.find(endPiece(folder));
  return pairs;
}

} // namespace heddle::run
