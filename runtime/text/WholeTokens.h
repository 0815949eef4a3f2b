// Tokens that stand in texts as a whole, such as marks: what is around them is cut and looked up without them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A part of a text: a token that stood there as a whole, or what was between such tokens.
struct TextPart {
  std::string_view text;
  std::optional<int32_t> whole;
};

class WholeTokens {
public:
  // The white space before and behind a token may belong to it. With `aroundWord` (Hugging Face's `single_word`) it is
  // no token beside a character of a word.
  struct Blanks {
    bool before = false, behind = false, aroundWord = false;
  };
  // `text` is not empty.
  void add(std::string text, int32_t id, Blanks blanks);
  void add(std::string text, int32_t id) { add(std::move(text), id, Blanks()); }

  // Forgets the tokens from `id` on.
  void removeFrom(int32_t id);

  // Cuts a text at them, wherever they are in it; of several that begin at a place at the longest.
  std::vector<TextPart> cut(std::string_view text) const;

private:
  struct Token {
    int32_t id;
    Blanks blanks;
  };
  using Tokens = std::map<std::string, Token, std::less<>>;
  Tokens::const_iterator longest(std::string_view text) const;

  Tokens tokens;                  // of two with the same text the first
  std::array<bool, 256> begins{}; // whether a token begins with the byte
};

} // namespace heddle
