// What SentencePiece makes of characters before it looks for pieces: a table in the model's file, of texts and what they become.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

class CharacterMap {
public:
  // Reads the table: the bytes of a trie in a double array (Yata, "Darts-clone"), their number before them, and behind them the
  // replacements, each ended by a zero. Nothing where it is none.
  static std::optional<CharacterMap> parse(std::string_view bytes);

  std::string apply(std::string_view text) const;

private:
  // The replacement of the shortest text in the table that `text` begins with.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> trie;
  std::string replacements;
};

} // namespace heddle::run
