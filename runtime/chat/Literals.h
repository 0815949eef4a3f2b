// Strings and numbers as they are written in a template.
#pragma once

#include "runtime/chat/Value.h"

namespace heddle::chat {

// What a string between its quotes stands for, with Python's escapes. The error is a message without a place.
Result<std::string> unescapedString(std::string_view text);

// Bytes of the number that the text begins with, or 0.
size_t numberBytes(std::string_view text);
Result<Value> readNumber(std::string_view text);

} // namespace heddle::chat
