// SentencePiece's character normalisation: a table in the model's file that maps texts to their replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class CharacterMap {
public:
  // Parses the table: the size of a trie in bytes, the trie as a double array (Yata, "Darts-clone"), and the
  // replacements, each terminated by a zero byte. Returns nothing if `bytes` is not such a table.
  static std::optional<CharacterMap> parse(std::string_view bytes);

  // Replaces each character as the table says. A short grapheme cluster, such as a letter with its accent, is looked up
  // as a whole. The replacement of its shortest prefix in the table then stands for the whole cluster, as in Hugging
  // Face's tokenizers (SentencePiece itself keeps the rest of the cluster).
  std::string apply(std::string_view text) const;

  // The length of the longest replacement in bytes.
  size_t longest() const { return longestReplacement; }

private:
  // The replacement of the shortest prefix of `text` that is in the table.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> trie;
  std::string replacements;
  size_t longestReplacement = 0;
};

// Returns true if look-ups stay inside the trie for every text: libsentencepiece does not check this.
bool isSafeCharacterMap(std::string_view bytes);

} // namespace heddle
