// The text that pieces stand for, one behind the other.
#pragma once

#include "runtime/text/PieceTable.h"

#include <utility>

namespace heddle {

// How a vocabulary turns pieces into text.
struct PieceRule {
  bool isBytes = false;                                        // each character stands for a byte, as in GPT-2's
  std::vector<std::pair<std::string, std::string>> replaced{}; // in each piece, in this order
  bool hasBytes = false;                                       // "<0x0A>" is a byte
  std::string stripped{}; // what the text's beginning has too much, at most `strips` times
  size_t strips = 0;
  std::string hidden{}; // what a text's first piece has, and no reader sees
};

class PieceTexts {
public:
  PieceTexts() = default;
  // Tokens among `wholes` are themselves where pieces are bytes.
  PieceTexts(const PieceTable &pieces, PieceRule rule, std::span<const int32_t> wholes);

  // Any bytes: a character may be cut off at either end. Ids that name no piece are left out. `begins`: the tokens are
  // a text's first.
  std::string join(const PieceTable &pieces, std::span<const int32_t> ids, bool begins) const;

private:
  std::string textOf(std::string piece) const;

  PieceRule rule;
  std::vector<std::string> texts; // by number
};

} // namespace heddle
