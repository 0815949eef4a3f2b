#include "runtime/tokenizers/Unigram.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {
namespace {

// The score of a character without a piece is the lowest score of all pieces minus this.
constexpr double kUnknownPenalty = 10;

} // namespace

Unigram::Unigram(PieceTable numbers, int32_t unknown, bool usesBytes, std::vector<Piece> given, bool isSingle)
    : PieceModel(std::move(numbers), unknown, usesBytes), pieces(std::move(given)), isSingle(isSingle) {
  auto lowest = std::ranges::min_element(pieces, {}, &Piece::score);
  unknownScore = (lowest == pieces.end() ? 0 : lowest->score) - kUnknownPenalty;
  if (isSingle)
    unknownScore = float(unknownScore);
  std::ranges::reverse(pieces); // the last of equal texts comes first, and stays
  std::ranges::stable_sort(pieces, {}, &Piece::text);
  auto repeated = std::ranges::unique(pieces, {}, &Piece::text);
  pieces.erase(repeated.begin(), repeated.end());
}

template <typename Found> void Unigram::forEachPrefix(std::string_view text, Found found) const {
  // Pieces with the same prefix are adjacent, and the piece that equals the prefix comes first.
  auto begin = pieces.begin(), end = pieces.end();
  for (size_t length = 0; length < text.size() && begin != end; ++length) {
    auto byteOf = [&](const Piece &piece) { return uint8_t(piece.text[length]); };
    std::ranges::subrange range = std::ranges::equal_range(begin, end, uint8_t(text[length]), {}, byteOf);
    begin = range.begin();
    end = range.end();
    if (begin != end && begin->text.size() == length + 1)
      found(*begin++);
  }
}

std::vector<PieceModel::Part> Unigram::cut(std::string_view word) const {
  struct Way {
    double score = 0;
    size_t begin = 0; // of its last part
    bool isReached = false, isKnown = false;
  };
  std::vector<Way> ways(word.size() + 1); // the best way that ends before each byte
  for (size_t place = 0, length; place < word.size(); place += length) {
    length = firstCharacter(word.substr(place)).bytes;
    auto consider = [&](size_t end, double score, bool isKnown) {
      Way &best = ways[end];
      score += ways[place].score;
      double rounded = isSingle ? double(float(score)) : score;
      if (!best.isReached || (isKnown ? score : rounded) > best.score) // SentencePiece compares before it rounds
        best = {rounded, place, true, isKnown};
    };
    bool hasCharacter = false;
    forEachPrefix(word.substr(place), [&](const Piece &piece) {
      consider(place + piece.text.size(), piece.score, true);
      hasCharacter |= piece.text.size() == length;
    });
    if (!hasCharacter)
      consider(place + length, unknownScore, false);
  }
  std::vector<Part> parts;
  for (size_t end = word.size(); end > 0; end = ways[end].begin)
    parts.push_back({word.substr(ways[end].begin, end - ways[end].begin), ways[end].isKnown});
  std::ranges::reverse(parts);
  return parts;
}

} // namespace heddle
