// Byte pair encoding in SentencePiece's own files (Kudo and Richardson, "SentencePiece", 2018). There is no list of
// merges. Instead each piece has a score, and of all neighbours that form a piece, those with the highest score are
// merged first.
#pragma once

#include "runtime/tokenizers/PieceModel.h"

#include <unordered_map>

namespace heddle {

// Merges the pair with the highest score. If several pairs have it, the leftmost one is merged.
class ScoredPieces final : public PieceModel {
public:
  struct Piece {
    std::string text;
    double score = 0;
    bool isMade = true;    // may result from merging neighbours; false for marks and byte pieces
    bool isUnused = false; // may result from merging, but is then split again
  };
  // If a text is listed twice, the last one counts.
  ScoredPieces(PieceTable numbers, std::optional<int32_t> unknown, bool usesBytes, std::vector<Piece> pieces);

private:
  class Merging;

  std::vector<Part> cut(std::string_view word) const override;
  // The piece that may result from merging neighbours; null if there is none.
  const Piece *find(std::string_view text) const {
    auto found = made.find(text);
    return found == made.end() ? nullptr : found->second;
  }

  std::vector<Piece> pieces;
  std::unordered_map<std::string_view, const Piece *> made;
};

} // namespace heddle
