// Reads the fields of a request's JSON object. Only the first wrong field is reported.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/serve/ApiError.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::serve {

class Fields {
public:
  using Json = nlohmann::ordered_json;

  // The object must outlive this.
  explicit Fields(const Json &object) : object(object) {}

  // The field; nullptr if it is missing or null.
  const Json *find(std::string_view name) const {
    auto field = object.find(name);
    return field == object.end() || field->is_null() ? nullptr : &*field;
  }

  std::optional<double> number(std::string_view name, double least, double most) {
    const Json *field = find(name);
    if (!field)
      return std::nullopt;
    double value = field->is_number() ? field->get<double>() : NAN;
    if (!(value >= least && value <= most)) {
      fail(name, str("'", name, "' must be a number from ", least, " to ", most, "."));
      return std::nullopt;
    }
    return value;
  }

  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) {
    const Json *field = find(name);
    if (!field)
      return std::nullopt;
    bool isWhole =
        field->is_number_integer() && !(field->is_number_unsigned() && field->get<uint64_t>() > uint64_t(INT64_MAX));
    if (!isWhole || field->get<int64_t>() < least || field->get<int64_t>() > most) {
      fail(name, str("'", name, "' must be a whole number from ", least, " to ", most, "."));
      return std::nullopt;
    }
    return field->get<int64_t>();
  }

  bool flag(std::string_view name) {
    const Json *field = find(name);
    if (field && !field->is_boolean())
      fail(name, str("'", name, "' must be true or false."));
    return field && field->is_boolean() && field->get<bool>();
  }

  std::string text(std::string_view name) {
    const Json *field = find(name);
    if (field && !field->is_string())
      fail(name, str("'", name, "' must be a text."));
    return field && field->is_string() ? field->get<std::string>() : std::string();
  }

  // For fields that would change the answer but are not supported.
  void refuse(std::string_view name, std::string_view reason) {
    fail(name, str("'", name, "' ", reason), "unsupported");
  }

  void fail(std::string_view name, std::string message, std::string code = "invalid_value") {
    if (!error)
      error = ApiError{400, std::move(message), std::string(name), std::move(code)};
  }

  std::optional<ApiError> error;

private:
  const Json &object;
};

} // namespace heddle::serve
