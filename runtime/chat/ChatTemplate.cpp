#include "runtime/chat/ChatTemplate.h"

#include "runtime/chat/Clock.h"
#include "runtime/chat/Interpreter.h"
#include "runtime/chat/JsonText.h"

#include <algorithm>

namespace heddle {

struct ChatTemplate::Parsed {
  chat::Program program;
};

namespace {

// Splits "TypeError: can only ..." into type and message. An error without a type is caused by the conversation.
RenderFailure failureOf(const Error &error, int line) {
  size_t end = error.message.find(": ");
  bool hasType = end != std::string::npos && error.message.find(' ') > end;
  if (!hasType)
    return {"ValueError", error.message, line};
  return {error.message.substr(0, end), error.message.substr(end + 2), line};
}

Error describe(const RenderFailure &failure, ErrorKind kind) {
  std::string place = failure.line ? str(" (line ", failure.line, " of the template)") : "";
  if (failure.isRaised())
    return makeError(kind, "the chat template refuses the conversation: ", failure.message, place);
  return makeError(kind, "the chat template fails: ", failure.type, ": ", failure.message, place);
}

Result<std::vector<std::pair<std::string, chat::Value>>> variablesOf(const Conversation &conversation) {
  HEDDLE_ASSIGN(chat::Value messages, chat::valueOf(conversation.messages));
  std::vector<std::pair<std::string, chat::Value>> variables = {
      {"tools", chat::Value()},
      {"documents", chat::Value()},
      {"messages", std::move(messages)},
      {"add_generation_prompt", chat::Value(conversation.addGenerationPrompt)}};
  for (const auto &[name, json] : conversation.variables.items()) {
    HEDDLE_ASSIGN(chat::Value value, chat::valueOf(json));
    variables.emplace_back(name, std::move(value)); // if a name occurs twice, the last one counts
  }
  return variables;
}

bool holdsGeneration(const chat::Body &body) {
  return std::any_of(body.begin(), body.end(), [](const auto &statement) {
    return statement->kind == chat::Statement::Kind::Generation || holdsGeneration(statement->body) ||
           holdsGeneration(statement->otherwise) ||
           std::any_of(statement->branches.begin(), statement->branches.end(),
                       [](const chat::Branch &branch) { return holdsGeneration(branch.body); });
  });
}

} // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view text) {
  HEDDLE_ASSIGN(chat::Program program, chat::parseTemplate(text));
  return ChatTemplate(std::make_shared<const Parsed>(Parsed{std::move(program)}));
}

Result<RenderedChat> ChatTemplate::render(const Conversation &conversation, std::optional<std::tm> now,
                                          RenderFailure *failure, const RenderLimits &limits) const {
  chat::Environment environment({limits.steps, limits.valueBytes, limits.textBytes}, now ? *now : chat::currentTime());
  chat::Interpreter interpreter(parsed->program, environment);
  auto variables = variablesOf(conversation);
  Status status = variables.ok() ? interpreter.run(*variables) : Status(variables.error());
  if (!status.ok()) {
    RenderFailure details = failureOf(status.error(), interpreter.failedLine());
    Error error = describe(details, status.error().kind);
    if (failure)
      *failure = std::move(details);
    return error;
  }
  RenderedChat rendered;
  rendered.text = interpreter.takeText();
  for (const chat::TextSpan &span : interpreter.generated())
    rendered.generated.push_back({span.begin, span.end});
  return rendered;
}

bool ChatTemplate::marksGeneration() const { return holdsGeneration(parsed->program.body); }

} // namespace heddle
