#include "runtime/serve/ApiError.h"

#include <nlohmann/json.hpp>

namespace heddle::serve {

static const char *typeOf(int status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 403:
    return "permission_error";
  case 404:
    return "not_found_error";
  case 429:
    return "rate_limit_error";
  default:
    return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string toJson(const ApiError &error) {
  nlohmann::ordered_json json = {{"message", error.message}, {"type", typeOf(error.status)}};
  json["param"] = error.param.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(error.param);
  json["code"] = error.code.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(error.code);
  return nlohmann::ordered_json{{"error", std::move(json)}}.dump(-1, ' ', false,
                                                                 nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace heddle::serve
