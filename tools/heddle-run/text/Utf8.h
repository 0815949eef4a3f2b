// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <string>
#include <string_view>

namespace heddle::run {

bool isValidUtf8(std::string_view text);

// Every byte that no valid character holds becomes U+FFFD.
std::string replaceInvalidUtf8(std::string_view text);

// Nothing but ASCII white space.
bool isBlank(std::string_view text);

} // namespace heddle::run
