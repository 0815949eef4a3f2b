// /v1/completions, /v1/chat/completions and /v1/responses, and the vectors of a decoder's hidden states.
#include "runtime/serve/Routes.h"
#include "runtime/serve/TextReply.h"
#include "runtime/serve/VectorTurns.h"

#include <random>

namespace heddle::serve {
namespace {

class TextRoutes final : public Routes {
public:
  TextRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics)
      : model(model), metrics(metrics), turns(model, options, metrics, engine),
        engine(model.engine, model.description, model.vocabulary, metrics,
               {options.queue, options.promptTokens, options.time, model.switchAdapter}),
        thinks(model.templates && model.templates->mentions("</think>")),
        knowsDevelopers(model.templates && model.templates->mentions("developer")) {
    if (checkEmbeds(model.engine).ok())
      vectors.emplace(model, metrics, std::bind_front(&VectorTurns::submit, &turns));
  }

  std::vector<std::string> paths() const override {
    std::vector<std::string> all = {kCompletions, kChat, kResponses}; // without a chat template, the last two fail
    if (vectors)
      all.insert(all.end(), VectorAnswers::kPaths.begin(), VectorAnswers::kPaths.end());
    return all;
  }
  std::string failure() const override { return engine.failure(); }
  const char *kind() const override { return model.templates ? "chat" : "text"; }
  void whenIdle(std::function<Status()> function, std::function<void(Status)> done) override {
    engine.whenIdle(std::move(function), std::move(done));
  }

private:
  static constexpr const char *kCompletions = "/v1/completions", *kChat = "/v1/chat/completions",
                              *kResponses = "/v1/responses";

  std::optional<ApiError> answer(const std::shared_ptr<Exchange> &exchange,
                                 const nlohmann::ordered_json &body) override {
    const std::string &path = exchange->request.path;
    if (vectors && std::ranges::find(VectorAnswers::kPaths, path) != VectorAnswers::kPaths.end())
      return vectors->answer(exchange, body);
    Parsed<TextRequest> parsed = path == kCompletions ? parseCompletion(body)
                                 : path == kChat      ? parseChat(body)
                                                      : parseResponse(body);
    if (parsed.error)
      return parsed.error;
    TextRequest &request = *parsed.value;
    Parsed<size_t> adapter = findModel(model, request.model);
    if (adapter.error)
      return adapter.error;
    Parsed<std::vector<TextReply::Prompt>> prompts = promptsOf(request);
    if (prompts.error)
      return prompts.error;
    if (request.options.tokens < 0)
      request.options.tokens = engine.longestPrompt() + 1;
    uint64_t seed = request.seed ? *request.seed : randomSeed();
    if (request.options.sampling)
      request.options.sampling->seed = seed;
    std::string name = request.model.empty() ? model.name : request.model;
    std::shared_ptr<TextReply> reply =
        path == kCompletions
            ? makeCompletionReply(exchange, std::move(request), name, model.vocabulary, std::move(*prompts.value))
        : path == kChat
            ? makeChatReply(exchange, std::move(request), name, model.vocabulary, std::move(*prompts.value), thinks)
            : makeResponseReply(exchange, std::move(request), name, model.vocabulary, std::move(*prompts.value),
                                thinks);
    return submit(exchange, reply, *adapter.value);
  }

  std::optional<ApiError> submit(const std::shared_ptr<Exchange> &exchange, const std::shared_ptr<TextReply> &reply,
                                 size_t adapter) {
    size_t count = reply->size();
    const TextRequest &asked = reply->asked();
    std::vector<TextJob> jobs;
    size_t prompted = 0;
    for (size_t i = 0; i < count; ++i) {
      TextJob job;
      job.prompt.tokens = reply->promptOf(i).tokens;
      job.prompt.options = asked.options;
      job.prompt.draws = i;
      job.stops = asked.stops;
      job.adapter = adapter;
      if (asked.stream)
        job.onPiece = [reply, i](const TextPiece &piece) { reply->add(i, piece); };
      job.onEnd = [this, reply, count, i](TextAnswer answer) {
        uint64_t first = answer.continuation.number - i;
        if (reply->end(i, std::move(answer)) && count > 1)
          engine.cancel(first, count);
      };
      prompted += job.prompt.tokens.size();
      jobs.push_back(std::move(job));
    }
    std::optional<uint64_t> number = engine.submit(std::move(jobs));
    if (!number)
      return queueIsFull();
    metrics.promptTokens += prompted;
    exchange->whenGone([this, number = *number, count] { engine.cancel(number, count); });
    return std::nullopt;
  }

  Parsed<std::vector<TextReply::Prompt>> promptsOf(TextRequest &request) const {
    std::vector<TextReply::Prompt> prompts;
    const Marks &marks = model.description.marks;
    if (request.conversation) {
      Parsed<std::string> text = render(std::move(*request.conversation));
      if (text.error)
        return std::move(*text.error);
      std::vector<int32_t> tokens = model.vocabulary.encode(*text.value);
      prompts.push_back({std::move(*text.value), std::move(tokens)});
    }
    for (auto &given : request.prompts) {
      TextReply::Prompt prompt;
      if (auto *ids = std::get_if<std::vector<int32_t>>(&given)) {
        if (std::optional<ApiError> unknown = checkIds(*ids, model.vocabulary.pieces(), "prompt"))
          return std::move(*unknown);
        prompt.tokens = std::move(*ids);
        if (request.echo)
          prompt.text = model.vocabulary.continuation({}, prompt.tokens);
      } else {
        prompt.text = std::move(std::get<std::string>(given));
        prompt.tokens = model.vocabulary.encode(prompt.text);
        if (prompt.tokens.empty() || marks.beginsTexts)
          prompt.tokens.insert(prompt.tokens.begin(), marks.begin);
      }
      prompts.push_back(std::move(prompt));
    }
    int64_t most = engine.longestPrompt() + (request.options.tokens == 0 ? 1 : 0);
    for (TextReply::Prompt &prompt : prompts) {
      if (prompt.tokens.empty())
        prompt.tokens.push_back(marks.begin);
      if (auto length = int64_t(prompt.tokens.size()); length > most)
        return ApiError{400,
                        str("the prompt has ", length, " tokens, and the model was compiled for ",
                            engine.longestPrompt() + 1, " with the answer; shorten it, or compile the model for more."),
                        request.prompts.empty() ? "messages" : "prompt", "context_length_exceeded"};
    }
    return prompts;
  }

  Parsed<std::string> render(Conversation conversation) const {
    if (!model.templates)
      return ApiError{400,
                      "the model has no chat template; start the server with --chat-template, or send a prompt to "
                      "/v1/completions.",
                      "messages", "no_chat_template"};
    if (!knowsDevelopers)
      for (auto &message : conversation.messages)
        if (message["role"] == "developer")
          message["role"] = "system";
    Result<RenderedChat> rendered = model.templates->render(std::move(conversation));
    if (!rendered.ok())
      return ApiError{400, "the chat template refuses the conversation: " + rendered.message(), "messages",
                      "template_error"};
    return std::move(rendered->text);
  }

  static uint64_t randomSeed() {
    thread_local std::mt19937_64 source{std::random_device()() | uint64_t(std::random_device()()) << 32};
    return source();
  }

  const ServedModel &model;
  Metrics &metrics;
  VectorTurns turns;
  TextEngine engine;
  std::optional<VectorAnswers> vectors; // if the artifact has an entry for hidden states
  bool thinks, knowsDevelopers;
};

} // namespace

std::unique_ptr<Routes> makeTextRoutes(const ServedModel &model, const ServeOptions &options, Metrics &metrics) {
  return std::make_unique<TextRoutes>(model, options, metrics);
}

} // namespace heddle::serve
