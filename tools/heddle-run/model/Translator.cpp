#include "tools/heddle-run/model/Translator.h"

#include "tools/heddle-run/model/CallInputs.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace heddle::run {
namespace {

constexpr int64_t kExtraTokens = 50;

} // namespace

// Each step fills one row and predicts one token; the last token of a translation needs no row any more.
int64_t Translator::rowsFor(const std::vector<int32_t> &sentence) const {
  int64_t tokens = options.maximumLength != 0 ? options.maximumLength : int64_t(sentence.size()) + kExtraTokens;
  return std::min({tokens, model.maximumLength, model.maximumTokens});
}

Result<std::vector<std::vector<int32_t>>> Translator::translate(std::span<const std::vector<int32_t>> sentences) {
  // Sentences of like length end at about the same step.
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sentences[a].size() > sentences[b].size(); });

  std::vector<std::vector<int32_t>> translations(sentences.size());
  for (size_t next = 0; next < order.size();) {
    std::vector<Slot> slots;
    int64_t rows = 0, sourceTokens = 0;
    for (; next < order.size() && int64_t(slots.size()) < model.maximumSequences; ++next) {
      const std::vector<int32_t> &sentence = sentences[order[next]];
      int64_t moreRows = rowsFor(sentence), moreTokens = int64_t(sentence.size()) + 1;
      if (!slots.empty() && (rows + moreRows > model.maximumTokens || sourceTokens + moreTokens > model.maximumTokens))
        break;
      slots.push_back({order[next], rows, moreRows, slots.size()});
      rows += moreRows;
      sourceTokens += moreTokens;
    }
    HEDDLE_CHECK(translateGroup(sentences, slots, translations));
  }
  return translations;
}

Status Translator::translateGroup(std::span<const std::vector<int32_t>> sentences, std::span<const Slot> slots,
                                  std::vector<std::vector<int32_t>> &translations) {
  SourceBatch sources(model.marks);
  for (const Slot &slot : slots)
    sources.add(sentences[slot.sentence]);
  if (options.cache) {
    CallInputs inputs;
    inputs.addSource(sources);
    HEDDLE_CHECK(engine.run("encode", inputs));
  }
  std::vector<Slot> active(slots.begin(), slots.end());
  while (!active.empty()) {
    HEDDLE_ASSIGN(std::vector<int32_t> next, options.cache ? stepWithCache(active, sources, translations)
                                                           : stepWithoutCache(active, sentences, translations));
    std::vector<Slot> going;
    for (size_t i = 0; i < active.size(); ++i) {
      std::vector<int32_t> &translation = translations[active[i].sentence];
      if (next[i] == model.marks.end)
        continue;
      translation.push_back(next[i]);
      if (int64_t(translation.size()) < active[i].rows)
        going.push_back(active[i]);
    }
    active = std::move(going);
  }
  return Success();
}

Result<std::vector<int32_t>> Translator::stepWithCache(std::span<const Slot> active, const SourceBatch &sources,
                                                       std::span<const std::vector<int32_t>> translations) {
  std::vector<int32_t> token, position, queryStarts, queryLengths, cacheRows, cacheStarts, cacheLengths, sourceStarts,
      sourceLengths;
  for (const Slot &slot : active) {
    const std::vector<int32_t> &translation = translations[slot.sentence];
    int32_t at = int32_t(translation.size());
    token.push_back(translation.empty() ? model.marks.begin : translation.back());
    position.push_back(at);
    queryStarts.push_back(int32_t(queryStarts.size()));
    queryLengths.push_back(1);
    cacheRows.push_back(int32_t(slot.firstRow) + at);
    cacheStarts.push_back(int32_t(slot.firstRow));
    cacheLengths.push_back(at + 1);
    sourceStarts.push_back(sources.layout.starts[slot.place]);
    sourceLengths.push_back(sources.layout.lengths[slot.place]);
  }
  CallInputs inputs;
  inputs.add("token", token)
      .add("position", position)
      .add("query_starts", queryStarts)
      .add("query_lengths", queryLengths)
      .add("cache_rows", cacheRows)
      .add("cache_starts", cacheStarts)
      .add("cache_lengths", cacheLengths)
      .add("source_starts", sourceStarts)
      .add("source_lengths", sourceLengths);
  HEDDLE_CHECK(engine.run("decode_step", inputs));
  HEDDLE_ASSIGN(HostTensor next, engine.output("next_token"));
  std::span<const int32_t> ids = next.values<int32_t>();
  return std::vector<int32_t>(ids.begin(), ids.end());
}

Result<std::vector<int32_t>> Translator::stepWithoutCache(std::span<const Slot> active,
                                                          std::span<const std::vector<int32_t>> sentences,
                                                          std::span<const std::vector<int32_t>> translations) {
  Batch batch(model.marks);
  for (const Slot &slot : active)
    batch.add(sentences[slot.sentence], translations[slot.sentence]);
  CallInputs inputs;
  inputs.addBatch(batch);
  HEDDLE_CHECK(engine.run("logits", inputs));
  HEDDLE_ASSIGN(HostTensor logits, engine.output("logits"));
  std::span<float> values = logits.values<float>();
  size_t pieces = size_t(model.vocabularySize);
  std::vector<int32_t> next;
  for (size_t i = 0; i < active.size(); ++i) {
    size_t lastRow = size_t(batch.target.starts[i] + batch.target.lengths[i] - 1);
    std::span<float> row = values.subspan(lastRow * pieces, pieces);
    if (model.paddingId >= 0)
      row[size_t(model.paddingId)] = -std::numeric_limits<float>::infinity();
    next.push_back(int32_t(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return next;
}

} // namespace heddle::run
