// Runs a decoding step for many hypotheses, with or without a key-value cache.
#pragma once

#include "runtime/model/BeamSearch.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

// The score with which the device pads its list if it has too few candidates.
inline constexpr float kNoCandidate = -std::numeric_limits<float>::max();

// The sentence that a hypothesis translates, or the image that it describes.
struct DecodingSource {
  std::span<const int32_t> tokens; // without the end mark
  int64_t firstRow = 0;            // in the cross-attention caches, which also have a row for the end mark
  std::span<const float> pixels;   // replace the tokens if the model takes images
};

struct DecodingStep {
  struct Hypothesis {
    DecodingSource source;
    std::span<const int32_t> tokens; // generated so far, without the begin mark
    float logProbability = 0;
    int32_t parent = 0;   // index of the hypothesis of the last step that this one continues
    int32_t cacheRow = 0; // cache row for the keys and values of its last token
    int32_t expected = 0; // the token whose log-probability is wanted
  };
  // Consecutive hypotheses that compete with each other. Groups may overlap.
  struct Group {
    int32_t first = 0, count = 0;
  };
  struct Outcome {
    // For each group its best continuations, best first; parents are hypotheses of this step.
    std::vector<std::vector<Candidate>> best;
    std::vector<float> expected; // the log-probability of each hypothesis' expected token
    std::vector<float> logits;   // of each hypothesis; empty unless `wantsLogits`
  };

  std::vector<Hypothesis> hypotheses;
  std::vector<Group> groups;
  bool wantsExpected = false;
  bool wantsLogits = false;
};

class DecodingSteps {
public:
  virtual ~DecodingSteps() = default;

  // Encodes sentences before their first step. Other rows of the caches keep their contents.
  virtual Status encode(std::span<const DecodingSource> sources) = 0;
  virtual Result<DecodingStep::Outcome> run(const DecodingStep &step) = 0;

  // Keeps keys and values in caches; uses the entries `encode` and `beam_step`.
  static std::unique_ptr<DecodingSteps> cached(Engine &engine, const ModelDescription &model);
  // Uses the entry `logits`, which takes only tokens; the host chooses candidates. `width` is the beam's width.
  static std::unique_ptr<DecodingSteps> uncached(Engine &engine, const ModelDescription &model, int64_t width);
};

} // namespace heddle
