#include "runtime/model/LineTranslator.h"

#include "runtime/data/Images.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/PublishedVocabulary.h"

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
  if (!options.ids)
    return vocabulary.encode(replaceInvalidBytes(line, number));
  HEDDLE_ASSIGN(std::vector<int32_t> tokens, readIds(line, number, model.vocabularySize));
  if (model.marks.endsSources && !tokens.empty() && tokens.back() == model.marks.end)
    tokens.pop_back(); // a call adds it
  return tokens;
}

// The mark of a language: the code between underscores, as M2M-100 has it, or an added token that is the code itself.
// Other pieces that are spelled like a code, such as "en", are parts of words.
Result<int32_t> LineTranslator::findLanguage(const std::string &code) {
  auto [known, isNew] = languages.try_emplace(code, -1);
  for (int32_t id = 0; isNew && known->second < 0 && id < vocabulary.pieces(); ++id)
    if (vocabulary.piece(id) == "__" + code + "__")
      known->second = id;
  if (const auto *published = dynamic_cast<const PublishedVocabulary *>(&vocabulary); published && known->second < 0)
    known->second = published->addedToken(code).value_or(-1);
  if (known->second < 0)
    return makeError(ErrorKind::InvalidArgument, "the vocabulary has no token '", code,
                     "' for a language; give codes as the model has them, such as eng_Latn (NLLB), en_XX (mBART) or en "
                     "(M2M-100).");
  return known->second;
}

// The marks before a source: the mark of its language, or else the model's marks, which a line of ids contains itself.
Result<std::vector<int32_t>> LineTranslator::beginOfSource(const std::string &from) {
  if (!from.empty()) {
    HEDDLE_ASSIGN(int32_t mark, findLanguage(from));
    return std::vector<int32_t>{mark};
  }
  return options.ids ? std::vector<int32_t>() : model.marks.sourceBegin;
}

Status LineTranslator::add(std::string_view line, std::string_view prefix) {
  uint64_t number = lines.add();
  TranslationRequest request{number, {}, {}, {}};
  std::string from = options.from, to = options.to;
  if (options.hasLanguageColumns && !isBlank(line))
    for (std::string *code : {&from, &to}) {
      size_t tab = line.find('\t');
      if (tab == std::string_view::npos)
        return makeError(ErrorKind::InvalidArgument, "line ", number,
                         " does not begin with two languages' codes, each with a tab behind it.");
      *code = line.substr(0, tab);
      line.remove_prefix(tab + 1);
    }
  if (image.pixels() == 0) {
    HEDDLE_ASSIGN(std::vector<int32_t> source, readSource(line, number));
    HEDDLE_ASSIGN(std::vector<int32_t> begin, beginOfSource(from));
    int64_t longest = translator.maximumSourceLength() - int64_t(begin.size());
    request.source = cut(std::move(source), number, size_t(std::max<int64_t>(longest, 0)), "");
    if (!request.source.empty())
      request.source.insert(request.source.begin(), begin.begin(), begin.end());
  } else if (!isBlank(line)) {
    HEDDLE_ASSIGN(request.pixels, readImageLine(line, image, folder, str("line ", number)));
  }
  if (request.source.empty() && request.pixels.empty()) {
    lines.finish(number, {number, {{"", 0}}});
    return Success();
  }
  if (!prefix.empty()) {
    int64_t longest =
        translator.maximumPrefixLength(image.pixels() > 0 ? image.pixels() : int64_t(request.source.size())) -
        (to.empty() && !options.begin ? 0 : 1);
    request.prefix = cut(vocabulary.encodeTarget(replaceInvalidBytes(prefix, number)), number,
                         size_t(std::max<int64_t>(longest, 0)), "a prefix of ");
  }
  std::optional<int32_t> mark = options.begin;
  if (!to.empty()) {
    HEDDLE_ASSIGN(mark, findLanguage(to));
  }
  if (mark) {
    request.prefix.insert(request.prefix.begin(), *mark);
    leadingMarks[number] = 1;
  }
  return translator.add(std::move(request));
}

Status LineTranslator::step() {
  HEDDLE_ASSIGN(std::vector<Translation> finished, translator.step());
  for (const Translation &translation : finished) {
    TranslatedLine line{translation.number, {}};
    auto leading = leadingMarks.extract(translation.number);
    size_t marks = leading.empty() ? 0 : leading.mapped();
    for (const Hypothesis &hypothesis : translation.best) {
      std::vector<int32_t> whole = hypothesis.tokens;
      if (options.ids && hypothesis.ended)
        whole.push_back(model.marks.end);
      std::string text =
          options.ids ? showIds(whole) : vocabulary.decode(std::span(whole).subspan(std::min(marks, whole.size())));
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
