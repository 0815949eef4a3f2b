// Serves one model over HTTP. Uses OpenAI's API if it has a route for the model's task.
//
//   auto server = heddle::serve::Server::start(model, options);
//   if (!server) ...
//   std::cerr << (*server)->port();
//   (*server)->drain();   // takes no more requests
//   while ((*server)->pending() != 0) ...
//
// Routes:
//   all models             /health, /ready, /metrics, /v1/models
//   decoder-only models    /v1/completions, /v1/embeddings, /v1/rerank; with a chat template also
//                          /v1/chat/completions and /v1/responses
//   translators            /translate
//   models with labels     /predict; with grades of pairs, or a single label of texts, also /v1/rerank
//   encoders               /v1/embeddings, /v1/rerank
#pragma once

#include "runtime/chat/TemplateSource.h"
#include "runtime/model/Description.h"
#include "runtime/model/EmbeddingRule.h"
#include "runtime/model/Engine.h"
#include "runtime/serve/HttpServer.h"
#include "runtime/tokenizers/TextCodec.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::serve {

// A model with its weights. Only the server may use the engine while it runs. All referenced objects must outlive the
// server.
struct ServedModel {
  Engine &engine;
  const ModelDescription &description;
  const TextCodec &vocabulary;
  const ChatTemplates *templates = nullptr; // null: no conversations
  std::string name = {};                    // the name that requests use
  // The names of adapters, which requests choose instead of the model's name. `switchAdapter` loads the weights of an
  // adapter, numbered from 1, or removes them with 0. It is called in the model's thread.
  std::vector<std::string> adapters = {};
  std::function<Status(size_t adapter)> switchAdapter = {};
  EmbeddingRule embedding = {}; // of an encoder or a decoder
};

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;               // 0: any free port
  unsigned readers = 2;               // threads that read requests: JSON, templates, tokens
  int64_t queue = 256;                // maximum number of waiting sequences; more are refused
  int64_t promptTokens = 512;         // maximum number of prompt tokens read before a step
  std::chrono::seconds time{600};     // maximum time of an answer
  std::vector<std::string> keys = {}; // a request must have one of these; empty: no key needed
  std::string origin = {};            // origin of foreign web pages that may use the server ("*": all); empty: none
  HttpLimits http = {};
};

class Server {
public:
  // Fails if there is no route for the model, or the port is taken.
  static Result<std::unique_ptr<Server>> start(const ServedModel &model, const ServeOptions &options);
  // Ends at once: answers in work are cut off.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  // The number of requests whose answer is not completely sent.
  virtual size_t pending() const = 0;
  // Refuses new requests with 503; accepted ones are finished.
  virtual void drain() = 0;
  // Calls `load` in the model's thread, after earlier requests and before later ones, and passes its result to `done`.
  virtual void reload(std::function<Status()> load, std::function<void(Status)> done) = 0;
};

} // namespace heddle::serve
