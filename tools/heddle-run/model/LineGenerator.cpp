#include "tools/heddle-run/model/LineGenerator.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/text/Escapes.h"
#include "tools/heddle-run/text/Utf8.h"

namespace heddle::run {

void LineGenerator::add(std::string_view line) {
  uint64_t number = lines.add();
  std::string text = replaceInvalidBytes(unescaped(line), number);
  Prompt prompt{number, vocabulary.encode(text)};
  if (prompt.tokens.empty() || beginning == PromptBeginning::Mark)
    prompt.tokens.insert(prompt.tokens.begin(), begin);
  if (auto length = int64_t(prompt.tokens.size()); length >= generator.maximumLength()) {
    log(LogLevel::Warning,
        str("line ", number, " has ", length, " tokens and is not continued: the model was compiled for ",
            generator.maximumLength(), " in all"));
    lines.finish(number, escaped(text));
    return;
  }
  prompts.emplace(number, Text{std::move(text), prompt.tokens});
  generator.add(std::move(prompt));
}

void LineGenerator::finish(const Continuation &continuation) {
  auto prompt = prompts.find(continuation.number);
  if (continuation.cutOff)
    log(LogLevel::Warning,
        str("line ", continuation.number, " is continued by ", continuation.tokens.size(),
            " tokens only: with them it has the ", generator.maximumLength(), " that the model was compiled for"));
  // The last token may end within a character.
  const auto &[text, tokens] = prompt->second;
  lines.finish(continuation.number,
               escaped(text + replaceInvalidUtf8(vocabulary.continuation(tokens, continuation.tokens))));
  prompts.erase(prompt);
}

Status LineGenerator::step() {
  HEDDLE_ASSIGN(std::vector<Continuation> finished, generator.step());
  for (const Continuation &continuation : finished)
    finish(continuation);
  return Success();
}

} // namespace heddle::run
