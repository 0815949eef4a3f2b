// JSON from outside: vocabularies, manifests, headers, logs, descriptions.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

namespace heddle {

// Printers and destructors recurse into nested values, so a small file could exhaust the stack. No file that Heddle
// reads nests more than five deep.
inline constexpr size_t kDeepestNesting = 64;

// The value of a JSON text. Text that is not JSON, nests deeper than kDeepestNesting or names a key twice in an object
// is an error, which calls the text `origin`: "'vocab.json'".
Result<nlohmann::json> parseJson(std::string_view text, std::string_view origin);
// The same with the keys of objects in the order of the text. An object with more than `mostKeys` is an error: the time
// for an object grows with the square of its keys.
Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text, std::string_view origin,
                                                size_t mostKeys = SIZE_MAX);

} // namespace heddle
