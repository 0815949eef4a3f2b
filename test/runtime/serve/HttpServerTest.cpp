// HTTP clients that are slow, broken or gone.
#include "runtime/serve/HttpServer.h"
#include "test/runtime/serve/Client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

using namespace heddle;
using namespace heddle::serve;
using test::Answer;
using test::Client;
using test::requestOf;
using test::waitFor;

namespace {

// Answers with method, path and body. /held delays the answer, /dropped gives none, /pieces gives three.
class HttpServerTest : public testing::Test {
protected:
  void start(const HttpLimits &limits = {.headerBytes = 1 << 10, .bodyBytes = 1 << 12}) {
    auto handler = [this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
      if (request.path == "/dropped")
        return;
      if (request.path == "/held") {
        reply->whenGone([this] { ++gone; });
        std::lock_guard lock(mutex);
        held.push_back(std::move(reply));
        return;
      }
      if (request.path == "/pieces") {
        reply->begin("text/plain");
        for (const char *piece : {"one", "two", "three"})
          reply->write(piece);
        return reply->end();
      }
      reply->send(200, "text/plain", request.method + " " + request.path + " " + request.body);
    };
    auto started = HttpServer::start(
        "127.0.0.1", 0, handler, [](int, const std::string &reason) { return "{\"error\": \"" + reason + "\"}"; },
        limits);
    ASSERT_TRUE(started.ok()) << started.message();
    server = std::move(*started);
  }
  void TearDown() override {
    {
      std::lock_guard lock(mutex);
      held.clear();
    }
    server.reset();
  }

  std::mutex mutex;
  std::vector<std::shared_ptr<HttpReply>> held;
  std::atomic<int> gone = 0;
  std::unique_ptr<HttpServer> server;
};

TEST_F(HttpServerTest, RequestsOfAConnectionAreAnsweredInTheirOrder) {
  start();
  Client client(server->port());
  client.send(requestOf("POST", "/a?b=c", "first") + requestOf("GET", "/d") + requestOf("GET", "/pieces"));
  EXPECT_EQ(client.readAnswer().body, "POST /a first");
  EXPECT_EQ(client.readAnswer().body, "GET /d ");
  EXPECT_NE(client.readTo("0\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  client.send(requestOf("HEAD", "/e"));
  EXPECT_NE(client.readTo("\r\n\r\n").find("Content-Length: 8"), std::string::npos);
  client.send("POST /f HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.readAnswer().body, "POST /f abcde");
  client.send("POST /g HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.readTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_EQ(client.readAnswer().body, "POST /g hi");
  Client old(server->port());
  old.send("GET /pieces HTTP/1.0\r\n\r\n");
  std::string all = old.readAll();
  EXPECT_TRUE(all.ends_with("\r\n\r\nonetwothree")) << all;
}

TEST_F(HttpServerTest, BrokenAndLargeRequestsAreRefused) {
  start();
  auto refused = [&](const std::string &request) {
    Client client(server->port());
    client.send(request);
    Answer answer = client.readAnswer();
    EXPECT_TRUE(answer.body.starts_with("{\"error\"")) << answer.body;
    EXPECT_EQ(client.readAll(), ""); // the connection ends
    return answer.status;
  };
  EXPECT_EQ(refused("what is this\r\n\r\n"), 400);
  EXPECT_EQ(refused("POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(refused(requestOf("POST", "/", std::string(5000, 'x'))), 413);
  EXPECT_EQ(refused(requestOf("POST", "/", "{}", "Content-Encoding: gzip\r\n")), 415);
  EXPECT_EQ(refused("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + std::string(5000, 'x') + "\r\n"),
            413);
  // A client that sends a whole large body before it reads still receives the error.
  Client client(server->port());
  EXPECT_TRUE(client.send("POST / HTTP/1.1\r\nContent-Length: 20000000\r\n\r\n"));
  for (int i = 0; i < 20; ++i)
    client.send(std::string(1'000'000, 'x'));
  EXPECT_EQ(client.readAnswer().status, 413);
  EXPECT_EQ(test::ask(server->port(), "GET", "/x").status, 200);
  EXPECT_EQ(test::ask(server->port(), "POST", "/x", "{}", "Content-Encoding: identity\r\n").status, 200);
}

TEST_F(HttpServerTest, SlowAndHalfRequestsEnd) {
  start({.idle = std::chrono::seconds(1), .header = std::chrono::seconds(1), .body = std::chrono::seconds(1)});
  std::vector<std::unique_ptr<Client>> clients;
  for (std::string_view half : {"", "GET / HT", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc"})
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<Client>(server->port()));
      clients.back()->send(half);
    }
  EXPECT_EQ(test::ask(server->port(), "GET", "/x").status, 200);
  EXPECT_GE(server->connections(), 60u);
  for (auto &client : clients)
    EXPECT_EQ(client->readAll(), "");
  EXPECT_TRUE(waitFor([&] { return server->connections() == 0; }));
  Client dropped(server->port());
  dropped.send(requestOf("GET", "/dropped"));
  EXPECT_EQ(dropped.readAll(), "");
}

TEST_F(HttpServerTest, AnAnswerHearsThatItsClientHasGone) {
  start();
  Client client(server->port());
  client.send(requestOf("GET", "/held"));
  ASSERT_TRUE(waitFor([&] { return server->answering() == 1; }));
  EXPECT_EQ(gone, 0);
  client.leave();
  EXPECT_TRUE(waitFor([&] { return gone == 1; }));
  EXPECT_EQ(server->answering(), 0u);
  std::lock_guard lock(mutex);
  held.front()->send(200, "text/plain", "nobody reads this", {});
}

TEST_F(HttpServerTest, MoreConnectionsThanThereMayBeAreClosed) {
  start({.connections = 4});
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(server->port()));
    clients.back()->send(requestOf("GET", "/x"));
    EXPECT_EQ(clients.back()->readAnswer().status, 200);
  }
  Client fifth(server->port());
  EXPECT_EQ(fifth.readAll(), "");
  clients.pop_back();
  EXPECT_TRUE(waitFor([&] { return test::ask(server->port(), "GET", "/x").status == 200; }));
}

TEST_F(HttpServerTest, DrainingFinishesAnswersAndTakesNoConnections) {
  start();
  Client client(server->port()), idle(server->port());
  client.send(requestOf("GET", "/held"));
  ASSERT_TRUE(waitFor([&] { return server->answering() == 1 && server->connections() == 2; }));
  server->drain();
  EXPECT_EQ(idle.readAll(), "");
  {
    std::lock_guard lock(mutex);
    held.front()->send(200, "text/plain", "the rest", {});
  }
  Answer answer = client.readAnswer();
  EXPECT_EQ(answer.body, "the rest");
  EXPECT_NE(answer.header.find("Connection: close"), std::string::npos) << answer.header;
  EXPECT_EQ(client.readAll(), "");
}

TEST_F(HttpServerTest, APortThatIsTakenIsAnError) {
  start();
  auto second = HttpServer::start("127.0.0.1", server->port(), {}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.message().find("cannot listen on 127.0.0.1"), std::string::npos) << second.message();
  EXPECT_FALSE(HttpServer::start("no.such.host.invalid", 0, {}, {}).ok());
}

} // namespace
