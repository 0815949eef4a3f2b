#include "runtime/tokenizers/WordPieces.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/JsonFields.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr std::string_view kTokenizerJson = "tokenizer.json";
constexpr size_t kMostCharacters = 1000; // per word; finding its pieces takes quadratic time

// The blocks of CJK ideographs. Ideographs are words without spaces between them.
bool isIdeograph(char32_t point) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                                       {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf},
                                                       {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::ranges::any_of(kBlocks, [&](auto block) { return point >= block.first && point <= block.second; });
}

// ASCII characters that are neither letters nor digits, and Unicode's punctuation.
bool splitsWords(char32_t point) {
  bool isMark = (point >= '!' && point <= '/') || (point >= ':' && point <= '@') || (point >= '[' && point <= '`') ||
                (point >= '{' && point <= '~');
  return isMark || isPunctuation(point);
}

bool isDropped(char32_t point) {
  return point == 0xfffd || (isOther(point) && point != '\t' && point != '\n' && point != '\r');
}

} // namespace

Result<WordPieces> WordPieces::load(const std::filesystem::path &folder) {
  return isIn(folder) ? loadJson(folder) : loadLines(folder);
}

Result<WordPieces> WordPieces::loadLines(const std::filesystem::path &folder) {
  HEDDLE_CHECK(requireVocabularyFiles(folder, {"vocab.txt"}, "BERT"));
  WordPieces pieces;
  constexpr std::string_view kFileNames[] = {"vocab.txt", "tokenizer_config.json"};
  HEDDLE_ASSIGN(pieces.stored, readTokenizerFiles(folder, kFileNames));
  std::filesystem::path path = folder / "vocab.txt";
  HEDDLE_ASSIGN(pieces.table, PieceTable::readLines(path));
  HEDDLE_CHECK(pieces.findMarks(path.string()));
  HEDDLE_CHECK(pieces.readOptions(folder / "tokenizer_config.json"));
  return pieces;
}

Status WordPieces::findMarks(const std::string &path) {
  for (auto [name, id] : {std::pair("[UNK]", &unknown), {"[CLS]", &beginning}, {"[SEP]", &separator}}) {
    std::optional<int32_t> found = table.find(name);
    if (!found)
      return makeError(ErrorKind::Malformed, "'", path, "' is not a vocabulary of BERT: it lacks ", name,
                       "; take the vocabulary that was published with the model.");
    marks.add(name, *id = *found);
  }
  inputs = {{beginning}, {separator}, std::vector<int32_t>{separator}};
  mask = table.find("[MASK]");
  for (const char *name : {"[MASK]", "[PAD]"})
    if (std::optional<int32_t> id = table.find(name))
      marks.add(name, *id);
  return Success();
}

bool WordPieces::isIn(const std::filesystem::path &folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder / kTokenizerJson, error))
    return false;
  Result<std::string> text = readVocabularyFile(folder / kTokenizerJson);
  if (!text.ok() || text->find("\"WordPiece\"") == std::string::npos)
    return false; // avoids parsing the files of other models
  Result<nlohmann::json> whole = parseJson(*text, "");
  return whole.ok() && is(at(*whole, "model"), "type", "WordPiece");
}

Result<WordPieces> WordPieces::loadJson(const std::filesystem::path &folder) {
  WordPieces pieces;
  std::string path = (folder / kTokenizerJson).string();
  HEDDLE_ASSIGN(pieces.stored, readTokenizerFiles(folder, std::span(&kTokenizerJson, 1)));
  HEDDLE_ASSIGN(nlohmann::json whole, parseJson(pieces.stored.front().bytes, str("'", path, "'")));
  const nlohmann::json &model = at(whole, "model"), &normalizer = at(whole, "normalizer"),
                       &longest = at(model, "max_input_chars_per_word");
  auto unreadable = [&](const char *what, const nlohmann::json &given) {
    return makeError(ErrorKind::Unsupported, "'", path, "' has the ", what, " ", given.dump().substr(0, 200),
                     "; with pieces of words Heddle reads the steps of BERT.");
  };
  if (!is(normalizer, "type", "BertNormalizer") || !isTrue(normalizer, "clean_text", true))
    return unreadable("normalizer", normalizer);
  if (!is(at(whole, "pre_tokenizer"), "type", "BertPreTokenizer"))
    return unreadable("pre-tokenizer", at(whole, "pre_tokenizer"));
  if (!is(model, "continuing_subword_prefix", "##") || !is(model, "unk_token", "[UNK]"))
    return unreadable("pieces of type", nlohmann::json{at(model, "continuing_subword_prefix"), at(model, "unk_token")});
  pieces.options.lowerCase = isTrue(normalizer, "lowercase", true);
  pieces.options.stripAccents = isTrue(normalizer, "strip_accents", pieces.options.lowerCase);
  pieces.options.splitIdeographs = isTrue(normalizer, "handle_chinese_chars", true);
  pieces.options.seesWords = false;
  if (longest.is_number_unsigned())
    pieces.longestWord = std::min<size_t>(longest.get<size_t>(), kMostCharacters);
  HEDDLE_ASSIGN(pieces.table, PieceTable::fromObject(at(model, "vocab"), path));
  for (const nlohmann::json &token : at(whole, "added_tokens")) {
    const nlohmann::json &id = at(token, "id");
    bool isNumber = id.is_number_unsigned() && id.get<uint64_t>() < (1 << 24);
    std::string text = textAt(token, "content");
    HEDDLE_CHECK(pieces.table.add(isNumber ? id.get<int32_t>() : -1, text, path));
    pieces.marks.add(text, id.get<int32_t>(),
                     {isTrue(token, "lstrip"), isTrue(token, "rstrip"), isTrue(token, "single_word")});
  }
  HEDDLE_CHECK(pieces.findMarks(path));
  return pieces;
}

Status WordPieces::readOptions(const std::filesystem::path &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return Success();
  HEDDLE_ASSIGN(std::string text, readVocabularyFile(path));
  HEDDLE_ASSIGN(nlohmann::json json, parseJson(text, str("'", path.string(), "'")));
  if (!json.is_object())
    return makeError(ErrorKind::Malformed, "'", path.string(), "' holds no JSON object; download it again.");
  auto read = [&](const char *key, bool &option) -> Status {
    auto found = json.find(key);
    if (found == json.end() || found->is_null())
      return Success();
    if (!found->is_boolean())
      return makeError(ErrorKind::Malformed, "'", path.string(), "' has ", key, " = ", found->dump(),
                       ", which is neither true nor false; download it again.");
    option = found->get<bool>();
    return Success();
  };
  HEDDLE_CHECK(read("do_lower_case", options.lowerCase));
  options.stripAccents = options.lowerCase;
  HEDDLE_CHECK(read("strip_accents", options.stripAccents));
  return read("tokenize_chinese_chars", options.splitIdeographs);
}

std::vector<int32_t> WordPieces::encode(std::string_view line) const {
  std::vector<int32_t> ids = encodeUnmarked(line);
  ids.insert(ids.begin(), beginning);
  ids.push_back(separator);
  return ids;
}

std::vector<int32_t> WordPieces::encodeUnmarked(std::string_view line) const {
  std::vector<int32_t> ids;
  for (const TextPart &part : marks.cut(line))
    if (part.whole)
      ids.push_back(*part.whole);
    else
      for (const std::u32string &word : words(part.text))
        appendWord(word, ids);
  return ids;
}

// The words separated by white space, and each ideograph as its own word.
std::vector<std::u32string> WordPieces::words(std::string_view text) const {
  std::vector<std::u32string> result;
  bool begins = true;
  for (char32_t point : codePoints(text)) {
    if (isDropped(point))
      continue;
    // Hugging Face's tokenizers do not split these ideographs of extension E.
    bool isLeftOut = !options.seesWords && point >= 0x2b820 && point < 0x2b920;
    bool isAlone = options.splitIdeographs && isIdeograph(point) && !isLeftOut, isSpace = isWhiteSpace(point);
    if ((begins || isAlone) && !isSpace)
      result.emplace_back();
    if (!isSpace)
      result.back() += point;
    begins = isAlone || isSpace;
  }
  return result;
}

void WordPieces::appendWord(std::u32string_view word, std::vector<int32_t> &ids) const {
  std::u32string plain;
  if (options.lowerCase && options.seesWords)
    plain = lowerCase(word);
  else
    for (char32_t point : word)
      plain += options.lowerCase ? lowerCase(std::u32string_view(&point, 1)) : std::u32string(1, point);
  if (options.stripAccents) {
    plain = decomposed(plain);
    std::erase_if(plain, isNonspacingMark);
  }
  std::u32string_view rest = plain;
  while (!rest.empty()) {
    auto end = std::ranges::find_if(rest, splitsWords);
    size_t length = std::max<size_t>(size_t(end - rest.begin()), 1);
    appendPieces(rest.substr(0, length), ids);
    rest.remove_prefix(length);
  }
}

// Takes the longest piece that is a prefix of the word, then the longest prefix of the rest, and so on.
void WordPieces::appendPieces(std::u32string_view word, std::vector<int32_t> &ids) const {
  size_t before = ids.size();
  for (std::u32string_view rest = word.size() > longestWord ? word.substr(0, 0) : word; !rest.empty();) {
    std::optional<int32_t> found;
    size_t length = rest.size() + 1;
    while (!found && --length != 0)
      found = table.find(std::string(ids.size() == before ? "" : kContinuation) + toUtf8(rest.substr(0, length)));
    if (!found)
      break;
    ids.push_back(*found);
    rest.remove_prefix(length);
    if (rest.empty())
      return;
  }
  ids.resize(before);
  ids.push_back(unknown);
}

std::string WordPieces::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids) {
    if (!table.contains(id))
      continue;
    std::string_view piece = table[id];
    if (piece.starts_with(kContinuation) && !text.empty())
      piece.remove_prefix(kContinuation.size());
    else if (!text.empty())
      text += ' ';
    text += piece;
  }
  return text;
}

} // namespace heddle
