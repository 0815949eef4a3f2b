#include "runtime/model/BeamSearch.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

// Inserts after hypotheses with an equal score, and keeps the best `limit`.
void insertByScore(std::vector<Hypothesis> &sorted, Hypothesis hypothesis, size_t limit) {
  auto place = std::upper_bound(sorted.begin(), sorted.end(), hypothesis,
                                [](const Hypothesis &a, const Hypothesis &b) { return a.score > b.score; });
  sorted.insert(place, std::move(hypothesis));
  if (sorted.size() > limit)
    sorted.pop_back();
}

} // namespace

double lengthPenalty(int64_t length, double alpha, BeamRule rule) {
  return std::pow(rule == BeamRule::HuggingFace ? double(length) : (5 + double(length)) / 6, alpha);
}

BeamSearch::BeamSearch(const SearchOptions &options, std::span<const int32_t> prefix)
    : options(options), prefix(prefix.begin(), prefix.end()), hypotheses{{{}, 0, 0}} {
  if (options.width > 1 && options.rule == BeamRule::Paper)
    followed = 0;
}

std::optional<int32_t> BeamSearch::forced() const {
  return size_t(length) < prefix.size() ? std::optional(prefix[size_t(length)]) : std::nullopt;
}

// The candidate's token is the end mark.
Hypothesis BeamSearch::close(const Candidate &candidate) const {
  double score = candidate.logProbability / heddle::lengthPenalty(length + 1, options.lengthPenalty, options.rule);
  return {hypotheses[size_t(candidate.parent)].tokens, candidate.logProbability, score, true};
}

BeamSearch::Open BeamSearch::extend(const Candidate &candidate) const {
  Open result{hypotheses[size_t(candidate.parent)].tokens, candidate.logProbability, candidate.parent};
  result.tokens.push_back(candidate.token);
  return result;
}

void BeamSearch::advanceAsHuggingFace(std::span<const Candidate> ofBeam) {
  bool isLast = length + 1 == options.maximumLength;
  std::vector<Candidate> candidates(ofBeam.begin(), ofBeam.end());
  if (isLast && options.forcesEnd) {
    candidates.clear();
    for (const Open &hypothesis : hypotheses)
      candidates.push_back({hypothesis.logProbability, int32_t(candidates.size()), options.end});
  }
  std::vector<Open> next;
  auto width = size_t(options.width);
  for (size_t i = 0; i < candidates.size() && next.size() < width; ++i) {
    const Candidate &candidate = candidates[i];
    bool hasEnd = candidate.token == options.end;
    if (!hasEnd && !isLast) {
      next.push_back(extend(candidate));
    } else if (i < width) {
      Hypothesis closed = close(candidate);
      closed.ended = hasEnd;
      if (!hasEnd)
        closed.tokens.push_back(candidate.token);
      insertByScore(complete, std::move(closed), width);
    }
  }
  if (complete.size() == width || isLast)
    next.clear();
  hypotheses = std::move(next);
  beam = hypotheses.size();
  ++length;
}

void BeamSearch::advance(std::span<const Candidate> ofBeam, std::span<const Candidate> ofGreedy) {
  if (options.rule == BeamRule::HuggingFace)
    return advanceAsHuggingFace(ofBeam);
  std::vector<Open> next;
  std::optional<size_t> nextFollowed;
  const Candidate *greedy = followed ? &ofGreedy.front() : nullptr;
  for (const Candidate &candidate : ofBeam) {
    if (next.size() == size_t(options.width))
      break;
    if (candidate.token == options.end) {
      insertByScore(complete, close(candidate), size_t(options.width));
      continue;
    }
    if (greedy && candidate.parent == greedy->parent && candidate.token == greedy->token)
      nextFollowed = next.size();
    next.push_back(extend(candidate));
  }
  size_t nextBeam = next.size();
  if (greedy && greedy->token == options.end) {
    completeGreedy = close(*greedy);
  } else if (greedy && !nextFollowed) {
    nextFollowed = next.size();
    next.push_back(extend(*greedy));
  }
  hypotheses = std::move(next);
  beam = nextBeam;
  followed = nextFollowed;
  ++length;
  dropWhatCannotWin();
  cutOff();
}

void BeamSearch::force(float logProbability) {
  if (options.rule == BeamRule::HuggingFace)
    logProbability = 0;
  hypotheses = {extend({hypotheses[0].logProbability + logProbability, 0, prefix[size_t(length)]})};
  ++length;
  cutOff();
}

// An upper bound of the final score: every further token lowers the log-probability, and the length penalty is largest
// at the maximum length.
double BeamSearch::highestScore(float logProbability) const {
  return double(logProbability) / heddle::lengthPenalty(options.maximumLength, options.lengthPenalty);
}

void BeamSearch::dropWhatCannotWin() {
  auto canReach = [&](const Open &hypothesis, double score) { return highestScore(hypothesis.logProbability) > score; };
  bool beamIsOver = complete.size() == size_t(options.width) &&
                    (options.width == 1 ||
                     std::none_of(hypotheses.begin(), hypotheses.begin() + ptrdiff_t(beam),
                                  [&](const Open &hypothesis) { return canReach(hypothesis, complete.back().score); }));
  bool keepFollowed = followed && (complete.empty() || canReach(hypotheses[*followed], complete.front().score));
  if (!beamIsOver) {
    if (followed && !keepFollowed && *followed == beam)
      hypotheses.pop_back();
    if (!keepFollowed)
      followed.reset();
    return;
  }
  std::vector<Open> rest;
  if (keepFollowed)
    rest.push_back(std::move(hypotheses[*followed]));
  hypotheses = std::move(rest);
  beam = 0;
  followed = keepFollowed ? std::optional<size_t>(0) : std::nullopt;
}

void BeamSearch::cutOff() {
  if (length < options.maximumLength)
    return;
  for (Open &open : std::span(hypotheses).first(beam)) {
    double score = open.logProbability / heddle::lengthPenalty(length, options.lengthPenalty, options.rule);
    insertByScore(cut, {std::move(open.tokens), open.logProbability, score, false}, size_t(options.width));
  }
  hypotheses.clear();
  beam = 0;
  followed.reset();
}

std::vector<Hypothesis> BeamSearch::best() const {
  std::vector<Hypothesis> result = complete;
  if (completeGreedy && (complete.empty() || completeGreedy->score > complete.front().score)) {
    result.insert(result.begin(), *completeGreedy);
    result.resize(std::min(result.size(), size_t(options.width)));
  }
  for (const Hypothesis &hypothesis : cut)
    if (result.size() < size_t(options.width))
      result.push_back(hypothesis);
  return result;
}

} // namespace heddle
