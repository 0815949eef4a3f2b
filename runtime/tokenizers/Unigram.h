// A unigram language model of pieces (Kudo, "Subword Regularization", 2018). A word is split into the pieces whose
// probabilities have the greatest product.
#pragma once

#include "runtime/tokenizers/ByteFallback.h"
#include "runtime/tokenizers/SubwordModel.h"

namespace heddle {

class Unigram final : public SubwordModel {
public:
  // `scores` has the logarithm of each piece's probability, in the order of their numbers.
  Unigram(PieceTable pieces, std::vector<double> scores, int32_t unknown, bool usesBytes);

  // If several splits have the greatest score, takes the one with the longest last piece.
  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  // Calls `found` for each piece that is a prefix of `text`, shortest first.
  template <typename Found> void forEachPrefix(std::string_view text, Found found) const;

  PieceTable pieces;
  std::vector<double> scores;
  std::vector<int32_t> sorted; // piece numbers, sorted by the pieces' bytes
  double unknownScore;
  int32_t unknown;
  ByteFallback bytes;
};

} // namespace heddle
