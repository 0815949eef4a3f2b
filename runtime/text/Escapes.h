// Any text as a line: "\n" stands for a line feed in it, "\r" for a carriage return, "\\" for a backslash.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

std::string escaped(std::string_view text);

// The text that escaped() makes `line` of. A backslash before anything else stands for itself.
std::string unescaped(std::string_view line);

} // namespace heddle
