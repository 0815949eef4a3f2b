// One decoding step of many hypotheses: what goes to the model and what comes back, with a key-value cache or without.
#pragma once

#include "runtime/model/BeamSearch.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

// The sentence that a hypothesis translates, or the image that it describes.
struct DecodingSource {
  std::span<const int32_t> tokens; // without the end mark
  int64_t firstRow = 0;            // of the cross-attention caches, which have a row for the end mark too
  std::span<const float> pixels;   // in the tokens' place, where the model takes images
};

struct DecodingStep {
  struct Hypothesis {
    DecodingSource source;
    std::span<const int32_t> tokens; // so far, without the begin mark
    float logProbability = 0;
    int32_t parent = 0;   // the hypothesis of the last step that it continues
    int32_t cacheRow = 0; // where the keys and values of its last token go
    int32_t expected = 0; // the token whose log-probability is wanted
  };
  // Hypotheses that compete; they are neighbours. Groups may overlap.
  struct Group {
    int32_t first = 0, count = 0;
  };
  struct Outcome {
    // Of each group the best continuations, the best first; parents are hypotheses of this step.
    std::vector<std::vector<Candidate>> best;
    std::vector<float> expected; // the log-probability of each hypothesis' expected token
    std::vector<float> logits;   // of each hypothesis; empty unless they are wanted
  };

  std::vector<Hypothesis> hypotheses;
  std::vector<Group> groups;
  bool wantsExpected = false;
  bool wantsLogits = false;
};

class DecodingSteps {
public:
  virtual ~DecodingSteps() = default;

  // Before the first step of these sentences. What is in the caches' other rows stays.
  virtual Status encode(std::span<const DecodingSource> sources) = 0;
  virtual Result<DecodingStep::Outcome> run(const DecodingStep &step) = 0;

  // With keys and values in caches, by `encode` and `beam_step`.
  static std::unique_ptr<DecodingSteps> cached(Engine &engine, const ModelDescription &model);
  // By the entry `logits`, which knows nothing but tokens; candidates are chosen on the host. `width` is the beam's.
  static std::unique_ptr<DecodingSteps> uncached(Engine &engine, const ModelDescription &model, int64_t width);
};

} // namespace heddle
