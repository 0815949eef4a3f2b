#include "tools/heddle-run/model/LineTranslator.h"

#include <algorithm>

namespace heddle::run {

std::vector<int32_t> LineTranslator::cut(std::vector<int32_t> tokens, uint64_t number, size_t longest,
                                         const char *what) {
  if (tokens.size() > longest) {
    warnOfCut(number, what, tokens.size(), longest);
    tokens.resize(longest);
  }
  return tokens;
}

void LineTranslator::add(std::string_view line, std::string_view prefix) {
  uint64_t number = lines.add();
  std::vector<int32_t> source = vocabulary.encode(replaceInvalidBytes(line, number));
  TranslationRequest request{number, cut(std::move(source), number, size_t(translator.maximumSourceLength()), ""), {}};
  if (request.source.empty()) {
    lines.finish(number, {number, {{"", 0}}});
    return;
  }
  if (!prefix.empty())
    request.prefix = cut(vocabulary.encodeTarget(replaceInvalidBytes(prefix, number)), number,
                         size_t(translator.maximumPrefixLength(int64_t(request.source.size()))), "a prefix of ");
  translator.add(std::move(request));
}

Status LineTranslator::step() {
  HEDDLE_ASSIGN(std::vector<Translation> finished, translator.step());
  for (const Translation &translation : finished) {
    TranslatedLine line{translation.number, {}};
    for (const Hypothesis &hypothesis : translation.best) {
      std::string text = vocabulary.decode(hypothesis.tokens);
      // A line's end is a piece of some vocabularies, and an answer is a line.
      std::ranges::replace_if(
          text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
      line.choices.push_back({std::move(text), hypothesis.score});
    }
    lines.finish(line.number, std::move(line));
  }
  return Success();
}

Result<std::vector<std::string>> LineTranslator::translate(std::span<const std::string> texts, uint64_t firstNumber) {
  lines = InOrder<TranslatedLine>(firstNumber);
  for (const std::string &text : texts)
    add(text);
  while (busy())
    HEDDLE_CHECK(step());
  std::vector<std::string> result;
  for (TranslatedLine &line : take())
    result.push_back(std::move(line.choices.front().text));
  return result;
}

} // namespace heddle::run
