// Joins pieces to the text that they stand for.
#pragma once

#include "runtime/tokenizers/PieceTable.h"

#include <unordered_set>
#include <utility>

namespace heddle {

// How a vocabulary converts pieces to text.
struct PieceRule {
  bool isBytes = false;                                        // each character stands for a byte, as in GPT-2
  std::vector<std::pair<std::string, std::string>> replaced{}; // replacements within each piece, in this order
  bool hasBytes = false;                                       // "<0x0A>" is a byte
  std::string stripped{};                                      // a prefix of the text to remove, up to `strips` times
  size_t strips = 0;
  std::string hidden{}; // a mark to remove from the first piece of a text
};

class PieceTexts {
public:
  PieceTexts() = default;
  // If pieces are bytes, the tokens in `wholes` stand for their own text.
  PieceTexts(const PieceTable &pieces, PieceRule rule, std::span<const int32_t> wholes);

  // Changes the text of a token. It stays whole at the beginning of a text.
  void set(int32_t id, std::string text) {
    texts[size_t(id)] = std::move(text);
    whole.insert(id);
  }

  // The joined text: any bytes, as a character may be cut off at either end. Ids without a piece are skipped. `begins`
  // means that the tokens are the first of a text.
  std::string join(const PieceTable &pieces, std::span<const int32_t> ids, bool begins) const;

private:
  std::string textOf(std::string piece) const;

  PieceRule rule;
  std::vector<std::string> texts; // by number
  std::unordered_set<int32_t> whole;
};

} // namespace heddle
