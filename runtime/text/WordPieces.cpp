#include "runtime/text/WordPieces.h"

#include "runtime/core/Json.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr size_t kLongestWord = 100; // characters; a longer one is unknown

// The blocks of CJK ideographs, which are words without spaces between them.
bool isIdeograph(char32_t point) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                                       {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf},
                                                       {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::ranges::any_of(kBlocks, [&](auto block) { return point >= block.first && point <= block.second; });
}

// All of ASCII that is neither a letter nor a number, and what Unicode calls punctuation.
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
  HEDDLE_CHECK(requireVocabularyFiles(folder, {"vocab.txt"}, "BERT"));
  WordPieces pieces;
  constexpr std::string_view kFileNames[] = {"vocab.txt", "tokenizer_config.json"};
  HEDDLE_ASSIGN(pieces.stored, readTokenizerFiles(folder, kFileNames));
  std::filesystem::path path = folder / "vocab.txt";
  HEDDLE_ASSIGN(pieces.table, PieceTable::readLines(path));
  const std::pair<const char *, int32_t *> marks[] = {
      {"[UNK]", &pieces.unknown}, {"[CLS]", &pieces.beginning}, {"[SEP]", &pieces.separator}};
  for (auto [name, id] : marks) {
    std::optional<int32_t> found = pieces.table.find(name);
    if (!found)
      return makeError(ErrorKind::Malformed, "'", path.string(), "' is not a vocabulary of BERT: it lacks ", name,
                       "; take the vocabulary that was published with the model.");
    pieces.marks.add(name, *id = *found);
  }
  pieces.mask = pieces.table.find("[MASK]");
  for (const char *name : {"[MASK]", "[PAD]"})
    if (std::optional<int32_t> id = pieces.table.find(name))
      pieces.marks.add(name, *id);
  HEDDLE_CHECK(pieces.readOptions(folder / "tokenizer_config.json"));
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
  std::vector<int32_t> ids = {beginning};
  for (const TextPart &part : marks.cut(line))
    if (part.whole)
      ids.push_back(*part.whole);
    else
      for (const std::u32string &word : words(part.text))
        appendWord(word, ids);
  ids.push_back(separator);
  return ids;
}

// What white space separates, and each ideograph.
std::vector<std::u32string> WordPieces::words(std::string_view text) const {
  std::vector<std::u32string> result;
  bool begins = true;
  for (char32_t point : codePoints(text)) {
    if (isDropped(point))
      continue;
    bool isAlone = options.splitIdeographs && isIdeograph(point), isSpace = isWhiteSpace(point);
    if ((begins || isAlone) && !isSpace)
      result.emplace_back();
    if (!isSpace)
      result.back() += point;
    begins = isAlone || isSpace;
  }
  return result;
}

void WordPieces::appendWord(std::u32string_view word, std::vector<int32_t> &ids) const {
  std::u32string plain = options.lowerCase ? lowerCase(word) : std::u32string(word);
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

// The longest piece that the word begins with, then the longest that what is left begins with.
void WordPieces::appendPieces(std::u32string_view word, std::vector<int32_t> &ids) const {
  size_t before = ids.size();
  for (std::u32string_view rest = word.size() > kLongestWord ? word.substr(0, 0) : word; !rest.empty();) {
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
