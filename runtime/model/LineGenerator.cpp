#include "runtime/model/LineGenerator.h"

#include "runtime/core/Log.h"
#include "runtime/text/Escapes.h"
#include "runtime/text/Utf8.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace heddle {

static std::string listed(std::span<const int32_t> ids) {
  std::string text;
  for (int32_t id : ids)
    text += str(text.empty() ? "" : " ", id);
  return text;
}

Result<std::vector<int32_t>> LineGenerator::readIds(std::string_view line, uint64_t number) const {
  std::vector<int32_t> ids;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty())
      return ids;
    int32_t id = -1;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    bool isWord = end == line.data() + line.size() || *end == ' ' || *end == '\t' || *end == '\r';
    if (error != std::errc() || !isWord || id < 0 || id >= vocabulary.pieces())
      return makeError(ErrorKind::InvalidArgument, "line ", number, ": '",
                       line.substr(0, std::min<size_t>(line.find(' '), 30)), "' is no token id from 0 to ",
                       vocabulary.pieces() - 1, "; with --ids a prompt is token ids with spaces between them.");
    ids.push_back(id);
    line.remove_prefix(size_t(end - line.data()));
  }
}

Status LineGenerator::add(std::string_view line) {
  uint64_t number = lines.add();
  std::string text;
  Prompt prompt{number, {}};
  if (answers.ids) {
    HEDDLE_ASSIGN(prompt.tokens, readIds(line, number));
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
    Text whole{std::move(text), std::move(prompt.tokens)};
    lines.finish(number, answers.json     ? record(whole, "", {}, Ending::Room)
                         : answers.ids    ? listed(whole.tokens)
                         : answers.prompt ? ""
                                          : escaped(whole.text));
    return Success();
  }
  if (answers.stream && !answers.prompt)
    answers.stream(escaped(text));
  prompts.emplace(number, Text{std::move(text), prompt.tokens});
  return generator.add(std::move(prompt));
}

size_t LineGenerator::findStop(std::string_view text) const {
  size_t first = std::string_view::npos;
  for (const std::string &stop : answers.stops)
    first = std::min(first, text.find(stop));
  return first;
}

std::string LineGenerator::decode(const Text &prompt, std::span<const int32_t> continuation) const {
  std::string text = vocabulary.continuation(prompt.tokens, continuation);
  return text.substr(0, findStop(text));
}

bool LineGenerator::watch(uint64_t number, std::span<const int32_t> continuation) {
  if (answers.stops.empty() && !answers.stream)
    return false;
  Text &prompt = prompts.find(number)->second;
  std::string text = vocabulary.continuation(prompt.tokens, continuation);
  size_t stop = findStop(text);
  if (!answers.stream || stop != std::string::npos)
    return stop != std::string::npos; // finish() gives out what is left
  // What may yet become a stop waits, and so does a character of which some bytes are missing.
  size_t sure = text.size();
  for (const std::string &end : answers.stops)
    for (size_t length = std::min(end.size(), text.size()); length > 0; --length)
      if (text.ends_with(std::string_view(end).substr(0, length))) {
        sure = std::min(sure, text.size() - length);
        break;
      }
  constexpr size_t longest = 4;
  for (size_t tail = 1; tail < longest && tail <= sure && !isValidUtf8(std::string_view(text).substr(0, sure)); ++tail)
    if (isValidUtf8(std::string_view(text).substr(0, sure - tail)))
      sure -= tail;
  if (sure > prompt.streamed && isValidUtf8(std::string_view(text).substr(0, sure))) {
    answers.stream(escaped(std::string_view(text).substr(prompt.streamed, sure - prompt.streamed)));
    prompt.streamed = sure;
  }
  return false;
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

void LineGenerator::finish(const Continuation &continuation) {
  auto prompt = prompts.find(continuation.number);
  if (continuation.ending == Ending::Room)
    log(LogLevel::Warning,
        str("line ", continuation.number, " is continued by ", continuation.tokens.size(),
            " tokens only: with them it has the ", generator.maximumLength(), " that the model was compiled for"));
  const Text &text = prompt->second;
  if (answers.ids) {
    std::vector<int32_t> all = text.tokens;
    all.insert(all.end(), continuation.tokens.begin(), continuation.tokens.end());
    lines.finish(continuation.number,
                 answers.json ? record(text, "", continuation.tokens, continuation.ending) : listed(all));
    prompts.erase(prompt);
    return;
  }
  // The last token may end within a character.
  std::string rest = replaceInvalidUtf8(std::string_view(decode(text, continuation.tokens)).substr(text.streamed));
  lines.finish(continuation.number, answers.json ? record(text, rest, continuation.tokens, continuation.ending)
                                    : answers.stream || answers.prompt ? escaped(rest)
                                                                       : escaped(text.text + rest));
  prompts.erase(prompt);
}

Status LineGenerator::step() {
  HEDDLE_ASSIGN(std::vector<Continuation> finished, generator.step());
  for (const Continuation &continuation : finished)
    finish(continuation);
  return Success();
}

} // namespace heddle
