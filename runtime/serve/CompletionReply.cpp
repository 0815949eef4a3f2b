// Answers of /v1/completions and /v1/chat/completions.
#include "runtime/serve/TextReply.h"
#include "runtime/serve/Thinking.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::serve {
namespace {

size_t characters(const std::string &text) { return codePoints(text).size(); }

// The common base of both kinds of answers. `object` is the name of a whole answer, `event` that of a part.
class Reply : public TextReply {
protected:
  template <typename... Base>
  Reply(const char *idPrefix, const char *object, const char *event, Base &&...base)
      : TextReply(std::forward<Base>(base)...), streamed(choices.size()), id(newId(idPrefix)), object(object),
        event(event) {}

  // A choice of the whole answer.
  virtual Json choiceOf(size_t index) = 0;

  // Sends an event with a part of a choice. Events differ only in this part, so the text around it is written once.
  void send(const Json &choice) {
    if (before.empty()) {
      before = dumped(head(event));
      before.back() = ',';
      before += R"("choices":[)";
      after = request.includesUsage ? R"(],"usage":null})" : "]}";
    }
    exchange->event(before + dumped(choice) + after);
  }

  std::vector<std::vector<int32_t>> streamed; // the tokens sent so far, by choice

private:
  Json head(const char *kind) const { return {{"id", id}, {"object", kind}, {"created", created}, {"model", model}}; }

  void endStream() override {
    if (request.includesUsage) {
      Json json = head(event);
      json["choices"] = Json::array();
      json["usage"] = usage();
      exchange->event(dumped(json));
    }
    exchange->event("[DONE]");
  }
  Json whole() override {
    Json json = head(object);
    json["choices"] = Json::array();
    for (size_t i = 0; i < choices.size(); ++i)
      json["choices"].push_back(choiceOf(i));
    json["usage"] = usage();
    return json;
  }

  std::string id;
  const char *object, *event;
  std::string before, after; // of an event, around the choice
};

class CompletionReply final : public Reply {
public:
  template <typename... Base>
  explicit CompletionReply(Base &&...base)
      : Reply("cmpl-", "text_completion", "text_completion", std::forward<Base>(base)...), offsets(choices.size()) {}

private:
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
  Json choiceOf(size_t index) override {
    const Choice &choice = choices[index];
    return {{"index", index},
            {"text", request.echo ? promptOf(index).text + choice.text : choice.text},
            {"logprobs", choice.isScored ? wholeScores(index) : Json()},
            {"finish_reason", reasonOf(choice.continuation.ending)}};
  }

  // Scores as the older API's lists. `offsets` are the characters at which the tokens' texts start.
  struct Lists {
    Json tokens = Json::array(), scores = Json::array(), best = Json::array(), offsets = Json::array();
  };

  void add(Lists &lists, std::span<const int32_t> before, int32_t token, const TokenScore *score,
           size_t &offset) const {
    TokenText text = textOfToken(vocabulary, before, token);
    lists.offsets.push_back(offset);
    offset += text.characters;
    lists.tokens.push_back(std::move(text.text));
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

  std::vector<size_t> offsets; // in characters, of the text sent so far
};

class ChatReply final : public Reply {
public:
  template <typename... Base>
  explicit ChatReply(bool thinks, Base &&...base)
      : Reply("chatcmpl-", "chat.completion", "chat.completion.chunk", std::forward<Base>(base)...), thinks(thinks) {
    for (size_t i = 0; i < choices.size(); ++i)
      thinking.push_back(thinkingOf(i));
  }

private:
  Thinking thinkingOf(size_t index) const {
    std::string_view prompt = promptOf(index).text;
    prompt = prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1);
    return Thinking(prompt.ends_with("<think>"));
  }

  void send(size_t index, Json delta, Json scores, Json reason) {
    Reply::send({{"index", index},
                 {"delta", std::move(delta)},
                 {"logprobs", std::move(scores)},
                 {"finish_reason", std::move(reason)}});
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
  Json choiceOf(size_t index) override {
    const Choice &choice = choices[index];
    Thinking::Parts parts = thinks ? thinking[index].finish(choice.text) : Thinking::Parts{{}, choice.text};
    Json message = {{"role", "assistant"}, {"content", parts.answer}, {"refusal", nullptr}};
    if (!parts.thought.empty())
      message["reasoning_content"] = parts.thought;
    const Continuation &continuation = choice.continuation;
    return {{"index", index},
            {"message", std::move(message)},
            {"logprobs", choice.isScored ? scoresOf(index, {}, continuation.tokens, continuation.scores) : Json()},
            {"finish_reason", reasonOf(continuation.ending)}};
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

  bool thinks;
  std::vector<Thinking> thinking;
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
  return std::make_unique<ChatReply>(thinks, std::move(exchange), std::move(request), std::move(model), vocabulary,
                                     std::move(prompts));
}

} // namespace heddle::serve
