#include "runtime/model/MaskFiller.h"

#include "runtime/core/Log.h"
#include "runtime/core/Span.h"
#include "runtime/model/CallInputs.h"
#include "runtime/model/Sampling.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cmath>

namespace heddle {

void MaskFiller::add(std::string_view line) {
  uint64_t number = lines.add();
  Job job{number, replaceInvalidBytes(line, number), {}};
  job.tokens = vocabulary.encode(job.text);
  if (auto longest = size_t(std::min(model.maximumLength, model.maximumTokens)); job.tokens.size() > longest) {
    warnOfCut(number, "", job.tokens.size(), longest);
    job.tokens.resize(longest);
    job.tokens.back() = vocabulary.separatorId();
  }
  if (std::ranges::find(job.tokens, vocabulary.maskId()) != job.tokens.end()) {
    waiting.push_back(std::move(job));
    return;
  }
  if (!isBlank(line))
    log(LogLevel::Warning, str("line ", number, " has no ", kMask, " to fill"));
  lines.finish(number, {number, std::move(job.text), {}});
}

Status MaskFiller::step() {
  Batch batch(model.marks);
  std::vector<Job> jobs = takeSources(waiting, model.limits(), batch);
  if (jobs.empty())
    return Success();
  Span span("fill masks");
  span.with("lines", int64_t(jobs.size()));
  CallInputs inputs;
  HEDDLE_CHECK(inputs.addBatch(engine.findEntry("logits"), batch));
  HEDDLE_CHECK(engine.run("logits", inputs));
  HEDDLE_ASSIGN(HostTensor logits, engine.output("logits"));
  auto pieces = size_t(model.vocabularySize);
  for (size_t i = 0; i < jobs.size(); ++i) {
    std::span<const float> rows = logits.values<float>().subspan(size_t(batch.source.layout.starts[i]) * pieces);
    HEDDLE_ASSIGN(FilledLine line, fill(jobs[i], rows));
    lines.finish(jobs[i].number, std::move(line));
  }
  return Success();
}

Result<FilledLine> MaskFiller::fill(const Job &job, std::span<const float> logits) const {
  FilledLine line{job.number, job.text, {}};
  size_t place = 0;
  for (size_t i = 0; i < job.tokens.size(); ++i) {
    if (job.tokens[i] != vocabulary.maskId())
      continue;
    auto pieces = size_t(model.vocabularySize);
    std::span<const float> row = logits.subspan(i * pieces, pieces);
    HEDDLE_CHECK(checkLogits(row));
    std::vector<FilledLine::Choice> &best = line.masks.emplace_back();
    for (int32_t token : mostProbable(row, size_t(choices)))
      best.push_back({vocabulary.piece(token), std::exp(logProbability(row, token))});

    place = line.text.find(kMask, place);
    std::string_view piece = best.front().piece;
    size_t length = kMask.size();
    if (piece.starts_with(kContinuation)) { // a continuation joins the previous word
      piece.remove_prefix(kContinuation.size());
      for (; place > 0 && line.text[place - 1] == ' '; --place)
        ++length;
    }
    line.text.replace(place, length, piece);
    place += piece.size();
  }
  return line;
}

} // namespace heddle
