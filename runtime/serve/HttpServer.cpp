#include "runtime/serve/HttpServer.h"

#include "runtime/core/Log.h"
#include "runtime/core/Span.h"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <charconv>
#include <deque>
#include <optional>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <tuple>

namespace heddle::serve {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using Tcp = net::ip::tcp;
using ErrorCode = boost::system::error_code;

class Connection;

// State shared by the connections. Only the server's thread uses it, except for the atomics. It lives as long as any
// answer.
struct Shared {
  net::io_context context{1};
  HttpHandler handler;
  std::function<std::string(int, const std::string &)> refuse;
  HttpLimits limits;
  std::set<Connection *> connections;
  std::atomic<size_t> count = 0, answering = 0;
  std::atomic<bool> isDraining = false, isOver = false;
};

// A client. Requests of one connection are answered one after the other. A connection lives as long as one of its
// operations is pending, or an answer exists.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(Tcp::socket socket, std::shared_ptr<Shared> shared)
      : shared(std::move(shared)), stream(std::move(socket)) {
    this->shared->connections.insert(this);
    ++this->shared->count;
  }
  ~Connection() {
    setAnswering(false);
    shared->connections.erase(this);
    --shared->count;
  }

  // Runs the function in the server's thread, unless that thread has ended.
  template <typename Function> void post(Function function) {
    if (!shared->isOver)
      net::post(shared->context, std::move(function));
  }

  void read() {
    parser.emplace();
    parser->header_limit(uint32_t(shared->limits.headerBytes));
    parser->body_limit(shared->limits.bodyBytes);
    isIdle = true;
    stream.expires_after(isFirst ? shared->limits.header : shared->limits.idle);
    isFirst = false;
    http::async_read_header(stream, buffer, *parser, [self = shared_from_this()](ErrorCode error, size_t) {
      self->isIdle = false;
      if (error)
        return self->refuseRead(error);
      self->readBody();
    });
  }

  // Closes the connection if it is idle.
  void drain() {
    ErrorCode ignored;
    if (isIdle && buffer.size() == 0 && stream.socket().available(ignored) == 0)
      close();
  }

  // Called when the server ends.
  void end() {
    if (isAnswering)
      gone();
    else
      close();
  }

  void close() {
    ErrorCode closed; // the socket may already be closed
    std::ignore = stream.socket().shutdown(Tcp::socket::shutdown_both, closed);
    stream.close();
  }

  // Called for answers, in the server's thread. Pieces of earlier answers are ignored.
  void send(uint64_t answer, std::string bytes, bool isLast);
  void setGone(uint64_t answer, std::function<void()> function);

  unsigned version() const { return httpVersion; }
  bool keepsAlive() const { return keepAlive && !shared->isDraining; }

private:
  void setAnswering(bool value) {
    if (isAnswering != value)
      value ? ++shared->answering : --shared->answering;
    isAnswering = value;
  }

  void readBody() {
    const auto &header = parser->get();
    keepAlive = parser->keep_alive() && header.version() >= 11;
    httpVersion = header.version();
    if (auto length = parser->content_length(); length && *length > shared->limits.bodyBytes)
      return refuse(413, "the request's body is larger than " + std::to_string(shared->limits.bodyBytes) + " bytes.");
    if (auto encoding = header[http::field::content_encoding];
        !encoding.empty() && !boost::beast::iequals(encoding, "identity"))
      return refuse(415, "the request's body is compressed ('Content-Encoding'); send it as it is.");
    stream.expires_after(shared->limits.body);
    auto readOn = [self = shared_from_this()] {
      http::async_read(self->stream, self->buffer, *self->parser, [self](ErrorCode error, size_t) {
        if (error)
          return self->refuseRead(error);
        self->handle();
      });
    };
    if (!boost::beast::iequals(header[http::field::expect], "100-continue"))
      return readOn();
    static const std::string go = "HTTP/1.1 100 Continue\r\n\r\n";
    net::async_write(stream, net::buffer(go), [readOn, self = shared_from_this()](ErrorCode error, size_t) {
      if (!error)
        readOn();
    });
  }

  void refuseRead(ErrorCode error) {
    if (error == http::error::end_of_stream || error == http::error::partial_message ||
        error.category() != http::make_error_code(http::error::bad_method).category())
      return close(); // the client cannot read an answer
    if (error == http::error::body_limit)
      return refuse(413, "the request's body is larger than " + std::to_string(shared->limits.bodyBytes) + " bytes.");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse(431,
                    "the request's header is larger than " + std::to_string(shared->limits.headerBytes) + " bytes.");
    refuse(400, "the request is not HTTP: " + error.message() + ".");
  }

  void refuse(int status, const std::string &reason);
  void handle();
  void watch();
  void write();
  void finishWrite(bool isLast);
  void linger();
  void discard();
  void gone();

  std::shared_ptr<Shared> shared;
  boost::beast::tcp_stream stream;
  boost::beast::flat_buffer buffer;
  std::optional<http::request_parser<http::string_body>> parser;
  bool isFirst = true, isIdle = false, keepAlive = false;
  unsigned httpVersion = 11;

  uint64_t answers = 0; // the number of the current answer
  bool isAnswering = false, isWriting = false, isLastQueued = false, isWatching = false;
  size_t unsent = 0;
  std::deque<std::string> queue;
  std::function<void()> onGone;
};

std::string headerOf(int status, std::string_view contentType, const HttpFields &fields, unsigned version,
                     bool keepAlive, std::optional<size_t> length) {
  http::response<http::empty_body> header{http::status(unsigned(status)), version};
  auto viewOf = [](std::string_view text) { return boost::beast::string_view(text.data(), text.size()); };
  header.set(http::field::server, "heddle");
  header.set(http::field::content_type, viewOf(contentType));
  header.set(http::field::cache_control, "no-store");
  for (const auto &[name, value] : fields)
    header.set(viewOf(name), viewOf(value));
  header.keep_alive(keepAlive && (length || version >= 11));
  if (length)
    header.content_length(*length);
  else if (version >= 11)
    header.chunked(true);
  std::ostringstream out;
  out << header.base();
  return std::move(out).str();
}

// Passes an answer from any thread to the connection, in the server's thread.
class Reply final : public HttpReply {
public:
  Reply(std::shared_ptr<Connection> connection, uint64_t number, bool isHead)
      : connection(std::move(connection)), number(number), isHead(isHead), version(this->connection->version()) {}
  ~Reply() override { // the connection must be destroyed in the server's thread
    Connection &last = *connection;
    last.post([to = std::move(connection), isBroken = !isOver] {
      if (isBroken)
        to->close();
    });
  }

  void send(int status, std::string_view contentType, std::string body, const HttpFields &fields) override {
    std::string bytes = headerOf(status, contentType, fields, version, connection->keepsAlive(), body.size());
    if (!isHead)
      bytes += body;
    isOver = true;
    post(std::move(bytes), true);
  }
  void begin(std::string_view contentType, const HttpFields &fields) override {
    post(headerOf(200, contentType, fields, version, connection->keepsAlive(), std::nullopt), false);
  }
  void write(std::string piece) override {
    if (piece.empty())
      return;
    if (version < 11)
      return post(std::move(piece), false);
    char size[2 * sizeof(size_t)];
    std::string chunk(size, std::to_chars(size, std::end(size), piece.size(), 16).ptr);
    post(chunk.append("\r\n").append(piece).append("\r\n"), false);
  }
  void end() override {
    isOver = true;
    post(version < 11 ? "" : "0\r\n\r\n", true);
  }
  void whenGone(std::function<void()> function) override {
    connection->post([to = connection, answer = number, function = std::move(function)]() mutable {
      to->setGone(answer, std::move(function));
    });
  }

private:
  void post(std::string bytes, bool isLast) {
    connection->post([to = connection, answer = number, bytes = std::move(bytes), isLast]() mutable {
      to->send(answer, std::move(bytes), isLast);
    });
  }

  std::shared_ptr<Connection> connection;
  uint64_t number;
  bool isHead;
  unsigned version;
  std::atomic<bool> isOver = false;
};

void Connection::refuse(int status, const std::string &reason) {
  keepAlive = false;
  setAnswering(true);
  std::string body = shared->refuse(status, reason);
  send(++answers, headerOf(status, "application/json", {}, 11, false, body.size()) + body, true);
}

void Connection::handle() {
  auto message = parser->release();
  auto textOf = [&](http::field name) {
    auto value = message[name];
    return std::string(value.data(), value.size());
  };
  HttpRequest request;
  request.method = std::string(message.method_string().data(), message.method_string().size());
  auto target = message.target();
  request.path = std::string(target.data(), std::min(target.find('?'), target.size()));
  request.authorization = textOf(http::field::authorization);
  request.origin = textOf(http::field::origin);
  request.host = textOf(http::field::host);
  request.body = std::move(message.body());
  setAnswering(true);
  isLastQueued = false;
  stream.expires_never();
  auto reply = std::make_shared<Reply>(shared_from_this(), ++answers, request.method == "HEAD");
  watch();
  shared->handler(std::move(request), std::move(reply));
}

// While an answer is in work nothing is read. The socket becomes readable when the client sends its next request, or
// when it has disconnected.
void Connection::watch() {
  if (isWatching || buffer.size() != 0)
    return;
  isWatching = true;
  stream.socket().async_wait(Tcp::socket::wait_read, [self = shared_from_this()](ErrorCode error) {
    self->isWatching = false;
    if (error || !self->isAnswering)
      return;
    char byte;
    ErrorCode failed;
    size_t count = self->stream.socket().receive(net::buffer(&byte, 1), Tcp::socket::message_peek, failed);
    if (failed == net::error::would_block)
      return self->watch();
    if (failed || count == 0)
      self->gone();
  });
}

void Connection::setGone(uint64_t answer, std::function<void()> function) {
  if (answer == answers && isAnswering)
    onGone = std::move(function);
  else if (answer == answers && !isLastQueued)
    function(); // the client has already gone
}

void Connection::gone() {
  if (!isAnswering)
    return;
  setAnswering(false);
  queue.clear();
  close();
  if (std::function<void()> function = std::exchange(onGone, {}))
    function();
}

void Connection::send(uint64_t answer, std::string bytes, bool isLast) {
  if (answer != answers || !isAnswering || isLastQueued)
    return;
  unsent += bytes.size();
  queue.push_back(std::move(bytes));
  isLastQueued = isLast;
  if (unsent > shared->limits.unsentBytes && queue.size() > 1)
    return gone();
  if (!isWriting)
    write();
}

// Sends all queued pieces together. Most fit into the socket's buffer: they take one call, and no timer.
void Connection::write() {
  std::string bytes;
  for (std::string &piece : queue)
    bytes += piece;
  queue.clear();
  bool isLast = isLastQueued;
  ErrorCode failed;
  size_t sent = stream.socket().write_some(net::buffer(bytes), failed);
  if (failed && failed != net::error::would_block)
    return gone();
  unsent -= sent;
  if (sent == bytes.size())
    return finishWrite(isLast);
  isWriting = true;
  auto rest = std::make_shared<std::string>(bytes.substr(sent));
  stream.expires_after(shared->limits.write);
  net::async_write(stream, net::buffer(*rest), [self = shared_from_this(), rest, isLast](ErrorCode error, size_t) {
    self->isWriting = false;
    if (!self->isAnswering)
      return;
    if (error)
      return self->gone();
    self->unsent -= rest->size();
    self->stream.expires_never();
    self->finishWrite(isLast);
  });
}

// Continues after all bytes of a write are sent.
void Connection::finishWrite(bool isLast) {
  if (!queue.empty())
    return write();
  if (!isLast)
    return;
  setAnswering(false);
  isLastQueued = false;
  onGone = {};
  if (keepsAlive())
    read();
  else
    linger();
}

// Discards what the client still sends for a while: if the connection were reset, the client would lose the answer.
void Connection::linger() {
  ErrorCode closed;
  std::ignore = stream.socket().shutdown(Tcp::socket::shutdown_send, closed);
  stream.expires_after(shared->limits.linger);
  discard();
}

void Connection::discard() {
  buffer.clear();
  constexpr size_t piece = 64 << 10;
  stream.async_read_some(buffer.prepare(piece), [self = shared_from_this()](ErrorCode error, size_t) {
    if (error)
      return self->close();
    self->discard();
  });
}

class Server final : public HttpServer {
public:
  Server(HttpHandler handler, std::function<std::string(int, const std::string &)> refuse, const HttpLimits &limits)
      : shared(std::make_shared<Shared>()), context(shared->context), acceptor(context), retry(context) {
    shared->handler = std::move(handler);
    shared->refuse = std::move(refuse);
    shared->limits = limits;
  }
  ~Server() override {
    net::post(context, [this] {
      stopAccepting();
      for (Connection *connection : std::vector(shared->connections.begin(), shared->connections.end()))
        connection->end();
    });
    if (thread.joinable())
      thread.join();
    shared->isOver = true;
  }

  Status listen(const std::string &host, uint16_t port) {
    ErrorCode error;
    Tcp::resolver resolver(context);
    auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive, error);
    if (error || found.empty())
      return makeError(ErrorKind::InvalidArgument, "cannot listen on '", host, "': ", error.message(), ".");
    Tcp::endpoint endpoint = found.begin()->endpoint();
    auto failed = [&] {
      return makeError(ErrorKind::Io, "cannot listen on ", host, ", port ", port, ": ", error.message(),
                       "; give another --port, or end the program that has it.");
    };
    if (acceptor.open(endpoint.protocol(), error))
      return failed();
    if (acceptor.set_option(net::socket_base::reuse_address(true), error))
      return failed();
    if (acceptor.bind(endpoint, error) || acceptor.listen(1024, error))
      return failed();
    boundPort = acceptor.local_endpoint(error).port();
    raiseFileLimit();
    accept();
    thread = std::thread([this] {
      nameThread("http");
      context.run();
    });
    return Success();
  }

  uint16_t port() const override { return boundPort; }
  size_t connections() const override { return shared->count; }
  size_t answering() const override { return shared->answering; }
  void drain() override {
    net::post(context, [this] {
      stopAccepting();
      for (Connection *connection : std::vector(shared->connections.begin(), shared->connections.end()))
        connection->drain();
    });
  }

private:
  void stopAccepting() {
    shared->isDraining = true;
    ErrorCode closed;
    std::ignore = acceptor.close(closed);
    retry.cancel();
  }

  // Each connection needs a file descriptor.
  void raiseFileLimit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
      return;
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, std::max<rlim_t>(files.rlim_cur, 16384));
    setrlimit(RLIMIT_NOFILE, &files);
    constexpr rlim_t others = 128;
    shared->limits.connections =
        std::min<size_t>(shared->limits.connections, files.rlim_cur - std::min(files.rlim_cur, others));
  }

  void accept() {
    acceptor.async_accept([this](ErrorCode error, Tcp::socket socket) {
      if (!acceptor.is_open())
        return;
      if (error) { // perhaps no file descriptor is free: retry later
        retry.expires_after(std::chrono::milliseconds(100));
        retry.async_wait([this](ErrorCode stopped) {
          if (!stopped)
            accept();
        });
        return;
      }
      if (shared->connections.size() < shared->limits.connections) {
        ErrorCode gone; // the client may have left; reading reports that too
        std::ignore = socket.set_option(Tcp::no_delay(true), gone);
        std::ignore = socket.non_blocking(true, gone);
        std::make_shared<Connection>(std::move(socket), shared)->read();
      }
      accept();
    });
  }

  std::shared_ptr<Shared> shared;
  net::io_context &context;
  Tcp::acceptor acceptor;
  net::steady_timer retry;
  std::thread thread;
  uint16_t boundPort = 0;
};

} // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string &host, uint16_t port, HttpHandler handler,
                                                      std::function<std::string(int, const std::string &)> refuse,
                                                      const HttpLimits &limits) {
  auto server = std::make_unique<Server>(std::move(handler), std::move(refuse), limits);
  HEDDLE_CHECK(server->listen(host, port));
  return std::unique_ptr<HttpServer>(std::move(server));
}

} // namespace heddle::serve
