// A request and its answer; counts them in the metrics.
#pragma once

#include "runtime/serve/ApiError.h"
#include "runtime/serve/HttpServer.h"
#include "runtime/serve/Metrics.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace heddle::serve {

// JSON text; invalid UTF-8 in the value is replaced.
std::string dumped(const nlohmann::ordered_json &json);

class Exchange {
public:
  // `route` is the path under which the request is counted.
  Exchange(HttpRequest request, std::shared_ptr<HttpReply> reply, Metrics &metrics, HttpFields fields,
           std::string route)
      : request(std::move(request)), reply(std::move(reply)), metrics(metrics), fields(std::move(fields)),
        route(std::move(route)) {}

  HttpRequest request;

  void answer(const nlohmann::ordered_json &json) { send(200, "application/json", dumped(json)); }
  void refuse(const ApiError &error);
  void send(int status, std::string_view contentType, std::string body, const HttpFields &more = {});

  // Server-sent events. An event without a name has only data.
  void beginEvents();
  void event(std::string_view data, std::string_view name = {});
  void endEvents() { reply->end(); }

  void whenGone(std::function<void()> function) { reply->whenGone(std::move(function)); }

private:
  std::shared_ptr<HttpReply> reply;
  Metrics &metrics;
  HttpFields fields; // added to every answer's header
  std::string route;
};

} // namespace heddle::serve
