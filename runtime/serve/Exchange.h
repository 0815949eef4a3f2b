// A request and its answer, counted.
#pragma once

#include "runtime/serve/ApiError.h"
#include "runtime/serve/HttpServer.h"
#include "runtime/serve/Metrics.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace heddle::serve {

// A text of JSON, whatever bytes the value holds.
std::string dumped(const nlohmann::ordered_json &json);

class Exchange {
public:
  // `route` is the path as it is counted.
  Exchange(HttpRequest request, std::shared_ptr<HttpReply> reply, Metrics &metrics, HttpFields fields,
           std::string route)
      : request(std::move(request)), reply(std::move(reply)), metrics(metrics), fields(std::move(fields)),
        route(std::move(route)) {}

  HttpRequest request;

  void answer(const nlohmann::ordered_json &json) { send(200, "application/json", dumped(json)); }
  void refuse(const ApiError &error);
  void send(int status, std::string_view contentType, std::string body, const HttpFields &more = {});

  // Server-sent events. An event without a name is data only.
  void beginEvents();
  void event(std::string_view data, std::string_view name = {});
  void endEvents() { reply->end(); }

  void whenGone(std::function<void()> function) { reply->whenGone(std::move(function)); }

private:
  std::shared_ptr<HttpReply> reply;
  Metrics &metrics;
  HttpFields fields; // of every answer's header
  std::string route;
};

} // namespace heddle::serve
