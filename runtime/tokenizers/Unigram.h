// A unigram language model of pieces (Kudo, "Subword Regularization", 2018). A word is split into the pieces whose
// probabilities have the greatest product.
#pragma once

#include "runtime/tokenizers/PieceModel.h"

namespace heddle {

// If several splits have the greatest score, takes the one with the longest last piece.
class Unigram final : public PieceModel {
public:
  struct Piece {
    std::string text;
    double score; // the logarithm of its probability
  };
  // `pieces` may be parts of a text, and one is not empty; `numbers` has more than these, such as marks. If a text is listed twice,
  // the last one counts. SentencePiece adds scores in single precision, other programs in double precision.
  Unigram(PieceTable numbers, int32_t unknown, bool usesBytes, std::vector<Piece> pieces, bool isSingle);

private:
  std::vector<Part> cut(std::string_view word) const override;
  // Calls `found` for each piece that is a prefix of `text`, shortest first.
  template <typename Found> void forEachPrefix(std::string_view text, Found found) const;

  std::vector<Piece> pieces; // sorted by their bytes
  double unknownScore;
  bool isSingle;
};

} // namespace heddle
