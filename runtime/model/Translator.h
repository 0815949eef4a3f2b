// Translates sentences that come and go: greedily, by beam search or by sampling. Sentences are decoded side by side;
// one that is finished leaves at once, and its place goes to one that waits.
#pragma once

#include "runtime/model/BeamSearch.h"
#include "runtime/model/CacheRows.h"
#include "runtime/model/DecodingSteps.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/Sampling.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

struct TranslationOptions {
  // Tokens of a translation at most; 0: the source's and 50, as in section 6.1 of "Attention Is All You Need".
  int64_t maximumLength = 0;
  // Without the key-value cache every step evaluates all of the translation so far through `logits` and chooses on the
  // host: slow, and an independent check of `encode` and `beam_step`.
  bool cache = true;
  int64_t beam = 1; // 1 is greedy
  double lengthPenalty = 0.6;
  std::optional<SamplingOptions> sampling; // with a beam of 1
};

struct TranslationRequest {
  uint64_t number = 0; // names it, and its random numbers
  std::vector<int32_t> source;
  std::vector<int32_t> prefix; // tokens that the translation begins with
  std::vector<float> pixels;   // of an image in the source's place, where the model takes images
  int64_t beam = 0;            // in place of the options'; 0: theirs
};

struct Translation {
  uint64_t number = 0;
  std::vector<Hypothesis> best; // 1 to `beam`
};

class Translator {
public:
  Translator(Engine &engine, const ModelDescription &model, TranslationOptions options);

  // Fails where the model cannot do what the options ask for.
  static Status check(const Engine &engine, const ModelDescription &model, const TranslationOptions &options);

  // The longest source, in tokens without marks, and the longest prefix of its translation.
  int64_t maximumSourceLength() const {
    return std::min(model.maximumLength, model.maximumTokens) - model.marks.sourceMarks();
  }
  int64_t maximumPrefixLength(int64_t sourceLength) const { return maximumLength(sourceLength, options.beam) - 1; }

  // Sources have 1 to maximumSourceLength() tokens or an image, prefixes at most maximumPrefixLength(): others are
  // refused.
  Status add(TranslationRequest request);
  // Gives up a sentence that is not finished. False if there is none of this number.
  bool cancel(uint64_t number);
  // Added and not yet finished.
  size_t pending() const { return waiting.size() + jobs.size(); }

  // Takes in what there is room for, decodes one more token of each sentence in work and returns those that are
  // finished. After an error nothing is pending: all that was added is lost.
  Result<std::vector<Translation>> step();

  // All of these, in their order; nothing else may be pending.
  Result<std::vector<Translation>> translate(std::span<const std::vector<int32_t>> sentences);
  Result<std::vector<Translation>> translate(std::vector<TranslationRequest> requests);

private:
  // A sentence in work.
  struct Job {
    TranslationRequest request;
    BeamSearch search;
    int64_t sourceRow = 0;          // the first of its rows in the cross-attention caches
    std::vector<int32_t> cacheRows; // its rows in the self-attention caches
    int64_t expectedRows = 0;
    size_t firstHypothesis = 0; // of its hypotheses in the last step
  };

  // Rows of a call that the source takes, and how many of them are no marks.
  int64_t rowsOf(const TranslationRequest &request) const { return model.marks.sourceRows(request.source.size()); }
  int64_t lengthOf(const TranslationRequest &request) const { return rowsOf(request) - model.marks.sourceMarks(); }
  int64_t beamOf(const TranslationRequest &request) const { return request.beam != 0 ? request.beam : options.beam; }
  int64_t maximumLength(int64_t sourceLength, int64_t beam) const;
  int64_t expectedRows(const TranslationRequest &request) const;
  Status checkLengths(const TranslationRequest &request) const;
  void queue(TranslationRequest request);
  std::optional<Job> makeRoom(TranslationRequest &request, int64_t promisedRows);
  Status admit();
  void takeCacheRows();
  void release(Job &job);
  Result<std::vector<Translation>> decode(); // step(), without what an error asks for
  DecodingStep describeStep();
  Status advance(Job &job, std::vector<Candidate> &ofBeam, std::vector<Candidate> &ofGreedy,
                 const DecodingStep::Outcome &outcome);

  const ModelDescription &model;
  TranslationOptions options;
  std::unique_ptr<DecodingSteps> steps;
  std::multimap<size_t, TranslationRequest> waiting; // by the source's length
  std::list<Job> jobs;                               // in the order in which they came
  RowRanges sourceRows;
  std::vector<int32_t> freeRows; // of the self-attention caches
};

} // namespace heddle
