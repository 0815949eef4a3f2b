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
  std::string text; // of a string the characters that it stands for
  Value number;
};

// The last token is of the kind End. Fails if a tag, comment or string has no end, or holds what no token begins with.
Result<std::vector<Token>> cutIntoTokens(std::string_view text);

// What a mistake in a template is: a short paragraph with its line.
template <typename... Parts> Error syntaxError(int line, const Parts &...parts) {
  return makeError(ErrorKind::Malformed, parts..., " (line ", line, " of the template)");
}

} // namespace heddle::chat
