// Writes any text as a single line: "\n" stands for a line feed, "\r" for a carriage return, "\\" for a backslash.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

std::string escaped(std::string_view text);

// The inverse of escaped(). A backslash before any other character stands for itself.
std::string unescaped(std::string_view line);

} // namespace heddle
