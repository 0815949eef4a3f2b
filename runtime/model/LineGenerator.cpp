#include "runtime/model/LineGenerator.h"

#include "runtime/core/Log.h"
#include "runtime/text/Escapes.h"
#include "runtime/text/Utf8.h"

#include <nlohmann/json.hpp>

namespace heddle {

Status LineGenerator::add(std::string_view line) {
  uint64_t number = lines.add();
  std::string text;
  Prompt prompt{number, {}, options, /*draws=*/number};
  if (answers.ids) {
    HEDDLE_ASSIGN(prompt.tokens, readIds(line, number, vocabulary.pieces()));
  } else if (answers.prompt) {
    Result<std::string> made = answers.prompt(replaceInvalidBytes(line, number));
    if (!made.ok())
      return std::move(made).error().within(str("line ", number));
    text = std::move(*made);
  } else {
    text = replaceInvalidBytes(unescaped(line), number);
  }
  if (!answers.ids)
    prompt.tokens = vocabulary.encode(text);
  if (prompt.tokens.empty() || (marks.beginsTexts && !answers.prompt && !answers.ids))
    prompt.tokens.insert(prompt.tokens.begin(), marks.begin);
  if (auto length = int64_t(prompt.tokens.size()); length >= generator.maximumLength()) {
    log(LogLevel::Warning,
        str("line ", number, " has ", length, " tokens and is not continued: the model was compiled for ",
            generator.maximumLength(), " in all"));
    Text whole{std::move(text), prompt.tokens, AnswerText(vocabulary, std::move(prompt.tokens), {})};
    lines.finish(number, answers.json     ? record(whole, "", {}, Ending::Room)
                         : answers.ids    ? showIds(whole.tokens)
                         : answers.prompt ? ""
                                          : escaped(whole.text));
    return Success();
  }
  if (answers.stream && !answers.prompt)
    answers.stream(escaped(text));
  prompts.emplace(number, Text{std::move(text), prompt.tokens, AnswerText(vocabulary, prompt.tokens, answers.stops)});
  return generator.add(std::move(prompt));
}

bool LineGenerator::watch(const Progress &progress) {
  if (answers.stops.empty() && !answers.stream)
    return false;
  AnswerText &answer = prompts.find(progress.number)->second.answer;
  bool isStopped = answer.add(progress.tokens);
  if (answers.stream)
    if (std::string piece = answer.take(); !piece.empty())
      answers.stream(escaped(piece));
  return isStopped;
}

std::string LineGenerator::record(const Text &prompt, const std::string &completion, std::span<const int32_t> tokens,
                                  Ending ending) const {
  constexpr const char *endings[] = {"end", "length", "room", "stop"};
  if (answers.ids)
    return nlohmann::ordered_json{{"prompt", prompt.tokens},
                                  {"completion", std::vector(tokens.begin(), tokens.end())},
                                  {"tokens", tokens.size()},
                                  {"finish", endings[size_t(ending)]}}
        .dump();
  nlohmann::ordered_json json = {{"prompt", prompt.text},
                                 {"completion", completion},
                                 {"tokens", tokens.size()},
                                 {"finish", endings[size_t(ending)]}};
  return json.dump();
}

Status LineGenerator::finish(const Continuation &continuation) {
  if (continuation.error)
    return *continuation.error;
  auto prompt = prompts.find(continuation.number);
  if (continuation.ending == Ending::Room)
    log(LogLevel::Warning, str("line ", continuation.number, " is continued by ", continuation.tokens.size(),
                               " tokens only: the model was compiled for ", generator.maximumLength(),
                               " of prompt and answer together; compile it with a larger max_length and max_tokens"));
  Text &text = prompt->second;
  if (answers.ids) {
    std::vector<int32_t> all = text.tokens;
    all.insert(all.end(), continuation.tokens.begin(), continuation.tokens.end());
    lines.finish(continuation.number,
                 answers.json ? record(text, "", continuation.tokens, continuation.ending) : showIds(all));
    prompts.erase(prompt);
    return Success();
  }
  text.answer.finish(continuation.tokens); // flushes a character that the last token left incomplete
  std::string rest = text.answer.take();
  lines.finish(continuation.number, answers.json ? record(text, rest, continuation.tokens, continuation.ending)
                                    : answers.stream || answers.prompt ? escaped(rest)
                                                                       : escaped(text.text + rest));
  prompts.erase(prompt);
  return Success();
}

Status LineGenerator::step() {
  HEDDLE_ASSIGN(std::vector<Continuation> finished, generator.step());
  for (const Continuation &continuation : finished)
    HEDDLE_CHECK(finish(continuation));
  return Success();
}

} // namespace heddle
