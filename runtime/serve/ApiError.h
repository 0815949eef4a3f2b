// Errors in the format that clients of OpenAI's API expect.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace heddle::serve {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {}; // the request's faulty field; empty: none
  std::string code = {};  // an error code for programs; empty: none
};

// {"error": {"message", "type", "param", "code"}}
std::string toJson(const ApiError &error);

// A value, or the error that prevented it.
template <typename T> struct Parsed {
  Parsed(T value) : value(std::move(value)) {}
  Parsed(ApiError error) : error(std::move(error)) {}

  std::optional<T> value;
  std::optional<ApiError> error;
};

} // namespace heddle::serve
