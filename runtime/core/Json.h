// Parses JSON that may be hostile: vocabularies, manifests, headers, logs, descriptions.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

namespace heddle {

// The deepest nesting that is accepted. Printers and destructors recurse into nested values, so a small file could
// exhaust the stack. No file that Heddle reads nests more than five deep.
inline constexpr size_t kDeepestNesting = 64;

// Parses a JSON text. Fails if it is not JSON, nests deeper than kDeepestNesting or names a key of an object twice. The
// error calls the text `origin`: "'vocab.json'".
Result<nlohmann::json> parseJson(std::string_view text, std::string_view origin);
// The same, but keeps the keys of objects in the text's order. Fails if an object has more than `mostKeys` keys,
// because the time for an object grows with the square of its keys.
Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text, std::string_view origin,
                                                size_t mostKeys = SIZE_MAX);

} // namespace heddle
