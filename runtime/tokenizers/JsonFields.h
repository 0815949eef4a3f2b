// Access to fields of an untrusted JSON object, which may be missing or of an unexpected type.
#pragma once

#include "runtime/core/Json.h"

#include <string>

namespace heddle {

// The value of a key of an object; null if there is no such key or `object` is no object.
inline const nlohmann::json &at(const nlohmann::json &object, const char *key) {
  static const nlohmann::json none;
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

inline bool is(const nlohmann::json &object, const char *key, const char *text) { return at(object, key) == text; }

inline bool isTrue(const nlohmann::json &object, const char *key, bool otherwise = false) {
  const nlohmann::json &value = at(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// The value if it is a string, otherwise an empty string.
inline std::string textAt(const nlohmann::json &object, const char *key) {
  const nlohmann::json &value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

} // namespace heddle
