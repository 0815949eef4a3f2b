// Byte pair encoding of characters, as in SentencePiece (Kudo and Richardson, "SentencePiece", 2018). A character
// without a piece is written as its bytes or becomes the unknown token.
#pragma once

#include "runtime/tokenizers/ByteFallback.h"
#include "runtime/tokenizers/Merges.h"
#include "runtime/tokenizers/SubwordModel.h"

namespace heddle {

class MergedPieces final : public SubwordModel {
public:
  struct Options {
    bool usesBytes = false;
    std::optional<int32_t> unknown; // if absent, unknown characters are dropped
    bool fusesUnknown = false;      // consecutive unknown characters become a single token
    bool wholeWordsFirst = false;   // a word that is a piece is taken whole, without merges
  };
  MergedPieces(PieceTable pieces, Merges merges, Options options);

  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  static constexpr int32_t kNone = -1;
  PieceTable pieces;
  std::vector<int32_t> ofPoints; // the piece of each code point, or kNone; later code points have none
  Merges merges;
  Options options;
  ByteFallback bytes;
};

} // namespace heddle
