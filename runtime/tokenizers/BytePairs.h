// Byte pair encoding of bytes, as in GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners",
// 2019). Every text has tokens, and every token has a text.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/Merges.h"
#include "runtime/tokenizers/PieceTable.h"
#include "runtime/tokenizers/SubwordModel.h"

#include <array>

namespace heddle {

class BytePairs final : public SubwordModel {
public:
  struct Options {
    bool wholeWordsFirst = false;     // a word that is a piece is taken whole, without merges
    std::optional<int32_t> unknown{}; // stands for a byte without a piece; if absent, such bytes are dropped
    bool fusesUnknown = false;        // consecutive unknown bytes become a single token
  };
  // For a vocabulary whose pieces contain a printable character for each byte. `name` is the file's name for messages.
  // Some bytes may lack a piece. Fails if all of them do.
  static Result<BytePairs> create(const PieceTable &pieces, Merges merges, const Options &options,
                                  const std::string &name);

  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  Options options;
  std::array<std::optional<int32_t>, 256> byteIds;
  Merges merges;
  std::optional<PieceTable> wholeWords;
};

// Decodes a piece of such a vocabulary to the bytes that it stands for.
std::string bytesOfPiece(std::string_view piece);

} // namespace heddle
