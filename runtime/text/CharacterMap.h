// What SentencePiece makes of characters before it looks for pieces: a table in the model's file, of texts and what
// they become.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class CharacterMap {
public:
  // Reads the table: the bytes of a trie in a double array (Yata, "Darts-clone"), their number before them, and behind
  // them the replacements, each ended by a zero. Nothing where it is none.
  static std::optional<CharacterMap> parse(std::string_view bytes);

  // The text with each character as the table has it. Characters that a reader takes for one, such as a letter and its
  // accent, are looked up together where they are short; the replacement of the first of them stands for all, as in
  // Hugging Face's tokenizers (SentencePiece itself keeps the others).
  std::string apply(std::string_view text) const;

  // Bytes of the longest replacement.
  size_t longest() const { return longestReplacement; }

private:
  // The replacement of the shortest text in the table that `text` begins with.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> trie;
  std::string replacements;
  size_t longestReplacement = 0;
};

// Whether a walk through the trie stays within it, whatever the text: libsentencepiece does not look.
bool isSafeCharacterMap(std::string_view bytes);

} // namespace heddle
