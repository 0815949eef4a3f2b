#include "runtime/serve/Exchange.h"

namespace heddle::serve {

std::string dumped(const nlohmann::ordered_json &json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void Exchange::send(int status, std::string_view contentType, std::string body, const HttpFields &more) {
  metrics.countRequest(route, status);
  HttpFields all = fields;
  all.insert(all.end(), more.begin(), more.end());
  reply->send(status, contentType, std::move(body), all);
}

void Exchange::refuse(const ApiError &error) {
  HttpFields more;
  if (error.status == 401)
    more.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503)
    more.emplace_back("Retry-After", "1");
  if (error.status == 405)
    more.emplace_back("Allow", error.param);
  ApiError shown = error;
  if (error.status == 405)
    shown.param.clear();
  send(error.status, "application/json", toJson(shown), more);
}

void Exchange::beginEvents() {
  metrics.countRequest(route, 200);
  HttpFields all = fields;
  all.emplace_back("X-Accel-Buffering", "no"); // tells proxies to forward each event at once
  reply->begin("text/event-stream", all);
}

void Exchange::event(std::string_view data, std::string_view name) {
  std::string text;
  if (!name.empty())
    text.append("event: ").append(name).append("\n");
  text.append("data: ").append(data).append("\n\n");
  reply->write(std::move(text));
}

} // namespace heddle::serve
