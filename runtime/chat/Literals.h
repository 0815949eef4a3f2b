// String and number literals of a template.
#pragma once

#include "runtime/chat/Value.h"

namespace heddle::chat {

// Replaces Python's escapes in a string without its quotes. The error message does not give the location.
Result<std::string> unescapedString(std::string_view text);

// The length in bytes of the number at the beginning of the text, or 0.
size_t numberBytes(std::string_view text);
Result<Value> readNumber(std::string_view text);

} // namespace heddle::chat
