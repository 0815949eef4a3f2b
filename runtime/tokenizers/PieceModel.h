// The models of SentencePiece: they cut a normalised text into parts that are pieces, and parts that no piece has.
#pragma once

#include "runtime/tokenizers/ByteFallback.h"
#include "runtime/tokenizers/SubwordModel.h"

#include <utility>

namespace heddle {

class PieceModel : public SubwordModel {
public:
  // Consecutive unknown parts are one token. A part without a piece is written as bytes if all of them have tokens.
  void append(std::string_view word, std::vector<int32_t> &ids) const final;
  std::vector<std::string_view> unknownParts(std::string_view word) const final;

protected:
  // A part of a word. It is known if it is one of the model's pieces.
  struct Part {
    std::string_view text;
    bool isKnown;
  };

  // `numbers` has the tokens of pieces. Without `unknown`, a part without a piece is dropped.
  PieceModel(PieceTable numbers, std::optional<int32_t> unknown, bool usesBytes)
      : numbers(std::move(numbers)), unknown(unknown) {
    if (usesBytes)
      bytes = ByteFallback(this->numbers);
  }

  // The parts of the word, in order.
  virtual std::vector<Part> cut(std::string_view word) const = 0;

private:
  std::vector<std::string_view> cutFused(std::string_view word) const;

  PieceTable numbers;
  std::optional<int32_t> unknown;
  ByteFallback bytes;
};

// Models of whole words, which begin with the mark of a space, and of single characters.
class ListedPieces final : public PieceModel {
public:
  // `pieces` may be parts of a text; `numbers` has more than these, such as marks.
  ListedPieces(PieceTable numbers, std::optional<int32_t> unknown, bool usesBytes, PieceTable pieces, bool areWords)
      : PieceModel(std::move(numbers), unknown, usesBytes), pieces(std::move(pieces)), areWords(areWords) {}

private:
  std::vector<Part> cut(std::string_view word) const override;

  PieceTable pieces;
  bool areWords;
};

} // namespace heddle
