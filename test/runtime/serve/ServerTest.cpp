// A model behind HTTP, without a device: many clients get the same answers as each would get alone.
#include "runtime/serve/Server.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/model/FakeEngine.h"
#include "test/runtime/model/HashEngine.h"
#include "test/runtime/serve/Client.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <thread>

using namespace heddle;
using namespace heddle::serve;
using test::Answer;
using test::ask;
using test::Client;
using test::HashEngine;
using test::requestOf;
using test::waitFor;
using Json = nlohmann::json;

namespace {

// A token is a character: 3 is '#', 4 is '$', and so on.
class Characters final : public TextCodec {
public:
  std::vector<int32_t> encode(std::string_view line) const override {
    std::vector<int32_t> ids;
    for (char c : line)
      ids.push_back(c >= '#' && c < '_' ? c - ' ' : 3);
    return ids;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (int32_t id : ids)
      if (id >= 3)
        text += char(' ' + id);
    return text;
  }
  std::string piece(int32_t id) const override { return "<" + std::to_string(id) + ">"; }
  int32_t pieces() const override { return HashEngine::kVocabulary; }
  const std::vector<TokenizerFile> &files() const override { return none; }

private:
  std::vector<TokenizerFile> none;
};

class ServerTest : public testing::Test {
protected:
  static constexpr int64_t kRows = 256, kSequences = 4, kLength = 64;

  void start(ServeOptions options = {}) {
    options.port = 0;
    ServedModel model{engine, description, vocabulary, templates ? &*templates : nullptr, "letters"};
    if (engine.hasEntry("encode")) {
      model.adapters = {"tenfold"};
      model.switchAdapter = [this](size_t adapter) {
        engine.factor = adapter == 0 ? 1 : 10;
        return adapterIsLost && adapter != 0 ? Status(makeError(ErrorKind::Io, "half of it is gone.")) : Success();
      };
    }
    auto started = Server::start(model, options);
    ASSERT_TRUE(started.ok()) << started.message();
    server = std::move(*started);
    port = server->port();
  }

  // Returns the text of the most probable tokens.
  std::string greedy(std::string_view text, int64_t count) const {
    std::vector<int32_t> tokens = vocabulary.encode(text);
    tokens.insert(tokens.begin(), description.marks.begin);
    size_t first = tokens.size();
    while (int64_t(tokens.size() - first) < count) {
      std::vector<float> logits = HashEngine::logitsAfter(tokens);
      tokens.push_back(int32_t(std::ranges::max_element(logits) - logits.begin()));
    }
    return vocabulary.decode(std::span(tokens).subspan(first));
  }

  Json complete(const Json &body, int status = 200, const char *path = "/v1/completions") const {
    Answer answer = ask(port, "POST", path, body.dump());
    EXPECT_EQ(answer.status, status) << body << answer.body;
    return Json::parse(answer.body, nullptr, false);
  }

  // Returns the data of a stream's events.
  static std::vector<Json> eventsOf(const std::string &text, bool &isDone) {
    std::vector<Json> events;
    isDone = false;
    for (size_t place = 0; (place = text.find("data: ", place)) != std::string::npos;) {
      size_t end = text.find("\n\n", place);
      std::string data = text.substr(place + 6, end - place - 6);
      place = end;
      if (data == "[DONE]")
        isDone = true;
      else
        events.push_back(Json::parse(data));
    }
    return events;
  }

  double metric(const std::string &name) const { return test::metricOf(port, name); }

  std::atomic<bool> adapterIsLost = false;
  HashEngine engine{kRows};
  ModelDescription description = [] {
    auto parsed = ModelDescription::parse(test::FakeEngine(kRows, kSequences, kLength).description());
    parsed->architecture = kDecoderAlone;
    return std::move(*parsed);
  }();
  Characters vocabulary;
  std::optional<ChatTemplates> templates;
  uint16_t port = 0;
  std::unique_ptr<Server> server;
};

TEST_F(ServerTest, CompletesTexts) {
  start();
  Json answer = complete({{"prompt", "ABC"}, {"temperature", 0}, {"max_tokens", 8}, {"model", "letters"}});
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], greedy("ABC", 8));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
  std::string whole = greedy("ABC", 8);
  answer = complete({{"prompt", "ABC"}, {"temperature", 0}, {"max_tokens", 8}, {"stop", whole.substr(3, 2)}});
  EXPECT_EQ(answer["choices"][0]["text"], whole.substr(0, whole.find(whole.substr(3, 2))));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  answer = complete({{"prompt", {"A", "B"}}, {"n", 2}, {"seed", 5}, {"max_tokens", 6}});
  ASSERT_EQ(answer["choices"].size(), 4u);
  EXPECT_NE(answer["choices"][0]["text"], answer["choices"][1]["text"]);
  Json again = complete({{"prompt", {"A", "B"}}, {"n", 2}, {"seed", 5}, {"max_tokens", 6}});
  EXPECT_EQ(answer["choices"], again["choices"]);
  // 1 is the begin mark of the description.
  answer = complete({{"prompt", {description.marks.begin, 33, 34, 35}}, {"temperature", 0}, {"max_tokens", 8}});
  EXPECT_EQ(answer["choices"][0]["text"], whole);
}

TEST_F(ServerTest, ScoresTokens) {
  start();
  Json answer = complete({{"prompt", "ABC"}, {"temperature", 0}, {"max_tokens", 2}, {"logprobs", 2}, {"echo", true}});
  Json choice = answer["choices"][0], scores = choice["logprobs"];
  EXPECT_EQ(choice["text"], "ABC" + greedy("ABC", 2));
  ASSERT_EQ(scores["tokens"].size(), 6u); // including the begin mark
  EXPECT_TRUE(scores["token_logprobs"][0].is_null());
  std::vector<float> logits = HashEngine::logitsAfter(std::vector<int32_t>{description.marks.begin, 33});
  EXPECT_NEAR(scores["token_logprobs"][2].get<double>(), logProbability(logits, 34), 1e-4);
  EXPECT_EQ(scores["tokens"][2], "B");
  EXPECT_EQ(scores["text_offset"], Json({0, 0, 1, 2, 3, 4})); // the begin mark is not part of the text
  EXPECT_EQ(scores["top_logprobs"][5].size(), 2u);
  double best = 0;
  for (const auto &[token, score] : scores["top_logprobs"][5].items())
    best = std::max(best == 0 ? -100.0 : best, score.get<double>());
  EXPECT_EQ(best, scores["token_logprobs"][5].get<double>());
}

TEST_F(ServerTest, StreamsEvents) {
  start();
  Client client(port);
  Json body = {{"prompt", "ABC"},
               {"temperature", 0},
               {"max_tokens", 8},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}}};
  client.send(requestOf("POST", "/v1/completions", body.dump(), "Connection: close\r\n"));
  std::string all = client.readAll(), text;
  EXPECT_NE(all.find("Content-Type: text/event-stream"), std::string::npos);
  bool isDone = false;
  std::vector<Json> events = eventsOf(all, isDone);
  EXPECT_TRUE(isDone);
  EXPECT_GE(events.size(), 10u);
  for (const Json &event : events)
    if (!event["choices"].empty())
      text += event["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, greedy("ABC", 8));
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 8);
  EXPECT_EQ(events[events.size() - 2]["choices"][0]["finish_reason"], "length");
}

TEST_F(ServerTest, ChatsByATemplate) {
  test::TemporaryFolder folder;
  std::ofstream(folder.path() / "chat.jinja")
      << "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[A]{% endif %}";
  templates = std::move(*ChatTemplates::load(folder.path() / "chat.jinja"));
  start();
  Json messages = {{{"role", "developer"}, {"content", "X"}}, {{"role", "user"}, {"content", "HI"}}};
  std::string prompt = "[system]X[user]HI[A]";
  std::vector<int32_t> tokens = vocabulary.encode(prompt);
  Json answer = complete({{"messages", messages}, {"temperature", 0}, {"max_tokens", 6}, {"logprobs", true}}, 200,
                         "/v1/chat/completions");
  std::string said = answer["choices"][0]["message"]["content"];
  EXPECT_EQ(answer["usage"]["prompt_tokens"], prompt.size());
  std::vector<float> logits = HashEngine::logitsAfter(tokens);
  auto first = int32_t(std::ranges::max_element(logits) - logits.begin());
  EXPECT_EQ(said.substr(0, 1), vocabulary.decode(std::span(&first, 1)));
  EXPECT_EQ(answer["choices"][0]["logprobs"]["content"].size(), 6u);
  // The second turn does not compute the first turn again.
  messages.push_back({{"role", "assistant"}, {"content", said}});
  messages.push_back({{"role", "user"}, {"content", "B"}});
  answer = complete({{"messages", messages}, {"temperature", 0}, {"max_tokens", 2}}, 200, "/v1/chat/completions");
  EXPECT_GT(answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>(), 10);
  answer = complete({{"input", "HI"}, {"temperature", 0}, {"max_output_tokens", 4}}, 200, "/v1/responses");
  EXPECT_EQ(answer["object"], "response");
  EXPECT_EQ(answer["output"][0]["content"][0]["text"].get<std::string>().size(), 4u);
  EXPECT_EQ(answer["status"], "incomplete");
  EXPECT_EQ(answer["max_output_tokens"], 4);
  Client client(port);
  Json body = {{"input", "HI"}, {"temperature", 0}, {"max_output_tokens", 4}, {"stream", true}};
  client.send(requestOf("POST", "/v1/responses", body.dump(), "Connection: close\r\n"));
  std::string all = client.readAll();
  EXPECT_LT(all.find("event: response.created"), all.find("event: response.output_text.delta"));
  EXPECT_NE(all.find("event: response.incomplete"), std::string::npos);
}

// The time to an answer's first token does not grow with the turns before.
TEST_F(ServerTest, ATurnComputesOnlyItsNewTokens) {
  start();
  std::vector<int32_t> text = {1};
  for (int32_t turn = 0; turn < 20; ++turn) {
    text.push_back(40 + turn % 10);
    size_t calls = engine.calls.size();
    Json answer = complete({{"prompt", text}, {"temperature", 0}, {"max_tokens", 2}});
    Json usage = answer["usage"];
    int64_t reused = usage["prompt_tokens_details"]["cached_tokens"];
    EXPECT_EQ(usage["prompt_tokens"].get<int64_t>() - reused, 2); // the last answer's last token, and the new one
    size_t computed = 0;
    for (size_t i = calls; i < engine.calls.size(); ++i)
      computed += engine.calls[i].second;
    EXPECT_EQ(computed, 3u);
    for (int i = 0; i < 2; ++i) {
      std::vector<float> logits = HashEngine::logitsAfter(text);
      text.push_back(int32_t(std::ranges::max_element(logits) - logits.begin()));
    }
    EXPECT_EQ(answer["choices"][0]["text"], vocabulary.decode(std::span(text).last(2)));
  }
  EXPECT_EQ(metric("heddle_prompt_tokens_total") - metric("heddle_reused_prompt_tokens_total"), 40);
}

TEST_F(ServerTest, SaysWhatIsWrong) {
  start();
  auto codeOf = [&](const Json &body, int status, const char *path = "/v1/completions") {
    Json answer = complete(body, status, path);
    EXPECT_TRUE(answer["error"]["message"].is_string());
    EXPECT_TRUE(answer["error"]["type"].is_string());
    return answer["error"].value("code", std::string());
  };
  EXPECT_EQ(codeOf({{"prompt", "A"}, {"model", "other"}}, 404), "model_not_found");
  EXPECT_EQ(codeOf({{"prompt", std::string(64, 'A')}}, 400), "context_length_exceeded");
  EXPECT_EQ(codeOf({{"prompt", {1, 64}}}, 400), "invalid_value");
  EXPECT_EQ(codeOf({{"messages", {{{"role", "user"}, {"content", "A"}}}}}, 400, "/v1/chat/completions"),
            "no_chat_template");
  EXPECT_EQ(codeOf({{"text", "A"}}, 400, "/translate"), "unsupported_task");
  EXPECT_EQ(codeOf({{"input", "A"}}, 400, "/v1/embeddings"), "unsupported_task");
  EXPECT_EQ(codeOf({}, 404, "/nothing"), "not_found");
  EXPECT_EQ(ask(port, "GET", "/v1/completions").status, 405);
  EXPECT_EQ(ask(port, "POST", "/health", "{}").status, 405);
  EXPECT_EQ(ask(port, "POST", "/v1/completions", "{\"prompt\": \"\xff\"}").status, 400);
  EXPECT_EQ(ask(port, "POST", "/v1/completions", "{}", "Origin: http://elsewhere\r\n").status, 403);
  EXPECT_EQ(ask(port, "GET", "/health", "", "Origin: http://here\r\n").status, 200);
  // The engine's poison: logits that are NaN.
  EXPECT_EQ(codeOf({{"prompt", {1, HashEngine::kPoison}}}, 500), "model_error");
  EXPECT_EQ(ask(port, "GET", "/ready").status, 200);
  EXPECT_NE(ask(port, "GET", "/").body.find("<!doctype html>"), std::string::npos);
  Json models = Json::parse(ask(port, "GET", "/v1/models").body);
  EXPECT_EQ(models["data"][0]["id"], "letters");
  EXPECT_EQ(ask(port, "GET", "/v1/models/letters").status, 200);
  EXPECT_EQ(ask(port, "GET", "/v1/models/other").status, 404);
}

TEST_F(ServerTest, WantsAKey) {
  ServeOptions options;
  options.keys = {"first", "second"};
  options.origin = "https://example.org";
  start(options);
  auto with = [&](const char *field) {
    return ask(port, "POST", "/v1/completions", "{\"prompt\": \"A\"}", field).status;
  };
  EXPECT_EQ(with(""), 401);
  EXPECT_EQ(with("Authorization: Bearer firs\r\n"), 401);
  EXPECT_EQ(with("Authorization: Bearer firstt\r\n"), 401);
  EXPECT_EQ(with("Authorization: first\r\n"), 401);
  EXPECT_EQ(with("Authorization: Bearer second\r\n"), 200);
  EXPECT_EQ(ask(port, "GET", "/metrics").status, 401);
  EXPECT_EQ(ask(port, "GET", "/health").status, 200);
  Answer asked = ask(port, "OPTIONS", "/v1/completions", "", "Origin: https://example.org\r\n");
  EXPECT_EQ(asked.status, 204);
  EXPECT_NE(asked.header.find("Access-Control-Allow-Origin: https://example.org"), std::string::npos);
}

TEST_F(ServerTest, ManyClientsGetWhatEachWouldGetAlone) {
  start();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 32; ++i)
    clients.emplace_back([&, i] {
      for (int turn = 0; turn < 4; ++turn) {
        std::string prompt = std::string(size_t(1 + (i * 7 + turn) % 20), char('A' + i % 20)) + char('A' + turn);
        int64_t tokens = 1 + (i + turn * 5) % 30;
        Json answer = complete({{"prompt", prompt}, {"temperature", 0}, {"max_tokens", tokens}});
        wrong += answer["choices"][0]["text"] != greedy(prompt, tokens);
      }
    });
  for (std::thread &client : clients)
    client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(metric("heddle_queue_length"), 0);
  EXPECT_TRUE(waitFor([&] { return server->pending() == 0; }));
}

TEST_F(ServerTest, TheQueueIsBounded) {
  auto open = std::make_shared<std::latch>(1); // the engine may use it after the test
  engine.beforeCall = [open] { open->wait(); };
  ServeOptions options;
  options.queue = 2;
  start(options);
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i) // 4 in work and 2 waiting
    clients.emplace_back(
        [&] { answered += ask(port, "POST", "/v1/completions", "{\"prompt\": \"A\"}").status == 200; });
  EXPECT_TRUE(waitFor([&] { return metric("heddle_prompt_tokens_total") == 12; })); // all prompts are read
  Answer refused = ask(port, "POST", "/v1/completions", "{\"prompt\": \"A\"}");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.header.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(ask(port, "GET", "/health").status, 200);
  open->count_down();
  for (std::thread &client : clients)
    client.join();
  EXPECT_EQ(answered, 6);
}

TEST_F(ServerTest, WhoGoesIsCancelledAndTheOthersStay) {
  engine.beforeCall = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  start();
  Client client(port);
  client.send(requestOf("POST", "/v1/completions",
                        R"({"prompt": "AB", "temperature": 0, "max_tokens": 50, "stream": true, "n": 2})"));
  client.readTo("data: ");
  std::thread other([&] {
    Json answer = complete({{"prompt", "CD"}, {"temperature", 0}, {"max_tokens", 20}});
    EXPECT_EQ(answer["choices"][0]["text"], greedy("CD", 20));
  });
  client.leave();
  other.join();
  EXPECT_TRUE(waitFor([&] { return server->pending() == 0; }));
  EXPECT_EQ(metric("heddle_cancelled_total"), 2);
}

TEST_F(ServerTest, ReloadsBetweenRequestsAndDrains) {
  engine.beforeCall = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  start();
  std::atomic<size_t> callsBefore = 0;
  std::atomic<bool> isDone = false;
  std::thread before([&] {
    Json answer = complete({{"prompt", "AB"}, {"temperature", 0}, {"max_tokens", 30}});
    EXPECT_EQ(answer["choices"][0]["text"], greedy("AB", 30));
  });
  EXPECT_TRUE(waitFor([&] { return server->pending() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server->reload(
      [&] {
        callsBefore = engine.calls.size();
        return Status(Success());
      },
      [&](const Status &status) { isDone = status.ok(); });
  Json after = complete({{"prompt", "AB"}, {"temperature", 0}, {"max_tokens", 3}});
  before.join();
  EXPECT_TRUE(isDone);
  EXPECT_GE(callsBefore, 30u);
  EXPECT_EQ(after["usage"]["prompt_tokens_details"]["cached_tokens"], 0); // the cached text is of other weights
  EXPECT_TRUE(waitFor([&] { return server->pending() == 0; }));
  Client client(port);
  client.send(requestOf("POST", "/v1/completions", R"({"prompt": "AB", "max_tokens": 20})"));
  EXPECT_TRUE(waitFor([&] { return server->pending() == 1; }));
  server->drain();
  EXPECT_EQ(client.readAnswer().status, 200);
  EXPECT_TRUE(waitFor([&] { return server->pending() == 0; }));
}

// The vectors of `count` texts "A", as the model with this factor computes them: the mean of the begin mark's and of
// the token's hidden states.
void expectVectors(const Json &answer, size_t count, float factor) {
  ASSERT_EQ(answer["data"].size(), count) << answer;
  for (const Json &each : answer["data"])
    ASSERT_EQ(each["embedding"].get<std::vector<float>>(), (std::vector{(1 + 33) * factor / 2, 1.0F}));
}

TEST_F(ServerTest, EmbedsTextsBetweenStepsOfOthers) {
  engine.entries.insert("encode");
  description.width = 2;
  engine.beforeCall = [] { std::this_thread::sleep_for(std::chrono::milliseconds(4)); };
  ServeOptions options;
  options.queue = 500;
  start(options);
  expectVectors(complete({{"input", "A"}}, 200, "/v1/embeddings"), 1, 1);
  Json adapted = complete({{"input", "A"}, {"model", "tenfold"}}, 200, "/v1/embeddings");
  expectVectors(adapted, 1, 10);
  EXPECT_EQ(adapted["model"], "tenfold");
  EXPECT_EQ(complete({{"query", "A"}, {"documents", {"Z", "A"}}}, 200, "/v1/rerank")["results"][0]["index"], 1);

  const std::vector<std::string> many(400, "A"); // four in a call
  engine.calls.clear();
  std::thread vectors([&] { expectVectors(complete({{"input", many}}, 200, "/v1/embeddings"), many.size(), 1); });
  EXPECT_TRUE(waitFor([&] { return metric("heddle_queue_length") == 400; }));
  EXPECT_EQ(complete({{"prompt", "ABC"}, {"temperature", 0}, {"max_tokens", 8}})["choices"][0]["text"],
            greedy("ABC", 8));
  expectVectors(complete({{"input", "A"}}, 200, "/v1/embeddings"), 1, 1); // does not wait for the long request
  EXPECT_GT(metric("heddle_queue_length"), 0);
  vectors.join();
  EXPECT_TRUE(waitFor([&] { return metric("heddle_queue_length") == 0; }));
  size_t longest = 0, run = 0; // calls for texts in a row
  for (const auto &[entry, rows] : engine.calls) {
    run = entry == "encode" ? 0 : run + 1;
    longest = std::max(longest, run);
  }
  EXPECT_LE(longest, 2u); // the prompt's tokens and the first step
}

// An adapter that cannot be loaded may have changed some of the weights.
TEST_F(ServerTest, WeightsAreLoadedAgainAfterAnAdapterFailed) {
  engine.entries.insert("encode");
  description.width = 2;
  start();
  expectVectors(complete({{"input", "A"}}, 200, "/v1/embeddings"), 1, 1);
  adapterIsLost = true;
  complete({{"input", "A"}, {"model", "tenfold"}}, 500, "/v1/embeddings");
  complete({{"prompt", "A"}, {"model", "tenfold"}}, 500);
  expectVectors(complete({{"input", "A"}}, 200, "/v1/embeddings"), 1, 1);
  adapterIsLost = false;
  expectVectors(complete({{"input", "A"}, {"model", "tenfold"}}, 200, "/v1/embeddings"), 1, 10);
}

TEST_F(ServerTest, VectorsAreOfOneModel) {
  engine.entries.insert("encode");
  description.width = 2;
  std::atomic<bool> isHeld = true;
  engine.beforeCall = [&] {
    while (isHeld)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ServeOptions options;
  options.queue = 500;
  start(options);
  const std::vector<std::string> many(100, "A");
  std::vector<std::thread> threads;
  for (auto [name, factor] : {std::pair("letters", 1.0F), {"tenfold", 10.0F}, {"letters", 1.0F}}) {
    threads.emplace_back([&, name, factor] {
      expectVectors(complete({{"input", many}, {"model", name}}, 200, "/v1/embeddings"), many.size(), factor);
    });
    EXPECT_TRUE(waitFor([&] { return metric("heddle_queue_length") == 100 * double(threads.size()); }));
  }
  std::atomic<bool> isLoaded = false;
  server->reload(
      [&] {
        isLoaded = metric("heddle_queue_length") == 0; // after the requests before
        return Status(Success());
      },
      [](const Status &) {});
  isHeld = false;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(waitFor([&] { return isLoaded.load(); }));
  // A client that has left takes no more turns.
  isHeld = true;
  Client client(port);
  client.send(requestOf("POST", "/v1/embeddings", Json{{"input", many}}.dump()));
  EXPECT_TRUE(waitFor([&] { return metric("heddle_queue_length") == 100; }));
  client.leave();
  EXPECT_TRUE(waitFor([&] { return server->pending() == 0; }));
  isHeld = false;
  EXPECT_TRUE(waitFor([&] { return metric("heddle_queue_length") == 0; }));
  EXPECT_EQ(metric("heddle_cancelled_total"), 100);
}

TEST_F(ServerTest, ModelsWithoutARouteAreRefused) {
  description.architecture = std::string(kEncoderAlone);
  ServedModel model{engine, description, vocabulary, nullptr, "encoder"};
  auto started = Server::start(model, {});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.message().find("no route"), std::string::npos);
}

} // namespace
