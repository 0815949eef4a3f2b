// Beam search for the best translations of one sentence: the decisions of the host between two steps of the device.
#pragma once

#include "runtime/tokenizers/Tokenizer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

// A translation, without marks.
struct Hypothesis {
  std::vector<int32_t> tokens;
  double logProbability = 0; // of all its tokens, and of the end mark if it has ended
  double score = 0;          // logProbability divided by the length penalty
  bool ended = false;        // false if it was cut off at the maximum length
};

// A hypothesis of the last step with one more token.
struct Candidate {
  float logProbability; // of the whole hypothesis
  int32_t parent;       // index among the hypotheses of the last step
  int32_t token;
};

// Which hypotheses a search keeps, and how it scores them.
enum class BeamRule {
  Paper, // section 6.1 of "Attention Is All You Need", as described at BeamSearch
  // As transformers with early stopping: a score is the log-probability divided by length^alpha. A continuation with
  // the end mark is complete if it is among the `width` best ones, and the search ends when `width` hypotheses are
  // complete. At the maximum length the best continuations are complete without an end mark, too. Forced tokens count
  // towards the length, and not towards the log-probability.
  HuggingFace
};

struct SearchOptions {
  int64_t width = 1;          // number of hypotheses in the beam
  double lengthPenalty = 0.6; // alpha, at least 0
  int64_t maximumLength = 0;  // tokens including the end mark, at least 1
  int32_t end = kEndId;       // the end mark
  BeamRule rule = BeamRule::Paper;
  bool forcesEnd = false; // at the maximum length every hypothesis ends, at no cost; for BeamRule::HuggingFace
};

// lp(Y) = ((5 + |Y|) / 6)^alpha of Wu et al. (2016). Section 6.1 of "Attention Is All You Need" divides a hypothesis'
// log-probability by it. `length` counts the end mark.
double lengthPenalty(int64_t length, double alpha, BeamRule rule = BeamRule::Paper);

// Beam search (6.1). Each step looks at the 2 * width best continuations of all hypotheses, best first. A continuation
// with the end mark is complete if fewer than `width` continuations without it precede it. The first `width`
// continuations without the end mark stay open. The search ends when `width` hypotheses are complete and no open one
// can beat the worst of them, or at `maximumLength`. With a width of 1 the search is greedy: it ends at the first end
// mark.
//
// Beam search can drop the greedy hypothesis, which always takes the most probable token, and end with a worse one. So
// the greedy hypothesis is followed to its end too: as a member of the beam while it is in it, and in addition to the
// beam afterwards. If it beats all others it is the best. It never displaces a hypothesis from the beam.
class BeamSearch {
public:
  BeamSearch(const SearchOptions &options, std::span<const int32_t> prefix);

  // The most hypotheses that a search of this width has in a step.
  static int64_t mostHypotheses(int64_t width) { return width == 1 ? 1 : width + 1; }

  struct Open {
    std::vector<int32_t> tokens;
    float logProbability;
    int32_t parent; // index among the hypotheses of the last step
  };
  // The hypotheses that the next step evaluates: `beamSize()` of the beam and perhaps one more.
  std::span<const Open> open() const { return hypotheses; }
  size_t beamSize() const { return beam; }
  // The index of the greedy hypothesis that is followed. nullopt if it is complete or cannot win any more, and for a
  // width of 1.
  std::optional<size_t> greedy() const { return followed; }
  // The next token if the prefix dictates it; open() then has one hypothesis.
  std::optional<int32_t> forced() const;

  // Takes the continuations of the beam's hypotheses, and those of only the greedy hypothesis, best first: at least 2 *
  // width and 1 of them, or as many as there are tokens.
  void advance(std::span<const Candidate> ofBeam, std::span<const Candidate> ofGreedy);
  // Replaces advance() if a token is forced. Takes that token's log-probability.
  void force(float logProbability);

  bool done() const { return hypotheses.empty(); }
  // The results once the search is done: at most `width`, best first, complete hypotheses before those that were cut
  // off.
  std::vector<Hypothesis> best() const;

private:
  void advanceAsHuggingFace(std::span<const Candidate> ofBeam);
  Hypothesis close(const Candidate &candidate) const;
  Open extend(const Candidate &candidate) const;
  double highestScore(float logProbability) const;
  void dropWhatCannotWin();
  void cutOff();

  SearchOptions options;
  std::vector<int32_t> prefix;
  int64_t length = 0; // length of the open hypotheses
  std::vector<Open> hypotheses;
  size_t beam = 1;
  std::optional<size_t> followed;
  std::vector<Hypothesis> complete, cut; // hypotheses of the beam, best first, at most `width`
  std::optional<Hypothesis> completeGreedy;
};

} // namespace heddle
