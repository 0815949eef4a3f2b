// Byte pair encoding of characters, as SentencePiece makes it (Kudo and Richardson, "SentencePiece", 2018): what has no
// piece is written as its bytes, or is unknown.
#pragma once

#include "runtime/text/ByteFallback.h"
#include "runtime/text/Merges.h"
#include "runtime/text/SubwordModel.h"

namespace heddle {

class MergedPieces final : public SubwordModel {
public:
  struct Options {
    bool usesBytes = false;
    std::optional<int32_t> unknown; // without it, what is unknown is left out
    bool fusesUnknown = false;      // neighbouring unknown characters are a single token
    bool wholeWordsFirst = false;   // a word that is a piece is no matter of merges
  };
  MergedPieces(PieceTable pieces, Merges merges, Options options);

  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  PieceTable pieces;
  Merges merges;
  Options options;
  ByteFallback bytes;
};

} // namespace heddle
