// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

// The bytes of a text in base64; nothing where it is none.
std::optional<std::string> fromBase64(std::string_view text);

} // namespace heddle
