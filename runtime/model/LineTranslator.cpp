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

Result<std::vector<int32_t>> LineTranslator::readSource(std::string_view line, uint64_t number) const {
  if (!ids)
    return vocabulary.encode(replaceInvalidBytes(line, number));
  HEDDLE_ASSIGN(std::vector<int32_t> tokens, readIds(line, number, model.vocabularySize));
  if (model.marks.endsSources && !tokens.empty() && tokens.back() == model.marks.end)
    tokens.pop_back(); // a call adds it
  return tokens;
}

Status LineTranslator::add(std::string_view line, std::string_view prefix) {
  uint64_t number = lines.add();
  TranslationRequest request{number, {}, {}, {}};
  if (image.pixels() == 0) {
    HEDDLE_ASSIGN(std::vector<int32_t> source, readSource(line, number));
    request.source = cut(std::move(source), number, size_t(translator.maximumSourceLength()), "");
  } else if (!isBlank(line)) {
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
      std::vector<int32_t> whole = hypothesis.tokens;
      if (ids && hypothesis.ended)
        whole.push_back(model.marks.end);
      std::string text = ids ? showIds(whole) : vocabulary.decode(hypothesis.tokens);
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
