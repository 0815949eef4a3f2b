#include "runtime/model/DecodingSteps.h"

#include "runtime/model/CallInputs.h"
#include "runtime/model/Sampling.h"
#include "runtime/model/TokenRules.h"

#include <algorithm>
#include <limits>

namespace heddle {
namespace {

class CachedSteps final : public DecodingSteps {
public:
  CachedSteps(Engine &engine, const ModelDescription &model) : engine(engine), model(model) {}

  Status encode(std::span<const DecodingSource> sources) override {
    Batch batch(model.marks);
    std::vector<int32_t> rows;
    for (const DecodingSource &source : sources) {
      batch.add({.source = model.marks.markSource(source.tokens), .pixels = source.pixels});
      for (int64_t i = 0; i < model.marks.sourceRows(source.tokens.size()); ++i)
        rows.push_back(int32_t(source.firstRow + i));
    }
    CallInputs inputs;
    HEDDLE_CHECK(inputs.addBatch(engine.findEntry("encode"), batch));
    inputs.add("memory_rows", rows);
    return engine.run("encode", inputs);
  }

  Result<DecodingStep::Outcome> run(const DecodingStep &step) override {
    std::vector<int32_t> token, position, parent, cacheRow, cacheLengths, sourceStarts, sourceLengths, expected,
        groupStarts, groupLengths;
    std::vector<float> score;
    for (const DecodingStep::Hypothesis &hypothesis : step.hypotheses) {
      auto length = int32_t(hypothesis.tokens.size());
      token.push_back(length == 0 ? model.marks.begin : hypothesis.tokens.back());
      position.push_back(length);
      parent.push_back(hypothesis.parent);
      cacheRow.push_back(hypothesis.cacheRow);
      cacheLengths.push_back(length + 1);
      sourceStarts.push_back(int32_t(hypothesis.source.firstRow));
      sourceLengths.push_back(int32_t(model.marks.sourceRows(hypothesis.source.tokens.size())));
      score.push_back(hypothesis.logProbability);
      expected.push_back(hypothesis.expected);
    }
    for (const DecodingStep::Group &group : step.groups) {
      groupStarts.push_back(group.first);
      groupLengths.push_back(group.count);
    }
    CallInputs inputs;
    inputs.add("token", token)
        .add("position", position)
        .add("parent", parent)
        .add("cache_row", cacheRow)
        .add("cache_lengths", cacheLengths)
        .add("source_starts", sourceStarts)
        .add("source_lengths", sourceLengths)
        .add("score", std::span<const float>(score))
        .add("expected", expected)
        .add("group_starts", groupStarts)
        .add("group_lengths", groupLengths);
    HEDDLE_CHECK(engine.run("beam_step", inputs));
    return read(step);
  }

private:
  Result<DecodingStep::Outcome> read(const DecodingStep &step) {
    DecodingStep::Outcome outcome;
    HEDDLE_ASSIGN(HostTensor scores, engine.output("best_score"));
    HEDDLE_ASSIGN(HostTensor parents, engine.output("best_parent"));
    HEDDLE_ASSIGN(HostTensor tokens, engine.output("best_token"));
    std::span<const float> score = scores.values<float>();
    std::span<const int32_t> parent = parents.values<int32_t>(), token = tokens.values<int32_t>();
    size_t width = score.size() / std::max<size_t>(step.groups.size(), 1);
    outcome.best.resize(step.groups.size());
    for (size_t i = 0; i < score.size(); ++i)
      if (score[i] > kNoCandidate)
        outcome.best[i / width].push_back({score[i], parent[i], token[i]});
    if (step.wantsExpected) {
      HEDDLE_ASSIGN(HostTensor losses, engine.output("expected_loss"));
      std::span<const float> loss = losses.values<float>();
      for (float value : loss)
        outcome.expected.push_back(-value);
    }
    if (step.wantsLogits) {
      HEDDLE_ASSIGN(HostTensor logits, engine.output("logits"));
      std::span<const float> values = logits.values<float>();
      outcome.logits.assign(values.begin(), values.end());
    }
    return outcome;
  }

  Engine &engine;
  const ModelDescription &model;
};

class UncachedSteps final : public DecodingSteps {
public:
  UncachedSteps(Engine &engine, const ModelDescription &model, int64_t width)
      : engine(engine), model(model), candidates(size_t(2 * width)) {}

  Status encode(std::span<const DecodingSource>) override { return Success(); }

  Result<DecodingStep::Outcome> run(const DecodingStep &step) override {
    DecodingStep::Outcome outcome;
    auto pieces = size_t(model.vocabularySize);
    // Each call takes as many hypotheses as fit.
    for (size_t next = 0; next < step.hypotheses.size();) {
      Batch batch(model.marks);
      for (; next < step.hypotheses.size(); ++next) {
        const DecodingStep::Hypothesis &hypothesis = step.hypotheses[next];
        MarkedPair pair(hypothesis.source.tokens, hypothesis.tokens, hypothesis.source.pixels, model.marks);
        if (batch.tokens() != 0 && !batch.hasRoomFor(pair.example(), model.limits()))
          break;
        batch.add(pair.example());
      }
      CallInputs inputs;
      HEDDLE_CHECK(inputs.addBatch(engine.findEntry("logits"), batch));
      HEDDLE_CHECK(engine.run("logits", inputs));
      HEDDLE_ASSIGN(HostTensor logits, engine.output("logits"));
      std::span<const float> values = logits.values<float>();
      for (size_t i = 0; i < batch.target.starts.size(); ++i) {
        std::span<const float> row =
            values.subspan(size_t(batch.target.starts[i] + batch.target.lengths[i] - 1) * pieces, pieces);
        outcome.logits.insert(outcome.logits.end(), row.begin(), row.end());
        if (model.paddingId) // as the cached entry does
          *(outcome.logits.end() - ptrdiff_t(pieces) + *model.paddingId) = -std::numeric_limits<float>::infinity();
      }
    }
    for (const DecodingStep::Group &group : step.groups)
      outcome.best.push_back(chooseCandidates(step, group, outcome.logits, candidates));
    for (size_t i = 0; i < step.hypotheses.size(); ++i)
      outcome.expected.push_back(
          float(logProbability(std::span(outcome.logits).subspan(i * pieces, pieces), step.hypotheses[i].expected)));
    return outcome;
  }

private:
  Engine &engine;
  const ModelDescription &model;
  size_t candidates;
};

} // namespace

std::unique_ptr<DecodingSteps> DecodingSteps::cached(Engine &engine, const ModelDescription &model) {
  return std::make_unique<CachedSteps>(engine, model);
}

std::unique_ptr<DecodingSteps> DecodingSteps::uncached(Engine &engine, const ModelDescription &model, int64_t width) {
  return std::make_unique<UncachedSteps>(engine, model, width);
}

} // namespace heddle
