// Answers of /v1/completions and /v1/chat/completions.
#include "runtime/serve/TextReply.h"
#include "runtime/serve/Thinking.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::serve {
namespace {

size_t characters(const std::string &text) { return codePoints(text).size(); }

class CompletionReply final : public TextReply {
public:
  CompletionReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model,
                  const TextCodec &vocabulary, std::vector<Prompt> prompts)
      : TextReply(std::move(exchange), std::move(request), std::move(model), vocabulary, std::move(prompts)),
        id(newId("cmpl-")), offsets(choices.size()), streamed(choices.size()) {}

private:
  Json head() const { return {{"id", id}, {"object", "text_completion"}, {"created", created}, {"model", model}}; }

  void send(Json choice) {
    Json json = head();
    json["choices"] = Json::array({std::move(choice)});
    if (request.includesUsage)
      json["usage"] = nullptr;
    exchange->event(dumped(json));
  }

  void streamPiece(size_t index, const TextPiece &piece) override {
    Json scores = piece.scores.empty() ? Json() : scoresOf(index, piece.tokens, piece.scores, offsets[index]);
    offsets[index] += characters(piece.text);
    streamed[index].insert(streamed[index].end(), piece.tokens.begin(), piece.tokens.end());
    if (!piece.text.empty() || !scores.is_null())
      send({{"index", index}, {"text", piece.text}, {"logprobs", std::move(scores)}, {"finish_reason", nullptr}});
  }
  void streamEnd(size_t index, const Choice &choice, const std::string &rest) override {
    send({{"index", index},
          {"text", rest},
          {"logprobs", nullptr},
          {"finish_reason", reasonOf(choice.continuation.ending)}});
  }
  void endStream() override {
    if (request.includesUsage) {
      Json json = head();
      json["choices"] = Json::array();
      json["usage"] = usage();
      exchange->event(dumped(json));
    }
    exchange->event("[DONE]");
  }

  Json whole() override {
    Json json = head();
    json["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      const Choice &choice = choices[i];
      const Prompt &prompt = promptOf(i);
      json["choices"].push_back({{"index", i},
                                 {"text", request.echo ? prompt.text + choice.text : choice.text},
                                 {"logprobs", choice.isScored ? wholeScores(i) : Json()},
                                 {"finish_reason", reasonOf(choice.continuation.ending)}});
    }
    json["usage"] = usage();
    return json;
  }

  // Scores as the older API's lists. `offsets` are the characters at which the tokens' texts start.
  struct Lists {
    Json tokens = Json::array(), scores = Json::array(), best = Json::array(), offsets = Json::array();
  };

  void add(Lists &lists, std::span<const int32_t> before, int32_t token, const TokenScore *score,
           size_t &offset) const {
    std::string text = textOfToken(vocabulary, before, token).text;
    lists.offsets.push_back(offset);
    offset += characters(text);
    lists.tokens.push_back(text);
    lists.scores.push_back(score ? Json(score->logProbability) : Json());
    Json best = score ? Json::object() : Json();
    if (score)
      for (const TokenScore::Choice &each : score->best) {
        std::string name = textOfToken(vocabulary, before, each.token).text;
        if (!best.contains(name)) // keeps the more probable of two tokens with the same text
          best[name] = each.logProbability;
      }
    lists.best.push_back(std::move(best));
  }

  static Json toJson(Lists lists) {
    return {{"tokens", std::move(lists.tokens)},
            {"token_logprobs", std::move(lists.scores)},
            {"top_logprobs", std::move(lists.best)},
            {"text_offset", std::move(lists.offsets)}};
  }

  Json scoresOf(size_t index, std::span<const int32_t> tokens, std::span<const TokenScore> scores,
                size_t offset) const {
    Lists lists;
    std::vector<int32_t> all = promptOf(index).tokens;
    all.insert(all.end(), streamed[index].begin(), streamed[index].end());
    for (size_t i = 0; i < tokens.size(); ++i) {
      add(lists, all, tokens[i], i < scores.size() ? &scores[i] : nullptr, offset);
      all.push_back(tokens[i]);
    }
    return toJson(std::move(lists));
  }

  Json wholeScores(size_t index) const {
    const Choice &choice = choices[index];
    Lists lists;
    size_t offset = 0;
    std::vector<int32_t> all;
    const std::vector<TokenScore> &ofPrompt = choice.continuation.promptScores;
    if (request.echo)
      for (int32_t token : promptOf(index).tokens) {
        const TokenScore *score = all.empty() || all.size() > ofPrompt.size() ? nullptr : &ofPrompt[all.size() - 1];
        add(lists, all, token, score, offset);
        all.push_back(token);
      }
    else
      all = promptOf(index).tokens;
    const Continuation &continuation = choice.continuation;
    for (size_t i = 0; i < continuation.tokens.size(); ++i) {
      add(lists, all, continuation.tokens[i], i < continuation.scores.size() ? &continuation.scores[i] : nullptr,
          offset);
      all.push_back(continuation.tokens[i]);
    }
    return toJson(std::move(lists));
  }

  std::string id;
  std::vector<size_t> offsets;
  std::vector<std::vector<int32_t>> streamed;
};

class ChatReply final : public TextReply {
public:
  ChatReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model, const TextCodec &vocabulary,
            std::vector<Prompt> prompts, bool thinks)
      : TextReply(std::move(exchange), std::move(request), std::move(model), vocabulary, std::move(prompts)),
        id(newId("chatcmpl-")), thinks(thinks), streamed(choices.size()) {
    for (size_t i = 0; i < choices.size(); ++i)
      thinking.push_back(thinkingOf(i));
  }

private:
  Thinking thinkingOf(size_t index) const {
    std::string_view prompt = promptOf(index).text;
    prompt = prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1);
    return Thinking(prompt.ends_with("<think>"));
  }

  Json head(const char *object) const {
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
  }

  void send(size_t index, Json delta, Json scores, Json reason) {
    Json json = head("chat.completion.chunk");
    json["choices"] = Json::array({{{"index", index},
                                    {"delta", std::move(delta)},
                                    {"logprobs", std::move(scores)},
                                    {"finish_reason", std::move(reason)}}});
    if (request.includesUsage)
      json["usage"] = nullptr;
    exchange->event(dumped(json));
  }

  static Json deltaOf(const Thinking::Parts &parts) {
    Json delta = Json::object();
    if (!parts.thought.empty())
      delta["reasoning_content"] = parts.thought;
    if (!parts.answer.empty())
      delta["content"] = parts.answer;
    return delta;
  }

  void beginStream() override {
    for (size_t i = 0; i < choices.size(); ++i)
      send(i, {{"role", "assistant"}, {"content", ""}}, {}, {});
  }
  void streamPiece(size_t index, const TextPiece &piece) override {
    Thinking::Parts parts = thinks ? thinking[index].add(piece.text) : Thinking::Parts{{}, piece.text};
    Json delta = deltaOf(parts);
    Json scores = piece.scores.empty() ? Json() : scoresOf(index, streamed[index], piece.tokens, piece.scores);
    streamed[index].insert(streamed[index].end(), piece.tokens.begin(), piece.tokens.end());
    if (!delta.empty() || !scores.is_null())
      send(index, std::move(delta), std::move(scores), {});
  }
  void streamEnd(size_t index, const Choice &choice, const std::string &rest) override {
    Thinking::Parts parts = thinks ? thinking[index].finish(rest) : Thinking::Parts{{}, rest};
    if (Json delta = deltaOf(parts); !delta.empty())
      send(index, std::move(delta), {}, {});
    send(index, Json::object(), {}, reasonOf(choice.continuation.ending));
  }
  void endStream() override {
    if (request.includesUsage) {
      Json json = head("chat.completion.chunk");
      json["choices"] = Json::array();
      json["usage"] = usage();
      exchange->event(dumped(json));
    }
    exchange->event("[DONE]");
  }

  Json whole() override {
    Json json = head("chat.completion");
    json["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      const Choice &choice = choices[i];
      Thinking::Parts parts = thinks ? thinking[i].finish(choice.text) : Thinking::Parts{{}, choice.text};
      Json message = {{"role", "assistant"}, {"content", parts.answer}, {"refusal", nullptr}};
      if (!parts.thought.empty())
        message["reasoning_content"] = parts.thought;
      const Continuation &continuation = choice.continuation;
      json["choices"].push_back(
          {{"index", i},
           {"message", std::move(message)},
           {"logprobs", choice.isScored ? scoresOf(i, {}, continuation.tokens, continuation.scores) : Json()},
           {"finish_reason", reasonOf(continuation.ending)}});
    }
    json["usage"] = usage();
    return json;
  }

  Json scoreOf(std::span<const int32_t> before, int32_t token, float score) const {
    TokenText text = textOfToken(vocabulary, before, token);
    Json bytes = Json::array();
    for (char byte : text.bytes)
      bytes.push_back(int(uint8_t(byte)));
    return {{"token", text.text}, {"logprob", score}, {"bytes", std::move(bytes)}};
  }

  Json scoresOf(size_t index, std::span<const int32_t> before, std::span<const int32_t> tokens,
                std::span<const TokenScore> scores) const {
    Json content = Json::array();
    std::vector<int32_t> all = promptOf(index).tokens;
    all.insert(all.end(), before.begin(), before.end());
    for (size_t i = 0; i < std::min(tokens.size(), scores.size()); ++i) {
      Json score = scoreOf(all, tokens[i], scores[i].logProbability);
      score["top_logprobs"] = Json::array();
      for (const TokenScore::Choice &each : scores[i].best)
        score["top_logprobs"].push_back(scoreOf(all, each.token, each.logProbability));
      content.push_back(std::move(score));
      all.push_back(tokens[i]);
    }
    return {{"content", std::move(content)}};
  }

  std::string id;
  bool thinks;
  std::vector<Thinking> thinking;
  std::vector<std::vector<int32_t>> streamed; // the tokens sent so far
};

} // namespace

std::unique_ptr<TextReply> makeCompletionReply(std::shared_ptr<Exchange> exchange, TextRequest request,
                                               std::string model, const TextCodec &vocabulary,
                                               std::vector<TextReply::Prompt> prompts) {
  return std::make_unique<CompletionReply>(std::move(exchange), std::move(request), std::move(model), vocabulary,
                                           std::move(prompts));
}

std::unique_ptr<TextReply> makeChatReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model,
                                         const TextCodec &vocabulary, std::vector<TextReply::Prompt> prompts,
                                         bool thinks) {
  return std::make_unique<ChatReply>(std::move(exchange), std::move(request), std::move(model), vocabulary,
                                     std::move(prompts), thinks);
}

} // namespace heddle::serve
