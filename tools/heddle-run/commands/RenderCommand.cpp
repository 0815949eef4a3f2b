#include "runtime/chat/Clock.h"
#include "runtime/chat/ReadConversation.h"
#include "runtime/chat/TemplateSource.h"
#include "tools/heddle-run/commands/Commands.h"
#include "tools/heddle-run/commands/LineAnswers.h"

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

// Few lines are read ahead, as conversations may be long.
constexpr uint64_t kLinesAhead = 16;

std::string asJson(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

} // namespace

Status runRender(const RenderCommand &command) {
  HEDDLE_ASSIGN(ChatTemplates templates, ChatTemplates::load(command.model));
  ImmediateAnswers worker;
  uint64_t number = 0;
  auto add = [&](const std::string &line) -> Status {
    HEDDLE_ASSIGN(Conversation conversation, readConversation(line, str("line ", ++number, " of the standard input")));
    RenderFailure failure;
    Result<RenderedChat> rendered = templates.render(std::move(conversation), command.now, &failure);
    if (rendered.ok()) {
      worker.answers.push_back(asJson(rendered->text));
    } else {
      if (failure.type.empty()) // it failed before rendering
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
