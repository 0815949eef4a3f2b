// HTTP/1.1 over an event loop: requests are read completely, and answers are sent whole or in pieces. A slow or broken
// client costs a limited amount of memory, and never a thread.
#pragma once

#include "runtime/core/Status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::serve {

struct HttpRequest {
  std::string method, path; // the path without a query
  std::string body;
  std::string authorization, origin, host; // header fields; empty if missing
};

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The answer to one request. It may be given from any thread, even after the handler has returned. Calls after the
// client has gone do nothing.
class HttpReply {
public:
  virtual ~HttpReply() = default;

  // Sends the whole answer.
  virtual void send(int status, std::string_view contentType, std::string body, const HttpFields &fields = {}) = 0;
  // Sends an answer in pieces: begin() once, write() any number of times, and end().
  virtual void begin(std::string_view contentType, const HttpFields &fields = {}) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  // Calls the function in the server's thread if the client disconnects before it has the whole answer.
  virtual void whenGone(std::function<void()> function) = 0;
};

// Called in the server's thread; must not take long. Destroying a reply without a complete answer closes the
// connection.
using HttpHandler = std::function<void(HttpRequest, std::shared_ptr<HttpReply>)>;

struct HttpLimits {
  size_t headerBytes = 16 << 10, bodyBytes = 8 << 20;
  size_t unsentBytes = 4 << 20; // limit of bytes that the client does not read; more closes the connection
  size_t connections = 4096;    // connections beyond this are closed at once
  std::chrono::seconds idle{75}, header{20}, body{60}, write{30}, linger{5};
};

class HttpServer {
public:
  // Listens, and answers in its own thread. Port 0 is any free port. `refuse` makes the body of an error that the
  // server itself detects, such as a malformed or too large request.
  static Result<std::unique_ptr<HttpServer>> start(const std::string &host, uint16_t port, HttpHandler handler,
                                                   std::function<std::string(int status, const std::string &)> refuse,
                                                   const HttpLimits &limits = {});
  // Closes all connections.
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
  virtual size_t answering() const = 0; // connections whose answer is not completely sent
  // Accepts no more connections and closes idle ones; answers in work continue.
  virtual void drain() = 0;
};

} // namespace heddle::serve
