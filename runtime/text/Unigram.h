// A unigram language model of pieces (Kudo, "Subword Regularization", 2018): a word is written in the pieces whose
// probabilities have the greatest product.
#pragma once

#include "runtime/text/ByteFallback.h"
#include "runtime/text/SubwordModel.h"

namespace heddle {

class Unigram final : public SubwordModel {
public:
  // A score is the logarithm of a piece's probability, by number.
  Unigram(PieceTable pieces, std::vector<double> scores, int32_t unknown, bool usesBytes);

  // Of several ways with the greatest score it is the one that is found first, from left to right, the longest last
  // piece first.
  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  // Calls `found` for each piece that the text begins with, the shortest first.
  template <typename Found> void forEachPrefix(std::string_view text, Found found) const;

  PieceTable pieces;
  std::vector<double> scores;
  std::vector<int32_t> sorted; // pieces by the order of their bytes
  double unknownScore;
  int32_t unknown;
  ByteFallback bytes;
};

} // namespace heddle
