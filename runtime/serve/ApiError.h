// Errors as clients of OpenAI's API expect them.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace heddle::serve {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {}; // the field of the request; empty: none
  std::string code = {};  // a word for programs; empty: none
};

// {"error": {"message", "type", "param", "code"}}
std::string toJson(const ApiError &error);

// A value, or why there is none.
template <typename T> struct Parsed {
  Parsed(T value) : value(std::move(value)) {}
  Parsed(ApiError error) : error(std::move(error)) {}

  std::optional<T> value;
  std::optional<ApiError> error;
};

} // namespace heddle::serve
