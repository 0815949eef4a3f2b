#include "tools/heddle-run/model/LineTranslator.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/text/Utf8.h"

namespace heddle::run {

std::vector<int32_t> LineTranslator::encode(std::string_view line, uint64_t number, size_t longest, const char *what) {
  std::vector<int32_t> tokens;
  if (isValidUtf8(line)) {
    tokens = tokenizer.encode(line);
  } else {
    log(LogLevel::Warning, str("line ", number, " is not UTF-8; its invalid bytes are replaced"));
    tokens = tokenizer.encode(replaceInvalidUtf8(line));
  }
  if (tokens.size() > longest) {
    log(LogLevel::Warning, str("line ", number, " has ", what, tokens.size(), " tokens and is cut to ", longest,
                               ", the most that the model was compiled for"));
    tokens.resize(longest);
  }
  return tokens;
}

void LineTranslator::add(std::string_view line, std::string_view prefix) {
  uint64_t number = firstNumber + added++;
  TranslationRequest request{number, encode(line, number, size_t(translator.maximumSourceLength()), ""), {}};
  if (request.source.empty()) {
    done[number] = {number, {{"", 0}}};
    return;
  }
  if (!prefix.empty())
    request.prefix =
        encode(prefix, number, size_t(translator.maximumPrefixLength(int64_t(request.source.size()))), "a prefix of ");
  translator.add(std::move(request));
}

Status LineTranslator::step() {
  HEDDLE_ASSIGN(std::vector<Translation> finished, translator.step());
  for (const Translation &translation : finished) {
    TranslatedLine &line = done[translation.number];
    line.number = translation.number;
    for (const Hypothesis &hypothesis : translation.best)
      line.choices.push_back({tokenizer.decode(hypothesis.tokens), hypothesis.score});
  }
  return Success();
}

std::vector<TranslatedLine> LineTranslator::take() {
  std::vector<TranslatedLine> lines;
  while (!done.empty() && done.begin()->first == firstNumber + taken) {
    lines.push_back(std::move(done.begin()->second));
    done.erase(done.begin());
    ++taken;
  }
  return lines;
}

Result<std::vector<std::string>> LineTranslator::translate(std::span<const std::string> lines, uint64_t number) {
  firstNumber = number - added;
  for (const std::string &line : lines)
    add(line);
  while (busy())
    HEDDLE_CHECK(step());
  std::vector<std::string> result;
  for (TranslatedLine &line : take())
    result.push_back(std::move(line.choices.front().text));
  return result;
}

} // namespace heddle::run
