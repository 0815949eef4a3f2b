#include "runtime/serve/Server.h"

#include "runtime/model/Embedder.h"
#include "runtime/serve/Page.h"
#include "runtime/serve/Routes.h"
#include "runtime/serve/TextRequest.h"
#include "runtime/serve/WorkerPool.h"

#include <algorithm>
#include <ctime>

namespace heddle::serve {

void Routes::handle(const std::shared_ptr<Exchange> &exchange) {
  Parsed<nlohmann::ordered_json> body = parseBody(std::exchange(exchange->request.body, {}));
  if (std::optional<ApiError> error = body.error ? body.error : answer(exchange, *body.value))
    exchange->refuse(*error);
}

Parsed<size_t> findModel(const ServedModel &model, const std::string &name) {
  if (name.empty() || name == model.name)
    return size_t(0);
  auto found = std::ranges::find(model.adapters, name);
  if (found != model.adapters.end())
    return size_t(found - model.adapters.begin()) + 1;
  return ApiError{404, str("there is no model '", name, "' here; /v1/models lists what there is."), "model",
                  "model_not_found"};
}

ApiError queueIsFull() {
  return {429, "the queue is full: too many requests wait for the model; try again later.", "", "queue_full"};
}

ApiError lateError(std::chrono::seconds limit) {
  return {503, str("the request took more than ", limit.count(), " seconds."), "", "timeout"};
}

namespace {

// Compares in constant time, so that timing does not reveal how much of the key is right.
bool areEqual(std::string_view given, std::string_view key) {
  unsigned difference = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i)
    difference |= unsigned(uint8_t(given[i]) ^ uint8_t(key.empty() ? 0 : key[i % key.size()]));
  return difference == 0;
}

class ModelServer final : public Server {
public:
  ModelServer(const ServedModel &model, ServeOptions options)
      : model(model), options(std::move(options)), pool(std::max(1u, this->options.readers)),
        started(std::time(nullptr)) {}

  ~ModelServer() override {
    http.reset(); // cuts off answers and stops new requests
    pool.stop();  // drops requests that are being read
    routes.reset();
  }

  Status open() {
    std::string_view architecture = model.description.architecture;
    if (architecture == kDecoderAlone)
      routes = makeTextRoutes(model, options, metrics);
    else if (architecture == kEncoderAndDecoder && model.description.marks.image.pixels() == 0)
      routes = makeTranslateRoutes(model, options, metrics);
    else if (model.description.givesLabels())
      routes = makePredictRoutes(model, options, metrics);
    else if ((architecture == kEncoderAlone || architecture == kEmbedder) && checkEmbeds(model.engine).ok())
      routes = makeEmbedRoutes(model, options, metrics);
    else
      return makeError(ErrorKind::Unsupported, "serve has no route for this model: it serves models that continue "
                                               "texts, translate them, give them labels or compute their vectors.");
    for (std::string &path : routes->paths())
      taskPaths.push_back(std::move(path));
    HEDDLE_ASSIGN(http, HttpServer::start(
                            options.host, options.port,
                            [this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
                              handle(std::move(request), std::move(reply));
                            },
                            [this](int status, const std::string &reason) {
                              metrics.countRequest("other", status);
                              return toJson({status, reason});
                            },
                            options.http));
    return Success();
  }

  uint16_t port() const override { return http->port(); }
  size_t pending() const override { return http->answering(); }
  void drain() override {
    isDraining = true;
    http->drain();
  }
  void reload(std::function<Status()> load, std::function<void(Status)> done) override {
    routes->whenIdle(std::move(load), std::move(done));
  }

private:
  // The paths of all tasks, and the models that answer them.
  static constexpr std::pair<std::string_view, const char *> kTasks[] = {
      {"/v1/completions", "models that continue texts"},
      {"/v1/chat/completions", "models that continue texts"},
      {"/v1/responses", "models that continue texts"},
      {"/v1/embeddings", "encoders, such as a BertModel, and decoders compiled with an entry for hidden states"},
      {"/v1/rerank", "models that grade pairs or texts, and models with vectors of texts"},
      {"/translate", "translators"},
      {"/predict", "models that give labels or grades"}};

  void handle(HttpRequest request, std::shared_ptr<HttpReply> reply) {
    std::string path = request.path;
    bool isTask = std::ranges::find(taskPaths, path) != taskPaths.end();
    static constexpr std::string_view own[] = {"/", "/health", "/ready", "/metrics", "/v1/models"};
    bool isModel = path.starts_with("/v1/models/");
    bool isOwn = std::ranges::find(own, path) != std::end(own) || isModel;
    HttpFields fields;
    if (!options.origin.empty() && !request.origin.empty() &&
        (options.origin == "*" || options.origin == request.origin)) {
      fields.emplace_back("Access-Control-Allow-Origin", options.origin);
      fields.emplace_back("Vary", "Origin");
    }
    bool isAllowedOrigin = request.origin.empty() || !fields.empty() || isSameOrigin(request);
    auto exchange = std::make_shared<Exchange>(std::move(request), std::move(reply), metrics, std::move(fields),
                                               isTask || isOwn ? (isModel ? "/v1/models" : path) : "other");
    try {
      if (!isAllowedOrigin)
        return exchange->refuse({403, "pages of another origin may not use this server; see --cors.", "", "origin"});
      if (isTask)
        return handleTask(std::move(exchange));
      handleOwn(*exchange, path, isOwn);
    } catch (const std::exception &error) {
      exchange->refuse({500, str("the server failed: ", error.what(), "."), "", "internal"});
    }
  }

  // True for pages from this server, or from the same proxy.
  static bool isSameOrigin(const HttpRequest &request) {
    size_t scheme = request.origin.find("://");
    return scheme != std::string::npos && std::string_view(request.origin).substr(scheme + 3) == request.host;
  }

  bool hasKey(const HttpRequest &request) const {
    constexpr std::string_view bearer = "Bearer ";
    std::string_view given = request.authorization;
    given = given.starts_with(bearer) ? given.substr(bearer.size()) : "";
    bool isRight = options.keys.empty();
    for (const std::string &key : options.keys) // compares all keys, for constant time
      isRight |= areEqual(given, key);
    return isRight;
  }

  // Returns true if the request may continue; otherwise answers it.
  bool check(Exchange &exchange, bool isPost) {
    const HttpRequest &request = exchange.request;
    bool isRight = isPost ? request.method == "POST" : request.method == "GET" || request.method == "HEAD";
    if (request.method == "OPTIONS") { // a browser's preflight request for a page of another origin
      exchange.send(204, "text/plain", "",
                    {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                     {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                     {"Access-Control-Max-Age", "600"}});
      return false;
    }
    if (!isRight) {
      const char *allowed = isPost ? "POST" : "GET";
      exchange.refuse({405, str(request.path, " takes ", allowed, ", not ", request.method, "."), allowed, "method"});
      return false;
    }
    return true;
  }

  bool checkKey(Exchange &exchange) {
    if (hasKey(exchange.request))
      return true;
    exchange.refuse({401, "the request has no valid key; send 'Authorization: Bearer KEY'.", "", "invalid_api_key"});
    return false;
  }

  void handleTask(std::shared_ptr<Exchange> exchange) {
    if (!check(*exchange, true) || !checkKey(*exchange))
      return;
    if (isDraining)
      return exchange->refuse({503, "the server is shutting down.", "", "shutting_down"});
    if (std::string reason = routes->failure(); !reason.empty())
      return exchange->refuse({503, "the device does not work: " + reason, "", "device"});
    if (reading.fetch_add(1) >= options.queue + model.description.maximumSequences) {
      --reading;
      return exchange->refuse(queueIsFull());
    }
    pool.add([this, exchange] {
      try {
        routes->handle(exchange);
      } catch (const std::exception &error) {
        exchange->refuse({500, str("the server failed: ", error.what(), "."), "", "internal"});
      }
      --reading;
    });
  }

  void handleOwn(Exchange &exchange, const std::string &path, bool isOwn) {
    if (!isOwn)
      return exchange.refuse(notAnswered(path));
    if (!check(exchange, false))
      return;
    if (path == "/")
      return exchange.send(200, "text/html; charset=utf-8",
                           pageOf({model.name, routes->kind(), !options.keys.empty(), routes->aligns()}),
                           {{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src "
                                                        "'unsafe-inline'; connect-src 'self'; img-src data:; "
                                                        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                            {"X-Content-Type-Options", "nosniff"}});
    if (path == "/health")
      return exchange.answer({{"status", "ok"}});
    if (path == "/ready") {
      std::string reason = routes->failure();
      if (isDraining || !reason.empty())
        return exchange.refuse({503, isDraining ? "the server is shutting down." : reason, "", "not_ready"});
      return exchange.answer({{"status", "ready"}});
    }
    if (!checkKey(exchange))
      return;
    if (path == "/metrics")
      return exchange.send(200, "text/plain; version=0.0.4; charset=utf-8", metrics.print(http->connections()));
    handleModels(exchange, path);
  }

  ApiError notAnswered(const std::string &path) const {
    const auto *task = std::ranges::find(kTasks, path, [](const auto &each) { return each.first; });
    if (task == std::end(kTasks))
      return {404, "there is nothing at this path.", "", "not_found"};
    std::string list;
    for (const std::string &each : taskPaths)
      list += (list.empty() ? "" : ", ") + each;
    return {400, str(path, " is for ", task->second, "; this model is another one, and answers ", list, "."), "",
            "unsupported_task"};
  }

  void handleModels(Exchange &exchange, const std::string &path) {
    auto describe = [&](const std::string &name) -> nlohmann::ordered_json {
      return {{"id", name}, {"object", "model"}, {"created", started}, {"owned_by", "heddle"}};
    };
    if (constexpr std::string_view prefix = "/v1/models/"; path.starts_with(prefix)) {
      Parsed<size_t> found = findModel(model, path.substr(prefix.size()));
      return found.error ? exchange.refuse(*found.error) : exchange.answer(describe(path.substr(prefix.size())));
    }
    nlohmann::ordered_json list = {{"object", "list"}, {"data", nlohmann::ordered_json::array()}};
    list["data"].push_back(describe(model.name));
    for (const std::string &adapter : model.adapters)
      list["data"].push_back(describe(adapter));
    exchange.answer(list);
  }

  const ServedModel model;
  const ServeOptions options;
  Metrics metrics;
  std::vector<std::string> taskPaths;
  std::atomic<bool> isDraining = false;
  std::atomic<int64_t> reading = 0;
  std::unique_ptr<Routes> routes;
  WorkerPool pool;
  std::unique_ptr<HttpServer> http;
  int64_t started;
};

} // namespace

Result<std::unique_ptr<Server>> Server::start(const ServedModel &model, const ServeOptions &options) {
  auto server = std::make_unique<ModelServer>(model, options);
  HEDDLE_CHECK(server->open());
  return std::unique_ptr<Server>(std::move(server));
}

} // namespace heddle::serve
