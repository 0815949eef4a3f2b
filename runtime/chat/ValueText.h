// Values as text, as written by Python's str() and repr().
#pragma once

#include "runtime/chat/Value.h"

namespace heddle::chat {

// The result is truncated if the budget's work or memory runs out; its next step() then reports that.
std::string textOf(const Value &value, Budget &budget);
std::string reprOf(const Value &value, Budget &budget);

std::string reprOf(std::string_view text);

// Writes a number, a bool or None.
std::string numberText(const Value &value);
// The shortest decimal that reads back as the same number: "1.0", "1e-05", "inf".
std::string realText(double value);

// Escapes &, <, >, " and ' for HTML.
std::string escapedForHtml(std::string_view text);

} // namespace heddle::chat
