#include "tools/heddle-run/text/BytePairs.h"

#include "tools/heddle-run/text/Lines.h"
#include "tools/heddle-run/text/Unicode.h"
#include "tools/heddle-run/text/Utf8.h"

#include <queue>

namespace heddle::run {
namespace {

constexpr const char *kEndPiece = "<|endoftext|>";

// The character that stands for a byte: itself where that can be printed and is no space, else one from U+0100 on.
std::array<char32_t, 256> byteCharacters() {
  std::array<char32_t, 256> characters;
  char32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bool isPrintable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    characters[byte] = isPrintable ? char32_t(byte) : next++;
  }
  return characters;
}

} // namespace

Result<BytePairs> BytePairs::load(const std::filesystem::path &folder) {
  std::error_code error;
  auto has = [&](const char *name) { return std::filesystem::exists(folder / name, error); };
  if (has(kTokenizerJson)) {
    // GPT-2's own two files say all of GPT-2, but not how other models cut words, nor their added tokens.
    bool isGpt2 = false;
    if (has("vocab.json") && has("merges.txt")) {
      HEDDLE_ASSIGN(isGpt2, cutsAsGpt2(folder));
    }
    if (!isGpt2)
      return loadJson(folder);
  }
  HEDDLE_CHECK(requireVocabularyFiles(folder, {"vocab.json", "merges.txt"}, "GPT-2"));
  std::filesystem::path path = folder / "vocab.json";
  BytePairs pairs;
  HEDDLE_ASSIGN(pairs.stored, readTokenizerFiles(folder, kFileNames));
  HEDDLE_ASSIGN(pairs.table, PieceTable::fromJson(pairs.stored.front().bytes, path.string()));
  HEDDLE_CHECK(pairs.readAlphabet(path));
  pairs.end = pairs.table.find(kEndPiece);
  if (!pairs.end)
    return makeError(ErrorKind::Malformed, "'", path.string(), "' is not a vocabulary of GPT-2: it lacks \"", kEndPiece,
                     "\"; take the vocabulary that was published with the model.");
  pairs.wholes = {*pairs.end};
  HEDDLE_CHECK(pairs.readMerges(folder / "merges.txt"));
  return pairs;
}

// The piece of each byte, and the bytes of each piece.
Status BytePairs::readAlphabet(const std::filesystem::path &path) {
  std::array<char32_t, 256> characters = byteCharacters();
  std::unordered_map<char32_t, char> bytes;
  for (size_t byte = 0; byte < characters.size(); ++byte) {
    bytes[characters[byte]] = char(byte);
    alphabet[byte] = toUtf8(std::u32string_view(&characters[byte], 1));
    std::optional<int32_t> id = table.find(alphabet[byte]);
    if (!id)
      return makeError(ErrorKind::Malformed, "'", path.string(), "' is not a vocabulary of bytes as GPT-2's is: it lacks the piece \"",
                       alphabet[byte], "\", which is the byte ", byte, "; take the vocabulary that was published with the model.");
    byteIds[byte] = *id;
  }
  texts.clear();
  for (int32_t id = 0; id < pieces(); ++id) {
    std::string &text = texts.emplace_back();
    for (char32_t point : codePoints(table[id]))
      if (auto byte = bytes.find(point); byte != bytes.end())
        text += byte->second;
      else
        text += toUtf8(std::u32string_view(&point, 1));
  }
  return Success();
}

Status BytePairs::addMerge(std::string_view left, std::string_view right, int32_t rank, const std::string &where) {
  std::optional<int32_t> first = table.find(left), second = table.find(right), product = table.find(str(left, right));
  if (!first || !second || !product)
    return makeError(ErrorKind::Malformed, where, " is \"", left, right.empty() ? "" : " ", right,
                     "\", and not two pieces of the vocabulary that make a third.");
  merges.try_emplace(pairOf(*first, *second), Merge{rank, *product});
  return Success();
}

Status BytePairs::readMerges(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(path));
  std::string line;
  for (int32_t rank = 0; reader.next(line);) {
    if (line.empty() || (reader.lineNumber() == 1 && line.starts_with("#version")))
      continue;
    size_t space = line.find(' ');
    std::string_view left = std::string_view(line).substr(0, space);
    std::string_view right = space == std::string::npos ? "" : std::string_view(line).substr(space + 1);
    HEDDLE_CHECK(addMerge(left, right, rank++, str("'", path.string(), "', line ", reader.lineNumber(), ",")));
  }
  return reader.status();
}

const BytePairs::Merge *BytePairs::findMerge(int32_t left, int32_t right) const {
  auto found = merges.find(pairOf(left, right));
  return found == merges.end() ? nullptr : &found->second;
}

std::vector<int32_t> BytePairs::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  for (TextPart part : table.cutAt(wholes, line)) {
    if (part.whole) {
      ids.push_back(*part.whole);
      continue;
    }
    std::string normal;
    if (composes) {
      normal = composed(part.text);
      part.text = normal;
    }
    for (size_t bytes; !part.text.empty(); part.text.remove_prefix(bytes)) {
      bytes = firstWordBytes(part.text, words);
      appendWord(part.text.substr(0, bytes), ids);
    }
  }
  return ids;
}

// While there is a pair of neighbours with a merge, all those of the first merge are merged, from left to right. What
// that makes can have a merge of its own, even an earlier one: its turn is afterwards.
void BytePairs::appendWord(std::string_view bytes, std::vector<int32_t> &ids) const {
  if (wholeWordsFirst) {
    std::string word;
    for (char byte : bytes)
      word += alphabet[uint8_t(byte)];
    if (std::optional<int32_t> whole = table.find(word)) {
      ids.push_back(*whole);
      return;
    }
  }
  constexpr int32_t kGone = -1;
  struct Node {
    int32_t id;
    size_t before, behind; // the word's length where there is none
  };
  const size_t none = bytes.size();
  std::vector<Node> nodes;
  for (size_t i = 0; i < bytes.size(); ++i)
    nodes.push_back({byteIds[uint8_t(bytes[i])], i == 0 ? none : i - 1, i + 1});

  using Entry = std::pair<int32_t, size_t>; // a merge's rank, and where its left side was seen
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries;
  auto mergeAt = [&](size_t place) -> const Merge * {
    const Node &node = nodes[place];
    return node.id == kGone || node.behind == none ? nullptr : findMerge(node.id, nodes[node.behind].id);
  };
  auto note = [&](size_t place) {
    if (const Merge *merge = mergeAt(place))
      entries.emplace(merge->rank, place);
  };
  for (size_t i = 0; i < nodes.size(); ++i)
    note(i);
  std::vector<size_t> merged;
  while (!entries.empty()) {
    int32_t rank = entries.top().first;
    merged.clear();
    for (; !entries.empty() && entries.top().first == rank; entries.pop()) {
      size_t place = entries.top().second;
      const Merge *merge = mergeAt(place);
      if (!merge || merge->rank != rank)
        continue;
      Node &left = nodes[place], &right = nodes[left.behind];
      left.id = merge->product;
      left.behind = right.behind;
      if (right.behind != none)
        nodes[right.behind].before = place;
      right.id = kGone;
      merged.push_back(place);
    }
    for (size_t place : merged) {
      note(place);
      if (nodes[place].before != none)
        note(nodes[place].before);
    }
  }
  for (const Node &node : nodes)
    if (node.id != kGone)
      ids.push_back(node.id);
}

std::string BytePairs::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids)
    if (table.contains(id))
      text += texts[size_t(id)];
  return text;
}

} // namespace heddle::run
