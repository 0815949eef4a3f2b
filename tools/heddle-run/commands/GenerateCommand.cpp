#include "runtime/chat/ReadConversation.h"
#include "runtime/core/Log.h"
#include "runtime/model/LineGenerator.h"
#include "runtime/model/SamplingDefaults.h"
#include "runtime/text/Escapes.h"
#include "runtime/train/Conversations.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/OpenModel.h"

#include <algorithm>

namespace heddle::run {
namespace {

// Returns the prompt for a line, which is a user's message or a conversation as `render` reads it.
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

// The sampling rules and the repetition penalty: from flags, or the model's own if no flag says how to choose tokens.
struct Choices {
  std::optional<SamplingOptions> sampling;
  double repetitionPenalty;
};

Result<Choices> choicesFor(const GenerateCommand &command, const TextCodec &vocabulary) {
  HEDDLE_ASSIGN(std::optional<SamplingOptions> sampling, samplingOptions(command.sampling));
  Choices choices{std::move(sampling), command.repetitionPenalty};
  auto file = std::ranges::find(vocabulary.files(), kGenerationConfig, &TokenizerFile::name);
  if (command.greedy || command.choosesTokens || file == vocabulary.files().end())
    return choices;
  HEDDLE_ASSIGN(std::optional<SamplingDefaults> defaults, readSamplingDefaults(file->bytes, kGenerationConfig));
  if (!defaults)
    return choices;
  std::string ignored;
  for (const std::string &key : defaults->ignored)
    ignored += (ignored.empty() ? ", without its " : ", ") + key;
  log(LogLevel::Info, str("samples as the model's ", kGenerationConfig, " says: ", defaults->describe(), ignored,
                          "; --greedy chooses the most probable tokens"));
  choices.sampling = std::move(defaults->sampling);
  choices.sampling->seed = command.sampling.options.seed;
  choices.repetitionPenalty = defaults->repetitionPenalty;
  return choices;
}

Status generate(const GenerateCommand &command, Profile *profile) {
  HEDDLE_ASSIGN(TrainedModel model,
                openTrained(command.common, command.checkpoint, kDecoderAlone, "generate", profile));
  HEDDLE_ASSIGN(Choices choices, choicesFor(command, *model.vocabulary));
  GenerationOptions options{command.tokens, std::move(choices.sampling), choices.repetitionPenalty,
                            command.penaltyWindow};
  HEDDLE_CHECK(requireEntries(*model.engine, {Generator::entryOf(*model.engine, options)}, "continuing text"));
  AnswerOptions answers{command.stops, command.json};
  answers.ids = command.ids;
  for (std::string &stop : answers.stops)
    stop = unescaped(stop);
  if (command.stream)
    answers.stream = [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
  std::optional<ChatTemplates> templates;
  if (command.chat) {
    HEDDLE_ASSIGN(templates, loadTemplates(command.chatTemplate,
                                           command.common.base.empty() ? command.checkpoint : command.common.base));
    answers.prompt = [&templates](std::string_view line) { return promptOf(*templates, line); };
  }
  // Streamed answers are printed prompt by prompt.
  uint64_t window = command.stream ? 1 : kCallsAhead * uint64_t(model.description.maximumSequences);
  return shareLines(workersFor<LineGenerator>(model, *model.vocabulary, options, answers), window, printLine);
}

} // namespace

Status runGenerate(const GenerateCommand &command) {
  return profiled(command.common, "generate", filesRead(command.common, {command.checkpoint}),
                  [&](Profile *profile) { return generate(command, profile); });
}

} // namespace heddle::run
