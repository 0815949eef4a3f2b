// Tokens that are recognised in a text as a whole, such as marks. The text around them is cut and looked up separately.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A part of a text: a whole token, or the text between whole tokens.
struct TextPart {
  std::string_view text;
  std::optional<int32_t> whole;
};

class WholeTokens {
public:
  // White space before and after a token may belong to it. With `aroundWord` (Hugging Face's `single_word`) a token
  // next to a word character is not recognised.
  struct Blanks {
    bool before = false, behind = false, aroundWord = false;
  };
  // `text` is not empty.
  void add(std::string text, int32_t id, Blanks blanks);
  void add(std::string text, int32_t id) { add(std::move(text), id, Blanks()); }

  // Removes the tokens with ids from `id` on.
  void removeFrom(int32_t id);

  // The token with exactly this text.
  std::optional<int32_t> find(std::string_view text) const {
    auto found = tokens.find(text);
    return found == tokens.end() ? std::nullopt : std::optional(found->second.id);
  }

  // The length of the longest token at the beginning of `text`, which is not empty; 0 if there is none.
  size_t prefixBytes(std::string_view text) const {
    auto token = begins[uint8_t(text.front())] ? longest(text) : tokens.end();
    return token == tokens.end() ? 0 : token->first.size();
  }

  // Cuts a text at these tokens. If several tokens begin at the same position, the longest counts.
  std::vector<TextPart> cut(std::string_view text) const;

private:
  struct Token {
    int32_t id;
    Blanks blanks;
  };
  using Tokens = std::map<std::string, Token, std::less<>>;
  Tokens::const_iterator longest(std::string_view text) const;

  Tokens tokens;                  // of two with the same text, the first is kept
  std::array<bool, 256> begins{}; // whether a token begins with this byte
};

} // namespace heddle
