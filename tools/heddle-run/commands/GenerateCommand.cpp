#include "runtime/chat/ReadConversation.h"
#include "runtime/chat/TemplateSource.h"
#include "runtime/model/LineGenerator.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/text/Escapes.h"
#include "runtime/text/PublishedVocabulary.h"
#include "runtime/train/CheckpointFolder.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/Opening.h"

namespace heddle::run {
namespace {

// Where the chat template of the model is: the published model, or what its tokenizer's files left in the checkpoint.
Result<ChatTemplates> loadTemplates(const GenerateCommand &command) {
  if (!command.chatTemplate.empty())
    return ChatTemplates::load(command.chatTemplate);
  std::filesystem::path path = command.common.base.empty() ? command.checkpoint : command.common.base;
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
                     "' has no chat template. Name a file or a folder that has one with --chat-template, or leave out "
                     "--chat to continue the lines as they are.");
  return templates;
}

// A line is a user's message, or a conversation as `render` reads it.
Result<std::string> promptOf(const ChatTemplates &templates, std::string_view line) {
  Conversation conversation;
  if (isConversation(line)) {
    HEDDLE_ASSIGN(conversation, readConversation(line, "the conversation"));
  } else {
    conversation.messages.push_back({{"role", "user"}, {"content", unescaped(line)}});
  }
  conversation.addGenerationPrompt = true;
  HEDDLE_ASSIGN(RenderedChat rendered, templates.render(std::move(conversation)));
  return std::move(rendered.text);
}

Status generate(const GenerateCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(TrainedModel model,
                openTrained(command.common, command.checkpoint, kDecoderAlone, "generate", profile));
  HEDDLE_ASSIGN(std::optional<SamplingOptions> sampling, samplingOptions(command.sampling));
  GenerationOptions options{command.tokens, std::move(sampling), command.repetitionPenalty, command.penaltyWindow};
  HEDDLE_CHECK(requireEntries(*model.engine, {Generator::entryOf(*model.engine, options)}, "continuing text"));
  AnswerOptions answers{command.stops, command.json};
  for (std::string &stop : answers.stops)
    stop = unescaped(stop);
  if (command.stream)
    answers.stream = [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
  std::optional<ChatTemplates> templates;
  if (command.chat) {
    HEDDLE_ASSIGN(templates, loadTemplates(command));
    answers.prompt = [&templates](std::string_view line) { return promptOf(*templates, line); };
  }
  auto lineOf = [](std::string &line) -> Result<LinePool<LineGenerator>::Line> {
    return [line = std::move(line)](LineGenerator &generator) { return generator.add(line); };
  };
  // What is streamed is said prompt by prompt.
  uint64_t window = command.stream ? 1 : kCallsAhead * uint64_t(model.description.maximumSequences);
  return shareLines(workersFor<LineGenerator>(model, *model.vocabulary, options, answers), window, lineOf, printLine);
}

} // namespace

Status runGenerate(const GenerateCommand &command) {
  return profiled(command.common, "generate", filesRead(command.common, {command.checkpoint}),
                  [&](Profile *profile) { return generate(command, profile); });
}

} // namespace heddle::run
