// Cuts a template into tokens, with jinja2's options trim_blocks and lstrip_blocks.
#pragma once

#include "runtime/chat/Value.h"

#include <string>
#include <vector>

namespace heddle::chat {

struct Token {
  enum class Kind : uint8_t {
    Data, // text outside of tags
    PrintBegin,
    PrintEnd,
    TagBegin,
    TagEnd,
    Name,
    String,
    Number,
    Sign, // an operator or a bracket
    End,
  };
  Kind kind;
  int line;
  std::string text; // for a string, its characters without quotes and escapes
  Value number;
};

// Ends with a token of kind End. Fails if a tag, comment or string does not end, or contains a character that begins no
// token.
Result<std::vector<Token>> cutIntoTokens(std::string_view text);

// An error in a template: a short message with its line.
template <typename... Parts> Error syntaxError(int line, const Parts &...parts) {
  return makeError(ErrorKind::Malformed, parts..., " (line ", line, " of the template)");
}

} // namespace heddle::chat
