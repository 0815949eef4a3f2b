// The search for one sentence's best translations: what the host decides of it, between two steps of the device.
#pragma once

#include "runtime/text/Tokenizer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

// A translation, without marks.
struct Hypothesis {
  std::vector<int32_t> tokens;
  double logProbability = 0; // of all its tokens and, if it has ended, the end mark
  double score = 0;          // the same over the length penalty
  bool ended = false;        // false where the longest length cut it off
};

// A hypothesis of the last step with one more token.
struct Candidate {
  float logProbability; // of the whole
  int32_t parent;       // index among the hypotheses of the last step
  int32_t token;
};

struct SearchOptions {
  int64_t width = 1;          // hypotheses that go on side by side
  double lengthPenalty = 0.6; // alpha, at least 0
  int64_t maximumLength = 0;  // tokens with the end mark, at least 1
  int32_t end = kEndId;       // the mark
};

// lp(Y) = ((5 + |Y|) / 6)^alpha of Wu et al. (2016), by which section 6.1 of "Attention Is All You Need" divides a
// hypothesis' log-probability. `length` counts the end mark.
double lengthPenalty(int64_t length, double alpha);

// Beam search (6.1). Of a step's 2 * width best continuations of all hypotheses, in their order, those with the end
// mark are complete as long as fewer than `width` others precede them; the first `width` others go on. It is over when
// `width` hypotheses are complete and no other can be better than the worst of these, or when `maximumLength` is
// reached. A search of width 1 is greedy: it is over with the first end mark.
//
// Such a search can lose the translation that always takes the most probable token, and end with a worse one. So that
// one is followed to its end too, as a member of the beam as long as it is in it, and beside it from then on. Where it
// is better than all others it is the best; it takes no other's place.
class BeamSearch {
public:
  BeamSearch(const SearchOptions &options, std::span<const int32_t> prefix);

  // Hypotheses that a search of this width has in a step at most.
  static int64_t mostHypotheses(int64_t width) { return width == 1 ? 1 : width + 1; }

  struct Open {
    std::vector<int32_t> tokens;
    float logProbability;
    int32_t parent; // index among the hypotheses of the last step
  };
  // What the next step evaluates: `beamSize()` hypotheses of the beam and perhaps one more.
  std::span<const Open> open() const { return hypotheses; }
  size_t beamSize() const { return beam; }
  // The one that is followed for its own sake; none where it is complete or cannot be the best any more, and none where
  // the beam is its only hypothesis anyway.
  std::optional<size_t> greedy() const { return followed; }
  // The next token, where the prefix says which; open() is then one hypothesis.
  std::optional<int32_t> forced() const;

  // The continuations of the beam's hypotheses and of the followed one alone, the best first: at least 2 * width and 1
  // of them, or as many as there are tokens.
  void advance(std::span<const Candidate> ofBeam, std::span<const Candidate> ofGreedy);
  // In place of advance() where a token is forced: the log-probability of that token.
  void force(float logProbability);

  bool done() const { return hypotheses.empty(); }
  // Once it is done: at most `width`, the best first; complete ones before those that were cut off.
  std::vector<Hypothesis> best() const;

private:
  Hypothesis close(const Candidate &candidate) const;
  Open extend(const Candidate &candidate) const;
  double highestScore(float logProbability) const;
  void dropWhatCannotWin();
  void cutOff();

  SearchOptions options;
  std::vector<int32_t> prefix;
  int64_t length = 0; // of the open hypotheses
  std::vector<Open> hypotheses;
  size_t beam = 1;
  std::optional<size_t> followed;
  std::vector<Hypothesis> complete, cut; // of the beam, the best first, at most `width`
  std::optional<Hypothesis> completeGreedy;
};

} // namespace heddle
