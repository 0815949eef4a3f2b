// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

// Decodes base64. Returns nothing if `text` is not valid base64.
std::optional<std::string> fromBase64(std::string_view text);

} // namespace heddle
