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

  // Removes the longest prefix of `text` that is in the table and returns its replacement, as SentencePiece does. If no
  // prefix is in the table, this is the first character itself, or U+FFFD for an invalid byte.
  std::string_view takeLongest(std::string_view &text) const;

  // The length of the longest replacement in bytes.
  size_t longest() const { return longestReplacement; }

private:
  // A prefix of a text that is in the table: its length, and its replacement.
  struct Found {
    size_t bytes = 0;
    std::string_view by;
  };
  // The shortest such prefix of `text`, or the longest; without bytes if there is none.
  Found find(std::string_view text, bool longest) const;

  std::vector<uint32_t> trie;
  std::string replacements;
  size_t longestReplacement = 0;
};

} // namespace heddle
