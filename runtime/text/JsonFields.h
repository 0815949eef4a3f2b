// Fields of a JSON object from outside, which may lack them or have others in their place.
#pragma once

#include "runtime/core/Json.h"

#include <string>

namespace heddle {

// Of an object, the value of a key; null where it has none.
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

// The value if it is a string, otherwise empty.
inline std::string textAt(const nlohmann::json &object, const char *key) {
  const nlohmann::json &value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

} // namespace heddle
