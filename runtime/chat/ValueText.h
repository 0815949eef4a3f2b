// Values as text, as Python's str() and repr() write them.
#pragma once

#include "runtime/chat/Value.h"

namespace heddle::chat {

// Cut short where the budget's work or memory runs out, which its next step() reports.
std::string textOf(const Value &value, Budget &budget);
std::string reprOf(const Value &value, Budget &budget);

std::string reprOf(std::string_view text);

// A number, a bool or None.
std::string numberText(const Value &value);
// The shortest decimal that reads as the same number: "1.0", "1e-05", "inf".
std::string realText(double value);

// With &, <, >, " and ' as HTML writes them.
std::string escapedForHtml(std::string_view text);

} // namespace heddle::chat
