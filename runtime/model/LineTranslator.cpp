#include "runtime/model/LineTranslator.h"

#include "runtime/data/Images.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

std::vector<int32_t> LineTranslator::cut(std::vector<int32_t> tokens, uint64_t number, size_t longest,
                                         const char *what) {
  if (tokens.size() > longest) {
    warnOfCut(number, what, tokens.size(), longest);
    tokens.resize(longest);
  }
  return tokens;
}

Status LineTranslator::add(std::string_view line, std::string_view prefix) {
  uint64_t number = lines.add();
  TranslationRequest request{number, {}, {}, {}};
  if (image.pixels() == 0)
    request.source =
        cut(vocabulary.encode(replaceInvalidBytes(line, number)), number, size_t(translator.maximumSourceLength()), "");
  else if (!isBlank(line)) {
    HEDDLE_ASSIGN(request.pixels, readImageLine(line, image, folder, str("line ", number)));
  }
  if (request.source.empty() && request.pixels.empty()) {
    lines.finish(number, {number, {{"", 0}}});
    return Success();
  }
  if (!prefix.empty())
    request.prefix = cut(
        vocabulary.encodeTarget(replaceInvalidBytes(prefix, number)), number,
        size_t(translator.maximumPrefixLength(image.pixels() > 0 ? image.pixels() : int64_t(request.source.size()))),
        "a prefix of ");
  return translator.add(std::move(request));
}

Status LineTranslator::step() {
  HEDDLE_ASSIGN(std::vector<Translation> finished, translator.step());
  for (const Translation &translation : finished) {
    TranslatedLine line{translation.number, {}};
    for (const Hypothesis &hypothesis : translation.best) {
      std::string text = vocabulary.decode(hypothesis.tokens);
      // Some vocabularies have pieces with line breaks, but an answer is one line.
      std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
      line.choices.push_back({std::move(text), hypothesis.score});
    }
    lines.finish(translation.number, std::move(line));
  }
  return Success();
}

Result<std::vector<std::string>> LineTranslator::translate(std::span<const std::string> texts, uint64_t firstNumber) {
  lines = InOrder<TranslatedLine>(firstNumber);
  for (const std::string &text : texts)
    HEDDLE_CHECK(add(text));
  while (busy())
    HEDDLE_CHECK(step());
  std::vector<std::string> result;
  for (TranslatedLine &line : take())
    result.push_back(std::move(line.choices.front().text));
  return result;
}

} // namespace heddle
