#include "runtime/tokenizers/ScoredPieces.h"

#include "runtime/text/Utf8.h"

#include <queue>

namespace heddle {

ScoredPieces::ScoredPieces(const PieceTable &all, std::vector<Piece> given, std::optional<int32_t> unknown)
    : pieces(std::move(given)), unknown(unknown), bytes(all) {
  // If a text is listed twice, its last number counts, as everywhere.
  for (size_t id = 0; id < pieces.size(); ++id)
    if (pieces[id].isMade && !pieces[id].text.empty())
      (void)made.add(int32_t(id), pieces[id].text, "");
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
      if (model.pieces[size_t(pair.id)].isUnused)
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

  void append(std::vector<int32_t> &ids) const {
    bool behindUnknown = false;
    for (const Part &part : parts)
      if (part.bytes != 0)
        append(text(part.begin, part.bytes), ids, behindUnknown);
  }

private:
  struct Part {
    size_t begin, bytes;   // no bytes: merged into another part
    size_t before, behind; // neighbours; out of range if there is none
  };
  struct Pair {
    double score;
    size_t left, bytes;
    int32_t id;
    bool operator<(const Pair &other) const { return score != other.score ? score < other.score : left > other.left; }
  };

  std::string_view text(size_t begin, size_t bytes) const { return word.substr(begin, bytes); }

  void note(size_t left) {
    size_t right = parts[left].behind;
    if (right >= parts.size())
      return;
    size_t bytes = parts[left].bytes + parts[right].bytes;
    if (std::optional<int32_t> id = model.find(text(parts[left].begin, bytes)))
      pairs.push({model.pieces[size_t(*id)].score, left, bytes, *id});
  }

  void append(std::string_view part, std::vector<int32_t> &ids, bool &behindUnknown) const {
    std::optional<int32_t> id = model.find(part);
    bool isUnknown = !id && !model.bytes.append(part, ids);
    if (auto half = firstHalf.find(part); id && model.pieces[size_t(*id)].isUnused && half != firstHalf.end()) {
      append(part.substr(0, half->second), ids, behindUnknown);
      append(part.substr(half->second), ids, behindUnknown);
      return;
    }
    if (id)
      ids.push_back(*id);
    else if (isUnknown && model.unknown && !behindUnknown)
      ids.push_back(*model.unknown);
    behindUnknown = isUnknown;
  }

  const ScoredPieces &model;
  std::string_view word;
  std::vector<Part> parts;
  std::priority_queue<Pair> pairs;
  std::unordered_map<std::string_view, size_t> firstHalf; // for split pieces, the length of their first half in bytes
};

void ScoredPieces::append(std::string_view word, std::vector<int32_t> &ids) const {
  Merging merging(*this, word);
  merging.run();
  merging.append(ids);
}

} // namespace heddle
