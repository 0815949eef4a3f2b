#include "runtime/tokenizers/Unigram.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {
namespace {

// The score of a character without a piece is the lowest score of all pieces minus this.
constexpr double kUnknownPenalty = 10;

} // namespace

Unigram::Unigram(PieceTable all, std::vector<double> given, int32_t unknown, bool usesBytes)
    : pieces(std::move(all)), scores(std::move(given)), unknown(unknown) {
  for (int32_t id = 0; id < pieces.size(); ++id)
    if (pieces.find(pieces[id]) == id) // if a piece is listed twice, the last number counts
      sorted.push_back(id);
  std::ranges::sort(sorted, {}, [&](int32_t id) -> const std::string & { return pieces[id]; });
  unknownScore = std::ranges::min(scores) - kUnknownPenalty;
  if (usesBytes)
    bytes = ByteFallback(pieces);
}

template <typename Found> void Unigram::forEachPrefix(std::string_view text, Found found) const {
  // Pieces with the same prefix are adjacent, and the piece that equals the prefix comes first.
  auto begin = sorted.begin(), end = sorted.end();
  for (size_t length = 0; length < text.size() && begin != end; ++length) {
    auto byteOf = [&](int32_t id) { return uint8_t(pieces[id][length]); };
    std::ranges::subrange range = std::ranges::equal_range(begin, end, uint8_t(text[length]), {}, byteOf);
    begin = range.begin();
    end = range.end();
    if (begin != end && pieces[*begin].size() == length + 1)
      found(*begin++);
  }
}

void Unigram::append(std::string_view word, std::vector<int32_t> &ids) const {
  struct Way {
    double score = 0;
    size_t begin = 0; // of its last piece
    int32_t id = -1;  // of its last piece; -1 if no way ends here
  };
  std::vector<Way> ways(word.size() + 1); // the best way that ends before each byte
  for (size_t place = 0, length; place < word.size(); place += length) {
    length = firstCharacter(word.substr(place)).bytes;
    auto consider = [&](size_t end, int32_t id, double score) {
      Way &best = ways[end];
      if (score += ways[place].score; best.id < 0 || score > best.score)
        best = {score, place, id};
    };
    bool hasCharacter = false;
    forEachPrefix(word.substr(place), [&](int32_t id) {
      consider(place + pieces[id].size(), id, scores[size_t(id)]);
      hasCharacter |= pieces[id].size() == length;
    });
    if (!hasCharacter)
      consider(place + length, unknown, unknownScore);
  }

  std::vector<std::string_view> parts; // in reverse order; consecutive unknown characters are one part
  bool behindUnknown = false;
  for (size_t end = word.size(); end > 0; end = ways[end].begin) {
    const Way &way = ways[end];
    std::string_view part = word.substr(way.begin, end - way.begin);
    if (way.id == unknown && behindUnknown)
      parts.back() = word.substr(way.begin, part.size() + parts.back().size());
    else
      parts.push_back(part);
    behindUnknown = way.id == unknown;
  }
  for (size_t i = parts.size(); i-- > 0;)
    if (std::optional<int32_t> id = pieces.find(parts[i]))
      ids.push_back(*id);
    else if (!bytes.append(parts[i], ids))
      ids.push_back(unknown);
}

} // namespace heddle
