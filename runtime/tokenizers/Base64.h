// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

// Encodes bytes, with padding.
std::string toBase64(std::string_view bytes);
// Decodes base64. Returns nothing if `text` is not valid base64.
std::optional<std::string> fromBase64(std::string_view text);

} // namespace heddle
