// Byte pair encoding of bytes, as GPT-2 has it (Radford et al., "Language Models are Unsupervised Multitask Learners",
// 2019), so that every text has its tokens, and tokens their text.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/Merges.h"
#include "runtime/text/PieceTable.h"
#include "runtime/text/SubwordModel.h"

#include <array>

namespace heddle {

class BytePairs final : public SubwordModel {
public:
  struct Options {
    bool wholeWordsFirst = false;     // a word that is a piece is no matter of merges
    std::optional<int32_t> unknown{}; // stands for a byte without a piece, which is left out otherwise
    bool fusesUnknown = false;        // neighbouring unknown bytes are a single token
  };
  // Of a vocabulary whose pieces have a printable character in the place of each byte; `name` is the file's, for
  // messages. Some bytes may lack a piece, but not all of them.
  static Result<BytePairs> create(const PieceTable &pieces, Merges merges, const Options &options,
                                  const std::string &name);

  void append(std::string_view word, std::vector<int32_t> &ids) const override;

private:
  Options options;
  std::array<std::optional<int32_t>, 256> byteIds;
  Merges merges;
  std::optional<PieceTable> wholeWords;
};

// The bytes that such a piece stands for.
std::string bytesOfPiece(std::string_view piece);

} // namespace heddle
