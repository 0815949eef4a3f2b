// Models whose requests have several texts behind HTTP: vectors, order of documents, and labels; without a device.
#include "runtime/serve/Server.h"
#include "runtime/tokenizers/Base64.h"
#include "test/runtime/model/FakeEngine.h"
#include "test/runtime/model/WeightlessEngine.h"
#include "test/runtime/serve/Client.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <latch>
#include <thread>

using namespace heddle;
using namespace heddle::serve;
using test::Answer;
using test::ask;
using test::Client;
using test::requestOf;
using test::waitFor;
using Json = nlohmann::json;

namespace {

constexpr int64_t kTokens = 64, kSequences = 4, kLength = 16, kWidth = 3;
constexpr int32_t kPoison = 60; // its vector is not finite

// A character is a token: 'A' is 1, 'B' is 2.
class Letters final : public TextCodec {
public:
  std::vector<int32_t> encode(std::string_view line) const override {
    std::vector<int32_t> ids;
    for (char c : line)
      ids.push_back(int32_t(uint8_t(c) % 64));
    return ids;
  }
  std::string decode(std::span<const int32_t>) const override { return {}; }
  std::string piece(int32_t id) const override { return std::to_string(id); }
  int32_t pieces() const override { return test::FakeEngine::kVocabulary; }
  const InputMarks *inputMarks() const override { return marks ? &*marks : nullptr; }
  const std::vector<std::string> &labels() const override { return names; }
  const std::vector<TokenizerFile> &files() const override { return none; }

  std::optional<InputMarks> marks;

private:
  std::vector<TokenizerFile> none;
  std::vector<std::string> names = {"few", "many"};
};

std::vector<float> vectorOf(int32_t token) { return {token == kPoison ? NAN : float(token), float(token % 7) - 3, 1}; }

// The entry `encode` gives a vector for each token. The entry `logits` tells long texts (more than four tokens, marks
// included) from short ones, grades pairs by the difference of their lengths, or gives a text the token before its last one
// as a number.
class SourceEngine final : public test::WeightlessEngine {
public:
  SourceEngine(Labelling kind, int64_t classes) : kind(kind), classes(classes) {
    entry.outputs.push_back({.name = kind == Labelling::None ? "hidden" : "logits"});
    std::vector<std::string> sides = {"source"};
    if (kind == Labelling::Grades)
      sides = {"left", "right"};
    for (const std::string &of : sides)
      for (const std::string role : {"tokens", "starts", "lengths"})
        entry.inputs.push_back({.name = of + "_" + role, .of = of, .role = role});
  }

  bool hasEntry(std::string_view name) const override { return findEntry(name) != nullptr; }
  const EntryInfo *findEntry(std::string_view name) const override {
    return name == (kind == Labelling::None ? "encode" : "logits") ? &entry : nullptr;
  }

  Status run(std::string_view, std::span<const Input> inputs) override {
    ++calls;
    if (beforeCall)
      beforeCall();
    if (!failing.empty())
      return makeError(ErrorKind::DeviceLost, failing);
    auto find = [&](std::string_view name) {
      return std::ranges::find(inputs, name, [](const Input &input) { return input.name; })->tensor.values<int32_t>();
    };
    result.clear();
    if (kind == Labelling::None) {
      for (int32_t token : find("source_tokens")) {
        std::vector<float> vector = vectorOf(token);
        result.insert(result.end(), vector.begin(), vector.end());
      }
      shape = {int64_t(result.size()) / kWidth, kWidth};
    } else if (kind == Labelling::Grades) {
      auto left = find("left_lengths"), right = find("right_lengths");
      for (size_t i = 0; i < left.size(); ++i)
        result.push_back(-std::abs(float(left[i] - right[i])));
      shape = {int64_t(result.size())};
    } else if (classes == 1) {
      auto tokens = find("source_tokens"), starts = find("source_starts"), lengths = find("source_lengths");
      for (size_t i = 0; i < starts.size(); ++i)
        result.push_back(float(tokens[size_t(starts[i] + lengths[i] - 2)]));
      shape = {int64_t(result.size()), 1};
    } else {
      for (int32_t length : find("source_lengths"))
        result.insert(result.end(), {0.0F, length > 4 ? 1.0F : -1.0F});
      shape = {int64_t(result.size()) / 2, 2};
    }
    return Success();
  }
  Result<HostTensor> output(std::string_view) override {
    return HostTensor::create(shape, std::span<const float>(result));
  }

  std::atomic<int> calls = 0;
  std::function<void()> beforeCall;
  std::string failing; // if not empty, the device is lost, with this message

private:
  Labelling kind;
  int64_t classes;
  EntryInfo entry{.name = "entry"};
  std::vector<float> result;
  Shape shape;
};

class VectorServerTest : public testing::Test {
protected:
  void start(Labelling kind, ServeOptions options = {}, int64_t classes = 2) {
    engine = std::make_unique<SourceEngine>(kind, classes);
    engine->beforeCall = beforeCall;
    auto parsed = ModelDescription::parse(test::FakeEngine(kTokens, kSequences, kLength).description());
    description = std::move(*parsed);
    description.architecture = kind == Labelling::None ? "encoder" : kind == Labelling::Grades ? "pair" : "classifier";
    description.classes = kind == Labelling::Texts ? classes : 0;
    description.width = kWidth;
    description.knownTokens = vocabulary.pieces();
    options.port = 0;
    ServedModel model{*engine, description, vocabulary, nullptr, "letters"};
    model.embedding = rules;
    auto started = Server::start(model, options);
    ASSERT_TRUE(started.ok()) << started.message();
    server = std::move(*started);
    port = server->port();
  }

  Json post(const char *path, const Json &body, int status = 200) const {
    Answer answer = ask(port, "POST", path, body.dump());
    EXPECT_EQ(answer.status, status) << body << answer.body;
    return Json::parse(answer.body, nullptr, false);
  }

  double metric(const std::string &name) const { return test::metricOf(port, name); }
  static Json texts(size_t count) { return std::vector<std::string>(count, "AB"); }

  std::unique_ptr<SourceEngine> engine;
  std::function<void()> beforeCall;
  ModelDescription description;
  EmbeddingRule rules;
  Letters vocabulary;
  uint16_t port = 0;
  std::unique_ptr<Server> server;
};

TEST_F(VectorServerTest, EmbedsTextsAndIds) {
  start(Labelling::None);
  Json answer = post("/v1/embeddings", {{"input", "AC"}, {"model", "letters"}});
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "letters");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 4); // with two marks
  std::vector<float> expected = {(1 + 1 + 3 + 2) / 4.0F, (1 + 1 + 3 + 2) / 4.0F - 3,
                                 1}; // the mean of the tokens' vectors
  EXPECT_EQ(answer["data"][0]["embedding"].get<std::vector<float>>(), expected);
  EXPECT_EQ(post("/v1/embeddings", {{"input", {1, 1, 3, 2}}})["data"][0]["embedding"], answer["data"][0]["embedding"]);
  // More texts than a call holds, each with its own vector.
  std::vector<std::vector<int32_t>> many;
  for (int i = 0; i < 30; ++i)
    many.push_back(std::vector<int32_t>(size_t(1 + i % 5), 1 + i % 20));
  Json list = post("/v1/embeddings", {{"input", many}})["data"];
  ASSERT_EQ(list.size(), many.size());
  for (size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(list[i]["index"], i);
    EXPECT_EQ(list[i]["embedding"].get<std::vector<float>>(), vectorOf(int32_t(1 + i % 20))) << i;
  }
  EXPECT_EQ(post("/v1/embeddings", {{"input", {{1}, {3, 3}}}})["data"].size(), 2u);
  Json coded = post("/v1/embeddings", {{"input", "AC"}, {"encoding_format", "base64"}, {"dimensions", kWidth}});
  std::optional<std::string> bytes = fromBase64(coded["data"][0]["embedding"].get<std::string>());
  ASSERT_TRUE(bytes && bytes->size() == expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes->data(), expected.data(), bytes->size()), 0);
  EXPECT_NE(ask(port, "GET", "/").body.find("\"embed\""), std::string::npos);
}

TEST_F(VectorServerTest, SaysWhatIsWrongWithATextToEmbed) {
  rules.longest = 8;
  start(Labelling::None);
  auto codeOf = [&](const Json &body, const char *path = "/v1/embeddings") {
    return post(path, body, 400)["error"]["code"];
  };
  EXPECT_EQ(codeOf({{"input", "ABCDEFGHI"}}), "context_length_exceeded");
  EXPECT_EQ(codeOf({{"input", {1, 64}}}), "invalid_value");
  EXPECT_EQ(codeOf({{"input", Json::array()}}), "invalid_value");
  EXPECT_EQ(codeOf(Json::object()), "invalid_value");
  EXPECT_EQ(codeOf({{"input", "A"}, {"encoding_format", "int8"}}), "invalid_value");
  EXPECT_EQ(codeOf({{"input", "A"}, {"dimensions", 2}}), "unsupported");
  EXPECT_EQ(codeOf({{"query", " "}, {"documents", {"A"}}}, "/v1/rerank"), "invalid_value");
  EXPECT_EQ(codeOf({{"query", "A"}, {"documents", {"A", 5}}}, "/v1/rerank"), "invalid_value");
  EXPECT_EQ(codeOf({{"query", "A"}}, "/v1/rerank"), "invalid_value");
  EXPECT_EQ(codeOf({{"prompt", "A"}}, "/v1/completions"), "unsupported_task");
  post("/v1/embeddings", {{"input", "A"}, {"model", "other"}}, 404);
  EXPECT_EQ(post("/v1/embeddings", {{"input", {1, kPoison}}}, 500)["error"]["code"], "model_error");
  EXPECT_EQ(post("/v1/embeddings", {{"input", "A"}})["data"].size(), 1u);
}

TEST_F(VectorServerTest, PoolsByTheModelsRules) {
  rules = {.poolings = {Pooling::Largest}, .normalizes = true};
  start(Labelling::None);
  auto largest = post("/v1/embeddings", {{"input", {1, 6, 3}}})["data"][0]["embedding"].get<std::vector<float>>();
  EXPECT_FLOAT_EQ(largest[0], float(6 / std::sqrt(6 * 6 + 3 * 3 + 1)));
  EXPECT_FLOAT_EQ(largest[1], float(3 / std::sqrt(6 * 6 + 3 * 3 + 1)));
  for (auto [pool, token] : {std::pair(Pooling::First, 1), std::pair(Pooling::Last, 3)}) {
    server.reset();
    rules = {.poolings = {pool}};
    start(Labelling::None);
    EXPECT_EQ(post("/v1/embeddings", {{"input", {1, 6, 3}}})["data"][0]["embedding"].get<std::vector<float>>(),
              vectorOf(token));
  }
}

TEST_F(VectorServerTest, RanksDocumentsByTheirVectors) {
  start(Labelling::None);
  Json answer = post("/v1/rerank", {{"query", "A"}, {"documents", {"T", "A", {{"text", "B"}}}}});
  ASSERT_EQ(answer["results"].size(), 3u);
  EXPECT_EQ(answer["results"][0]["index"], 1);
  EXPECT_NEAR(answer["results"][0]["relevance_score"].get<double>(), 1, 1e-12);
  EXPECT_EQ(answer["results"][1]["index"], 2); // 'B' is nearer to 'A' than 'T'
  EXPECT_EQ(answer["usage"]["total_tokens"], 12);
  answer = post("/v1/rerank", {{"query", "A"}, {"documents", {"T", "A"}}, {"top_n", 1}, {"return_documents", true}});
  ASSERT_EQ(answer["results"].size(), 1u);
  EXPECT_EQ(answer["results"][0]["document"]["text"], "A");
}

TEST_F(VectorServerTest, RanksDocumentsByAModelOfPairs) {
  start(Labelling::Grades);
  Json answer = post("/v1/rerank", {{"query", "AAA"}, {"documents", {"A", "BBBB", "C\nC"}}});
  std::vector<int> order;
  for (const Json &each : answer["results"])
    order.push_back(each["index"]);
  EXPECT_EQ(order, (std::vector{2, 1, 0}));
  EXPECT_EQ(answer["results"][0]["relevance_score"], 0);
  EXPECT_EQ(answer["results"][2]["relevance_score"], -2);
  EXPECT_EQ(post("/predict", {{"text", Json::array({Json::array({"AAA", "A"})})}})["predictions"][0]["score"], -2);
  // A pair without a second text is refused, and the requests beside it are not.
  post("/predict", {{"text", Json::array({Json::array({"A", " "})})}}, 400);
  EXPECT_EQ(post("/v1/embeddings", {{"input", "A"}}, 400)["error"]["code"], "unsupported_task");
}

TEST_F(VectorServerTest, RanksDocumentsByTheNumberOfTwoTexts) {
  vocabulary.marks = InputMarks{{61}, {62}, std::vector<int32_t>{62}};
  start(Labelling::Texts, {}, 1);
  Json answer = post("/v1/rerank", {{"query", "A\tA"}, {"documents", {"B", "C\tE", {{"text", "D"}}}}, {"top_n", 2}});
  ASSERT_EQ(answer["results"].size(), 2u);
  EXPECT_EQ(answer["results"][0], (Json{{"index", 1}, {"relevance_score", 5}})); // 'E' is 5
  EXPECT_EQ(answer["results"][1], (Json{{"index", 2}, {"relevance_score", 4}}));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3 * (3 + 3) + 1 + 3 + 1);
  EXPECT_EQ(post("/predict", {{"text", "A\tC"}})["predictions"][0]["score"], 3);
  EXPECT_EQ(post("/predict", {{"text", {Json::array({"A", "C\tE"}), "A"}}})["predictions"][0]["score"], 5);
  // A vocabulary without a form for pairs cannot rank.
  server.reset();
  vocabulary.marks->between.reset();
  start(Labelling::Texts, {}, 1);
  post("/v1/rerank", {{"query", "A"}, {"documents", {"B"}}}, 400);
  EXPECT_EQ(post("/predict", {{"text", "AC"}})["predictions"][0]["score"], 3);
  post("/predict", {{"text", Json::array({Json::array({"A", "C"})})}}, 400);
}

TEST_F(VectorServerTest, LabelsTexts) {
  start(Labelling::Texts);
  Json answer = post("/predict", {{"text", {"A", "", "AAAA"}}});
  EXPECT_EQ(answer["predictions"][0]["label"], "few");
  EXPECT_TRUE(answer["predictions"][1].is_null());
  EXPECT_EQ(answer["predictions"][2]["label"], "many");
  EXPECT_EQ(post("/v1/rerank", {{"query", "A"}, {"documents", {"A"}}}, 400)["error"]["code"], "unsupported_task");
}

TEST_F(VectorServerTest, ALateRequestEndsAndTheOthersStay) {
  ServeOptions options;
  options.time = std::chrono::seconds(1);
  options.queue = 500;
  beforeCall = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  start(Labelling::Texts, options);
  Answer late;
  std::thread slow([&] { late = ask(port, "POST", "/predict", Json{{"text", texts(400)}}.dump()); }); // 100 calls
  EXPECT_TRUE(waitFor([&] { return engine->calls > 10; }));
  EXPECT_EQ(post("/predict", {{"text", "AAAA"}})["predictions"][0]["label"], "many");
  EXPECT_LT(engine->calls, 18); // it has not waited for the long one
  slow.join();
  EXPECT_EQ(late.status, 503);
  EXPECT_NE(late.body.find("timeout"), std::string::npos);
  EXPECT_LT(engine->calls, 40); // the rest of the late request is not computed
  EXPECT_TRUE(waitFor([&] { return metric("heddle_queue_length") == 0; }));
  EXPECT_TRUE(waitFor([&] { return metric("heddle_batch_size") == 0; }));
}

TEST_F(VectorServerTest, WhoGoesIsCancelledAndTheOthersStay) {
  beforeCall = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  ServeOptions options;
  options.queue = 500;
  start(Labelling::Texts, options);
  Client client(port);
  client.send(requestOf("POST", "/predict", Json{{"text", texts(400)}}.dump()));
  EXPECT_TRUE(waitFor([&] { return engine->calls > 0; }));
  std::thread other([&] { EXPECT_EQ(post("/predict", {{"text", "AAAA"}})["predictions"][0]["label"], "many"); });
  client.leave();
  other.join();
  EXPECT_TRUE(waitFor([&] { return server->pending() == 0; }));
  EXPECT_LT(engine->calls, 60);
  EXPECT_GT(metric("heddle_cancelled_total"), 100);
  EXPECT_EQ(metric("heddle_queue_length"), 0);
  // No text is counted as waiting any more: the queue would be full after the first two requests.
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(post("/predict", {{"text", texts(400)}})["predictions"].size(), 400u);
}

TEST_F(VectorServerTest, ReloadsBetweenRequests) {
  beforeCall = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  start(Labelling::Texts);
  std::thread before([&] { EXPECT_EQ(post("/predict", {{"text", texts(40)}})["predictions"].size(), 40u); });
  EXPECT_TRUE(waitFor([&] { return engine->calls > 0; }));
  std::atomic<int> callsBefore = 0;
  std::atomic<bool> isDone = false;
  server->reload(
      [&] {
        callsBefore = engine->calls.load();
        return Status(Success());
      },
      [&](const Status &status) { isDone = status.ok(); });
  EXPECT_EQ(post("/predict", {{"text", "A"}})["predictions"].size(), 1u);
  before.join();
  EXPECT_TRUE(isDone);
  EXPECT_EQ(callsBefore, 10); // all texts of the first request, four in a call
  EXPECT_EQ(engine->calls, 11);
}

TEST_F(VectorServerTest, ALostDeviceIsNotReady) {
  start(Labelling::Texts);
  EXPECT_EQ(ask(port, "GET", "/ready").status, 200);
  engine->failing = "the device is lost.";
  EXPECT_EQ(post("/predict", {{"text", "A"}}, 500)["error"]["message"], "the device is lost.");
  EXPECT_EQ(ask(port, "GET", "/ready").status, 503);
  post("/predict", {{"text", "A"}}, 503);
}

} // namespace
