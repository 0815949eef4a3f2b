#include "runtime/text/BytePairs.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

namespace heddle {
namespace {

struct Alphabet {
  std::array<std::string, 256> characters; // that stand for bytes
  std::unordered_map<char32_t, char> bytes;
};

// The character that stands for a byte: itself where that can be printed and is no space, else one from U+0100 on.
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

Result<BytePairs> BytePairs::create(const PieceTable &pieces, Merges merges, bool wholeWordsFirst,
                                    const std::string &name) {
  BytePairs model;
  model.merges = std::move(merges);
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string &character = alphabet().characters[byte];
    std::optional<int32_t> id = pieces.find(character);
    if (!id)
      return makeError(ErrorKind::Malformed, "'", name,
                       "' is not a vocabulary of bytes as GPT-2's is: it lacks the piece \"", character,
                       "\", which is the byte ", byte, "; take the vocabulary that was published with the model.");
    model.byteIds[byte] = *id;
  }
  if (wholeWordsFirst)
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
  for (char byte : word)
    bytes.push_back(byteIds[uint8_t(byte)]);
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
