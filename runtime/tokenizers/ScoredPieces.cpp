#include "runtime/tokenizers/ScoredPieces.h"

#include "runtime/text/Utf8.h"

#include <queue>

namespace heddle {

ScoredPieces::ScoredPieces(PieceTable numbers, std::optional<int32_t> unknown, bool usesBytes, std::vector<Piece> given)
    : PieceModel(std::move(numbers), unknown, usesBytes), pieces(std::move(given)) {
  for (const Piece &piece : pieces)
    if (piece.isMade && !piece.text.empty())
      made[piece.text] = &piece;
}

// Merges one word. It is a list of adjacent parts, at first its characters.
class ScoredPieces::Merging {
public:
  Merging(const ScoredPieces &model, std::string_view word) : model(model), word(word) {}

  void run() {
    for (size_t begin = 0, length; begin < word.size(); begin += length) {
      length = firstCharacter(word.substr(begin)).bytes;
      parts.push_back({begin, length, parts.size() - 1, parts.size() + 1});
    }
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      note(i);
    while (!pairs.empty()) {
      Pair pair = pairs.top();
      pairs.pop();
      Part &left = parts[pair.left];
      // One of the two has since been merged with another part.
      if (left.bytes == 0 || left.behind >= parts.size() || left.bytes + parts[left.behind].bytes != pair.bytes)
        continue;
      Part &right = parts[left.behind];
      if (pair.isUnused)
        firstHalf[text(left.begin, pair.bytes)] = left.bytes;
      left.bytes = pair.bytes;
      left.behind = right.behind;
      right.bytes = 0;
      if (left.behind < parts.size())
        parts[left.behind].before = pair.left;
      if (left.before < parts.size())
        note(left.before);
      note(pair.left);
    }
  }

  std::vector<ScoredPieces::Part> result() const {
    std::vector<ScoredPieces::Part> pieces;
    for (const Part &part : parts)
      if (part.bytes != 0)
        append(text(part.begin, part.bytes), pieces);
    return pieces;
  }

private:
  struct Part {
    size_t begin, bytes;   // no bytes: merged into another part
    size_t before, behind; // neighbours; out of range if there is none
  };
  struct Pair {
    double score;
    size_t left, bytes;
    bool isUnused;
    bool operator<(const Pair &other) const { return score != other.score ? score < other.score : left > other.left; }
  };

  std::string_view text(size_t begin, size_t bytes) const { return word.substr(begin, bytes); }

  void note(size_t left) {
    size_t right = parts[left].behind;
    if (right >= parts.size())
      return;
    size_t bytes = parts[left].bytes + parts[right].bytes;
    if (const Piece *piece = model.find(text(parts[left].begin, bytes)))
      pairs.push({piece->score, left, bytes, piece->isUnused});
  }

  void append(std::string_view part, std::vector<ScoredPieces::Part> &pieces) const {
    const Piece *piece = model.find(part);
    if (auto half = firstHalf.find(part); piece && piece->isUnused && half != firstHalf.end()) {
      append(part.substr(0, half->second), pieces);
      append(part.substr(half->second), pieces);
    } else {
      pieces.push_back({part, piece != nullptr});
    }
  }

  const ScoredPieces &model;
  std::string_view word;
  std::vector<Part> parts;
  std::priority_queue<Pair> pairs;
  std::unordered_map<std::string_view, size_t> firstHalf; // for split pieces, the length of their first half in bytes
};

std::vector<PieceModel::Part> ScoredPieces::cut(std::string_view word) const {
  Merging merging(*this, word);
  merging.run();
  return merging.result();
}

} // namespace heddle
