// Translates sentences greedily, by beam search or by sampling. Sentences are decoded side by side; a finished sentence
// leaves at once, and a waiting one takes its place.
#pragma once

#include "runtime/model/BeamSearch.h"
#include "runtime/model/CacheRows.h"
#include "runtime/model/DecodingSteps.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/Sampling.h"
#include "runtime/model/TokenRules.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

struct TranslationOptions {
  // The most tokens of a translation; 0: the source's length + 50, as in section 6.1 of "Attention Is All You Need".
  int64_t maximumLength = 0;
  // If false, every step evaluates the whole translation so far through `logits` and the host chooses. That is slow,
  // but an independent check of `encode` and `beam_step`.
  bool cache = true;
  int64_t beam = 1; // 1: greedy
  double lengthPenalty = 0.6;
  BeamRule rule = BeamRule::Paper;
  TokenRules rules;
  bool forcesEnd = false;                  // see SearchOptions
  std::optional<SamplingOptions> sampling; // only with a beam of 1
  // For LineTranslator: lines and translations are token ids; the languages' codes; lines begin with both codes.
  bool ids = false;
  std::string from, to;
  std::optional<int32_t> begin; // the first token of each translation that has no language
  bool hasLanguageColumns = false;
};

struct TranslationRequest {
  uint64_t number = 0; // identifies the request and its random numbers
  std::vector<int32_t> source;
  std::vector<int32_t> prefix; // tokens that the translation starts with
  std::vector<float> pixels;   // an image that replaces the source, if the model takes images
  int64_t beam = 0;            // overrides the options' beam; 0: does not
};

struct Translation {
  uint64_t number = 0;
  std::vector<Hypothesis> best; // 1 to `beam`
};

class Translator {
public:
  Translator(Engine &engine, const ModelDescription &model, TranslationOptions options);

  // Fails if the model does not support the options.
  static Status check(const Engine &engine, const ModelDescription &model, const TranslationOptions &options);

  // The longest source, in tokens without marks, and the longest prefix of its translation.
  int64_t maximumSourceLength() const {
    return std::min(model.maximumLength, model.maximumTokens) - model.marks.sourceMarks();
  }
  int64_t maximumPrefixLength(int64_t sourceLength) const { return maximumLength(sourceLength, options.beam) - 1; }

  // Refuses sources that have neither 1 to maximumSourceLength() tokens nor an image, and prefixes longer than
  // maximumPrefixLength().
  Status add(TranslationRequest request);
  // Cancels an unfinished sentence. Returns false if there is no sentence with this number.
  bool cancel(uint64_t number);
  // The number of sentences added but not finished.
  size_t pending() const { return waiting.size() + jobs.size(); }

  // Admits sentences while there is room, decodes one more token of each sentence in work, and returns the finished
  // ones. After an error nothing is pending: all sentences are lost.
  Result<std::vector<Translation>> step();

  // Translates all of these, and returns them in order. Nothing else may be pending.
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
    size_t firstHypothesis = 0; // index of its first hypothesis in the last step
  };

  // The rows that the source takes in a call, and how many of them are not marks.
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
  Result<std::vector<Translation>> decode(); // step() without the clean-up after an error
  DecodingStep describeStep();
  Status advance(Job &job, std::vector<Candidate> &ofBeam, std::vector<Candidate> &ofGreedy, const DecodingStep &step,
                 const DecodingStep::Outcome &outcome);
  std::vector<int32_t> bannedAfter(std::span<const int32_t> tokens) const;
  void applyRules(const DecodingStep &step, DecodingStep::Group group, size_t count, std::span<const float> logits,
                  std::vector<Candidate> &candidates) const;

  const ModelDescription &model;
  TranslationOptions options;
  std::unique_ptr<DecodingSteps> steps;
  std::multimap<size_t, TranslationRequest> waiting; // by the source's length
  std::list<Job> jobs;                               // in order of arrival
  RowRanges sourceRows;
  std::vector<int32_t> freeRows; // of the self-attention caches
};

} // namespace heddle
