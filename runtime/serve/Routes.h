// The HTTP routes for a model's task.
#pragma once

#include "runtime/serve/Exchange.h"
#include "runtime/serve/Metrics.h"
#include "runtime/serve/Server.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::serve {

class Routes {
public:
  virtual ~Routes() = default;

  virtual std::vector<std::string> paths() const = 0; // all take POST
  // Called by several threads; the path is one of paths().
  void handle(const std::shared_ptr<Exchange> &exchange);
  virtual void whenIdle(std::function<Status()> function, std::function<void(Status)> done) = 0;
  virtual std::string failure() const = 0;      // why the device no longer works; empty if it does
  virtual bool aligns() const { return false; } // true if translations can include alignments
  virtual const char *kind() const = 0;         // for the page: "chat", "text", "translate", "predict", "embed"

private:
  // Answers the exchange, now or later, or returns why it does not. `body` is the request's body, an object.
  virtual std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange,
                                         const nlohmann::ordered_json &body) = 0;
};

std::unique_ptr<Routes> makeTextRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics);
std::unique_ptr<Routes> makeTranslateRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics);
std::unique_ptr<Routes> makePredictRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics);
std::unique_ptr<Routes> makeEmbedRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics);

// The weights that a request's `model` names: 0 for the model itself, or the number of an adapter. Fails with 404.
Parsed<size_t> findModel(const ServedModel &model, const std::string &name);

// The error for requests that do not fit into the queue.
ApiError queueIsFull();
// The error for requests that exceed their time limit.
ApiError lateError(std::chrono::seconds limit);

} // namespace heddle::serve
