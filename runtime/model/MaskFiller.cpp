#include "runtime/model/MaskFiller.h"

#include "runtime/core/Log.h"
#include "runtime/model/Sampling.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/EncoderInput.h"

#include <algorithm>
#include <cmath>

namespace heddle {

Status MaskFiller::add(std::string_view line) {
  uint64_t number = lines.add();
  LineToFill job{number, replaceInvalidBytes(line, number), {}};
  EncoderInput input = encodeInput(vocabulary, marks, job.text);
  if (input.tokens.size() > longestText())
    warnOfCut(number, "", input.tokens.size(), longestText());
  input.cut(longestText());
  job.tokens = std::move(input.tokens);
  if (std::ranges::find(job.tokens, *vocabulary.maskId()) != job.tokens.end()) {
    waiting.push_back(std::move(job));
    return Success();
  }
  if (!isBlank(line))
    log(LogLevel::Warning, str("line ", number, " has no ", mask, " to fill"));
  lines.finish(number, {number, std::move(job.text), {}});
  return Success();
}

// The best piece at a mask as it continues a text: with "##" in front in a vocabulary of BERT if it continues a word,
// and with a space in front in other vocabularies if it begins one.
std::string MaskFiller::wordOf(std::span<const int32_t> before, std::span<const float> logits) const {
  const std::vector<int32_t> best = mostProbable(logits, 1);
  return hasWords ? vocabulary.piece(best.front()) : vocabulary.continuation(before, best);
}

Result<FilledLine> MaskFiller::answer(const LineToFill &job, size_t index, const PackedSequences &texts,
                                      const HostTensor &logits) const {
  FilledLine line{job.number, job.text, {}};
  size_t place = 0;
  // Some normalizers turn other spellings into the mask. Such a spelling cannot be found in the line.
  size_t spelled = 0, tokens = size_t(std::ranges::count(job.tokens, *vocabulary.maskId()));
  for (size_t at = line.text.find(mask); at != std::string::npos; at = line.text.find(mask, at + mask.size()))
    ++spelled;
  if (spelled < tokens)
    log(LogLevel::Warning,
        str("line ", line.number, " has a mask that is not written ", mask, "; its text stays as it is"));
  for (size_t i = 0; i < job.tokens.size(); ++i) {
    if (job.tokens[i] != *vocabulary.maskId())
      continue;
    auto pieces = size_t(model.vocabularySize);
    std::span<const float> row = logits.values<float>().subspan((size_t(texts.starts[index]) + i) * pieces, pieces);
    HEDDLE_CHECK(checkLogits(row));
    std::vector<FilledLine::Choice> &best = line.masks.emplace_back();
    for (int32_t token : mostProbable(row, size_t(choices)))
      best.push_back({vocabulary.piece(token), std::exp(logProbability(row, token))});

    if (spelled < tokens)
      continue;
    place = line.text.find(mask, place);
    size_t length = mask.size();
    std::string word = wordOf(std::span(job.tokens).first(i), row);
    bool continues = hasWords && word.starts_with(kContinuation), joins = !hasWords || continues;
    if (continues)
      word.erase(0, kContinuation.size());
    for (; joins && place > 0 && line.text[place - 1] == ' '; --place) // the word brings its own space, or has none
      ++length;
    if (place == 0 && word.starts_with(' '))
      word.erase(0, 1);
    line.text.replace(place, length, word);
    place += word.size();
  }
  return line;
}

} // namespace heddle
