#include "runtime/model/Predictor.h"

#include "runtime/core/Span.h"
#include "runtime/model/CallInputs.h"
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

Status Predictor::step() {
  std::vector<Job> jobs;
  Batch batch(model.marks);
  for (; !waiting.empty() && batch.hasRoomFor(waiting.front().text.example(), model.limits()); waiting.pop_front()) {
    batch.add(waiting.front().text.example());
    jobs.push_back(std::move(waiting.front()));
  }
  if (jobs.empty())
    return Success();
  Span span("predict labels");
  span.with("lines", int64_t(jobs.size()));
  CallInputs inputs;
  HEDDLE_CHECK(inputs.addBatch(engine.findEntry("logits"), batch));
  HEDDLE_CHECK(engine.run("logits", inputs));
  HEDDLE_ASSIGN(HostTensor logits, engine.output("logits"));
  auto classes = size_t(model.classes);
  auto row = [&](size_t place) { return logits.values<float>().subspan(place * classes, classes); };
  for (size_t i = 0; i < jobs.size(); ++i) {
    PredictedLine line;
    if (model.labelling() == Labelling::Grades || (model.labelling() == Labelling::Texts && classes == 1)) {
      HEDDLE_CHECK(checkLogits(logits.values<float>().subspan(i, 1)));
      line.grade = logits.values<float>()[i];
    } else if (model.labelling() == Labelling::Texts || model.labelling() == Labelling::Pairs) {
      HEDDLE_ASSIGN(line.labels.emplace_back(), choose(row(i)));
    }
    for (int32_t start : jobs[i].text.wordStarts) {
      PredictedLabel label{"?"};
      if (size_t(start) + 1 < jobs[i].text.tokens.size()) { // before the end mark
        HEDDLE_ASSIGN(label, choose(row(size_t(batch.source.layout.starts[i] + start))));
      }
      line.labels.push_back(std::move(label));
    }
    lines.finish(jobs[i].number, std::move(line));
  }
  return Success();
}

} // namespace heddle
