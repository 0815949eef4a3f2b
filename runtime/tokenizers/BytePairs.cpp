#include "runtime/tokenizers/BytePairs.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {
namespace {

struct Alphabet {
  std::array<std::string, 256> characters; // for each byte, the character that stands for it
  std::unordered_map<char32_t, char> bytes;
};

// A printable byte other than a space stands for itself. The others are numbered from U+0100 on.
const Alphabet &alphabet() {
  static const Alphabet result = [] {
    Alphabet made;
    char32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool isPrintable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      char32_t point = isPrintable ? char32_t(byte) : next++;
      made.characters[byte] = toUtf8(std::u32string_view(&point, 1));
      made.bytes[point] = char(byte);
    }
    return made;
  }();
  return result;
}

} // namespace

Result<BytePairs> BytePairs::create(const PieceTable &pieces, Merges merges, const Options &options,
                                    const std::string &name) {
  BytePairs model;
  model.merges = std::move(merges);
  model.options = options;
  for (size_t byte = 0; byte < 256; ++byte)
    model.byteIds[byte] = pieces.find(alphabet().characters[byte]);
  if (std::ranges::none_of(model.byteIds, &std::optional<int32_t>::has_value))
    return makeError(ErrorKind::Malformed, "'", name,
                     "' is not a vocabulary of bytes as GPT-2's is: it lacks the "
                     "pieces of all 256 bytes; take the vocabulary that was published with the model.");
  if (options.wholeWordsFirst)
    model.wholeWords = pieces;
  return model;
}

void BytePairs::append(std::string_view word, std::vector<int32_t> &ids) const {
  if (wholeWords) {
    std::string characters;
    for (char byte : word)
      characters += alphabet().characters[uint8_t(byte)];
    if (std::optional<int32_t> whole = wholeWords->find(characters)) {
      ids.push_back(*whole);
      return;
    }
  }
  std::vector<int32_t> bytes;
  bool behindUnknown = false;
  for (char byte : word) {
    std::optional<int32_t> id = byteIds[uint8_t(byte)];
    if (id)
      bytes.push_back(*id);
    else if (options.unknown && !(behindUnknown && options.fusesUnknown))
      bytes.push_back(*options.unknown);
    behindUnknown = !id;
  }
  merges.apply(bytes, ids);
}

std::string bytesOfPiece(std::string_view piece) {
  std::string text;
  for (char32_t point : codePoints(piece))
    if (auto byte = alphabet().bytes.find(point); byte != alphabet().bytes.end())
      text += byte->second;
    else
      text += toUtf8(std::u32string_view(&point, 1));
  return text;
}

} // namespace heddle
