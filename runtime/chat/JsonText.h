// Writes values as JSON in the style of Python's json.dumps().
#pragma once

#include "runtime/chat/Object.h"

#include <nlohmann/json.hpp>

namespace heddle::chat {

struct JsonStyle {
  bool asciiOnly = false;            // writes other characters as \u escapes
  std::optional<std::string> indent; // of each level; if absent, everything is on one line
  std::string itemSeparator = ", ", keySeparator = ": ";
  bool sortsKeys = false;
};

Result<std::string> jsonText(const Value &value, const JsonStyle &style, Budget &budget);

// Converts untrusted JSON to a value. Fails if an integer does not fit into 64 bits, or if the JSON is nested deeper
// than kDeepestValue. `level` is the depth of `json` in the whole.
Result<Value> valueOf(const nlohmann::ordered_json &json, unsigned level = 0);

} // namespace heddle::chat
