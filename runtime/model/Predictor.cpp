#include "runtime/model/Predictor.h"

#include "runtime/model/Sampling.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cmath>

namespace heddle {

Result<PredictableLine> readPredictable(std::string_view line, bool isRecord, uint64_t number,
                                        const ModelDescription &model, const TextCodec &vocabulary) {
  if (isBlank(line))
    return PredictableLine();
  Labelling kind = model.labelling();
  std::string origin = str("line ", number);
  HEDDLE_ASSIGN(Record record, isRecord ? Record::parse(line, origin, kind, /*wantsLabels=*/false)
                                        : Record::ofLine(replaceInvalidBytes(line, number), origin, kind));
  HEDDLE_ASSIGN(EncodedRecord text, encodeRecord(record, kind, vocabulary, model.marks, origin));
  auto longest = size_t(std::min(model.maximumLength, model.maximumTokens));
  if (text.tokens.size() > longest)
    warnOfCut(number, isOfPairs(kind) ? "a left text of " : "", text.tokens.size(), longest);
  if (text.right.size() > longest)
    warnOfCut(number, "a right text of ", text.right.size(), longest);
  text.cut(longest, model.marks);
  return PredictableLine(std::move(text));
}

void Predictor::add(PredictableLine line) {
  uint64_t number = lines.add();
  if (line)
    waiting.push_back({number, std::move(*line)});
  else
    lines.finish(number, {});
}

Status Predictor::add(std::string_view line, bool isRecord) {
  HEDDLE_ASSIGN(PredictableLine read, readPredictable(line, isRecord, lines.nextNumber(), model, vocabulary));
  add(std::move(read));
  return Success();
}

Result<PredictedLabel> Predictor::choose(std::span<const float> logits) const {
  HEDDLE_CHECK(checkLogits(logits));
  auto known = logits.first(std::min(logits.size(), vocabulary.labels().size()));
  auto best = std::ranges::max_element(known) - known.begin();
  return PredictedLabel{vocabulary.labels()[size_t(best)], std::exp(logProbability(known, int32_t(best)))};
}

Result<PredictedLine> Predictor::answer(const LineToPredict &line, size_t index, const PackedSequences &texts,
                                        const HostTensor &output) const {
  std::span<const float> logits = output.values<float>();
  auto classes = size_t(model.classes);
  auto row = [&](size_t place) { return logits.subspan(place * classes, classes); };
  PredictedLine predicted;
  if (model.labelling() == Labelling::Grades || (model.labelling() == Labelling::Texts && classes == 1)) {
    HEDDLE_CHECK(checkLogits(logits.subspan(index, 1)));
    predicted.grade = logits[index];
  } else if (model.labelling() == Labelling::Texts || model.labelling() == Labelling::Pairs) {
    HEDDLE_ASSIGN(predicted.labels.emplace_back(), choose(row(index)));
  }
  for (int32_t start : line.text.wordStarts) {
    PredictedLabel label{"?"};
    if (size_t(start) + 1 < line.text.tokens.size()) { // before the end mark
      HEDDLE_ASSIGN(label, choose(row(size_t(texts.starts[index] + start))));
    }
    predicted.labels.push_back(std::move(label));
  }
  return predicted;
}

} // namespace heddle
