#include "runtime/train/Conversations.h"

#include "runtime/chat/ReadConversation.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/train/CheckpointFolder.h"

#include <mutex>

namespace heddle {

Result<ChatTemplates> loadTemplates(const std::string &given, const std::filesystem::path &model) {
  if (!given.empty())
    return ChatTemplates::load(given);
  std::filesystem::path path = model;
  if (!isPublishedModel(path)) {
    HEDDLE_ASSIGN(path, findCheckpoint(path));
    std::error_code error;
    if (std::filesystem::path vocabulary = path / PublishedVocabulary::kGgufVocabulary;
        std::filesystem::exists(vocabulary, error))
      path = vocabulary;
  }
  Result<ChatTemplates> templates = ChatTemplates::load(path);
  if (!templates.ok() && templates.error().kind == ErrorKind::NotFound)
    return makeError(ErrorKind::NotFound, "'", path.string(),
                     "' has no chat template. Name a file or a folder that has one with --chat-template.");
  return templates;
}

namespace {

using Parts = std::vector<RecordPart>;

// Cuts the text into parts: the model learns the spans, but not the text between them.
Parts cut(const std::string &text, const std::vector<RenderedChat::Span> &spans) {
  Parts parts;
  size_t place = 0;
  for (const RenderedChat::Span &span : spans) {
    parts.push_back({text.substr(place, span.begin - place), false});
    parts.push_back({text.substr(span.begin, span.end - span.begin), true});
    place = span.end;
  }
  parts.push_back({text.substr(place), false});
  return parts;
}

Result<Parts> partsOf(const ChatTemplates &templates, Conversation conversation, const std::string &origin) {
  conversation.addGenerationPrompt = false;
  bool hasTools = conversation.variables.contains("tools") && !conversation.variables["tools"].is_null();
  HEDDLE_ASSIGN(const ChatTemplate *chosen, templates.choose(hasTools));
  HEDDLE_ASSIGN(RenderedChat whole, templates.render(conversation));
  if (chosen->marksGeneration())
    return cut(whole.text, whole.generated);
  // The model learns the part of each assistant message that follows the generation prompt.
  std::vector<RenderedChat::Span> spans;
  const nlohmann::ordered_json &messages = conversation.messages;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object() || messages[i].value("role", nlohmann::ordered_json()) != "assistant")
      continue;
    Conversation before = conversation, after = conversation;
    before.messages.erase(before.messages.begin() + ptrdiff_t(i), before.messages.end());
    before.addGenerationPrompt = true;
    after.messages.erase(after.messages.begin() + ptrdiff_t(i) + 1, after.messages.end());
    HEDDLE_ASSIGN(RenderedChat asked, templates.render(std::move(before)));
    HEDDLE_ASSIGN(RenderedChat answered, templates.render(std::move(after)));
    if (!answered.text.starts_with(asked.text) || !whole.text.starts_with(answered.text))
      return makeError(ErrorKind::InvalidArgument, origin, ": the chat template writes message ", i + 1,
                       " otherwise where others follow it, so what the assistant says cannot be told from the rest. "
                       "Give --chat-template one that marks it by {% generation %}, or records with a prompt and a "
                       "completion.");
    spans.push_back({asked.text.size(), answered.text.size()});
  }
  return cut(whole.text, spans);
}

} // namespace

ConversationReader conversationReader(std::string given, std::filesystem::path model) {
  struct State {
    std::string given;
    std::filesystem::path model;
    std::once_flag once;
    std::optional<Result<ChatTemplates>> templates;
  };
  auto state = std::make_shared<State>();
  state->given = std::move(given);
  state->model = std::move(model);
  return [state](std::string_view line, const std::string &origin) -> Result<Parts> {
    std::call_once(state->once, [&] {
      state->templates = state->given.empty() && state->model.empty()
                             ? makeError(ErrorKind::NotFound, "the model has no chat template, which records with "
                                                              "\"messages\" need. Name one with --chat-template.")
                             : loadTemplates(state->given, state->model);
    });
    if (!state->templates->ok())
      return Error(state->templates->error());
    HEDDLE_ASSIGN(Conversation conversation, readConversation(line, origin));
    Result<Parts> parts = partsOf(**state->templates, std::move(conversation), origin);
    if (!parts.ok() && parts.error().message.find(origin) == std::string::npos)
      return std::move(parts).error().within(origin);
    return parts;
  };
}

} // namespace heddle
