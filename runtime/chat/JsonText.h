// Values as JSON, as Python's json.dumps() writes them.
#pragma once

#include "runtime/chat/Object.h"

#include <nlohmann/json.hpp>

namespace heddle::chat {

struct JsonStyle {
  bool asciiOnly = false;            // \u escapes for all other characters
  std::optional<std::string> indent; // of a level; without it all is one line
  std::string itemSeparator = ", ", keySeparator = ": ";
  bool sortsKeys = false;
};

Result<std::string> jsonText(const Value &value, const JsonStyle &style, Budget &budget);

// The value of JSON from outside. Fails for a whole number that does not fit into 64 bits, and for JSON that nests more
// than kDeepestValue deep; `level` is how deep this part of it lies.
Result<Value> valueOf(const nlohmann::ordered_json &json, unsigned level = 0);

} // namespace heddle::chat
