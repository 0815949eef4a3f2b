// Byte pair encoding as SentencePiece has it in its own files (Kudo and Richardson, "SentencePiece", 2018): there is no
// list of merges, but each piece has a score, and of neighbours that make a piece those with the highest score become
// it first.
#pragma once

#include "runtime/text/ByteFallback.h"
#include "runtime/text/SubwordModel.h"

namespace heddle {

class ScoredPieces final : public SubwordModel {
public:
  struct Piece {
    std::string text;
    double score = 0;
    bool isMade = true;    // of neighbours: marks and the pieces of bytes are not
    bool isUnused = false; // it is made, and then taken apart again
  };
  // By number. `all` has the same texts. Without `unknown` what has neither a piece nor pieces of its bytes is left
  // out.
  ScoredPieces(const PieceTable &all, std::vector<Piece> pieces, std::optional<int32_t> unknown);

  // Of several pairs with the highest score it is the turn of the leftmost.
  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  class Merging;

  std::optional<int32_t> find(std::string_view text) const { return made.find(text); }

  PieceTable made; // the pieces that neighbours can make
  std::vector<Piece> pieces;
  std::optional<int32_t> unknown;
  ByteFallback bytes;
};

} // namespace heddle
