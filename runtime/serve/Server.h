// Serves one model over HTTP, by OpenAI's API where that has a route for what the model does.
//
//   auto server = heddle::serve::Server::start(model, options);
//   if (!server) ...
//   std::cerr << (*server)->port();
//   (*server)->drain();   // takes no more requests
//   while ((*server)->pending() != 0) ...
//
// Routes: /health, /ready, /metrics, /v1/models; of a decoder alone /v1/completions, and with a chat template
// /v1/chat/completions and /v1/responses; of a translator /translate; of a model that gives labels /predict.
#pragma once

#include "runtime/chat/TemplateSource.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/serve/HttpServer.h"
#include "runtime/text/TextCodec.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::serve {

// A model with its weights. The engine is the server's alone while it runs; all that is referred to outlives it.
struct ServedModel {
  Engine &engine;
  const ModelDescription &description;
  const TextCodec &vocabulary;
  const ChatTemplates *templates = nullptr; // null: no conversations
  std::string name = {};                    // that requests call it by
  // Adapters by name, of which a request chooses one in the model's place, and what gives the engine the weights of one
  // of them, counted from 1 on, or with 0 none. It is called in the model's thread.
  std::vector<std::string> adapters = {};
  std::function<Status(size_t adapter)> switchAdapter = {};
};

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;               // 0: any free one
  unsigned readers = 2;               // that read requests: JSON, templates, tokens
  int64_t queue = 256;                // sequences that wait at most; more are refused
  int64_t promptTokens = 512;         // that are read before a step at most
  std::chrono::seconds time{600};     // that an answer may take
  std::vector<std::string> keys = {}; // one of which a request has to show; empty: none
  std::string origin = {};            // of pages elsewhere that may use the server ("*": all); empty: none
  HttpLimits http = {};
};

class Server {
public:
  // Fails where the model has no route, or the port is taken.
  static Result<std::unique_ptr<Server>> start(const ServedModel &model, const ServeOptions &options);
  // Ends at once: answers in work break off.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  // Requests whose answer is not yet sent as a whole.
  virtual size_t pending() const = 0;
  // New requests are refused with 503; those that were accepted are finished.
  virtual void drain() = 0;
  // Calls `load` in the model's thread, between the requests that came before and those that come after, and `done`
  // with what it returns.
  virtual void reload(std::function<Status()> load, std::function<void(Status)> done) = 0;
};

} // namespace heddle::serve
