#include "runtime/chat/Clock.h"
#include "runtime/chat/TemplateSource.h"
#include "runtime/core/Json.h"
#include "tools/heddle-run/commands/Commands.h"
#include "tools/heddle-run/commands/LineAnswers.h"

#include <utility>

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

// Conversations may be long.
constexpr uint64_t kLinesAhead = 16;

Result<Conversation> readConversation(const std::string &line, uint64_t number) {
  std::string origin = str("line ", number, " of the standard input");
  HEDDLE_ASSIGN(Json json, parseOrderedJson(line, origin));
  auto wrong = [&](const auto &...why) { return makeError(ErrorKind::InvalidArgument, origin, ": ", why...); };
  if (!json.is_object() || !json.contains("messages"))
    return wrong("a conversation is an object with the key 'messages', such as {\"messages\": [{\"role\": \"user\", "
                 "\"content\": \"Good morning\"}], \"add_generation_prompt\": true}.");
  Conversation conversation;
  conversation.messages = std::move(json["messages"]);
  if (json.contains("add_generation_prompt")) {
    if (!json["add_generation_prompt"].is_boolean())
      return wrong("'add_generation_prompt' is true or false.");
    conversation.addGenerationPrompt = json["add_generation_prompt"].get<bool>();
  }
  if (json.contains("variables")) {
    if (!json["variables"].is_object())
      return wrong("'variables' is an object.");
    conversation.variables = std::move(json["variables"]);
  }
  return conversation;
}

std::string asJson(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A worker for answerLines() whose answers are there at once.
struct LineRenderer {
  std::vector<std::string> answers;

  uint64_t held() const { return answers.size(); }
  bool busy() const { return false; }
  Status step() { return Success(); }
  std::vector<std::string> take() { return std::exchange(answers, {}); }
};

} // namespace

Status runRender(const RenderCommand &command) {
  HEDDLE_ASSIGN(ChatTemplates templates, ChatTemplates::load(command.model));
  LineRenderer worker;
  uint64_t number = 0;
  auto add = [&](const std::string &line) -> Status {
    HEDDLE_ASSIGN(Conversation conversation, readConversation(line, ++number));
    RenderFailure failure;
    Result<RenderedChat> rendered = templates.render(std::move(conversation), command.now, &failure);
    if (rendered.ok()) {
      worker.answers.push_back(asJson(rendered->text));
    } else {
      if (failure.type.empty()) // it did not come to rendering
        return std::move(rendered).error();
      Json answer = {{"error", failure.type + ": " + failure.message}};
      if (failure.line != 0)
        answer["line"] = failure.line;
      worker.answers.push_back(asJson(answer));
    }
    return Success();
  };
  return answerLines(worker, kLinesAhead, add, printLine, InputLines::LongLines::Whole);
}

} // namespace heddle::run
