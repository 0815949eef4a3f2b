// Byte pair encoding in SentencePiece's own files (Kudo and Richardson, "SentencePiece", 2018). There is no list of
// merges. Instead each piece has a score, and of all neighbours that form a piece, those with the highest score are
// merged first.
#pragma once

#include "runtime/tokenizers/ByteFallback.h"
#include "runtime/tokenizers/SubwordModel.h"

namespace heddle {

class ScoredPieces final : public SubwordModel {
public:
  struct Piece {
    std::string text;
    double score = 0;
    bool isMade = true;    // may result from merging neighbours; false for marks and byte pieces
    bool isUnused = false; // may result from merging, but is then split again
  };
  // `pieces` are in the order of their numbers; `all` has the same texts. Without `unknown`, a character that has
  // neither a piece nor byte pieces is dropped.
  ScoredPieces(const PieceTable &all, std::vector<Piece> pieces, std::optional<int32_t> unknown);

  // Of several pairs with the highest score, the leftmost is merged.
  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  class Merging;

  std::optional<int32_t> find(std::string_view text) const { return made.find(text); }

  PieceTable made; // the pieces that may result from merging neighbours
  std::vector<Piece> pieces;
  std::optional<int32_t> unknown;
  ByteFallback bytes;
};

} // namespace heddle
