// A straightforward beam search over whole distributions, with no state but lists of tokens: the reference for
// BeamSearch.
#pragma once

#include "runtime/model/BeamSearch.h"
#include "runtime/tokenizers/Tokenizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

namespace heddle::test {

// Returns the log-probability of each token after the given tokens.
using LanguageModel = std::function<std::vector<float>(const std::vector<int32_t> &)>;

inline double referenceScore(double logProbability, size_t length, double alpha) {
  return logProbability / std::pow((5.0 + double(length)) / 6.0, alpha);
}

// Chooses the most probable token each time, until the end mark; nullopt if the end mark does not come within `maximum`
// tokens.
inline std::optional<Hypothesis> referenceGreedy(const LanguageModel &model, double alpha, size_t maximum) {
  Hypothesis result;
  float sum = 0;
  for (size_t length = 1; length <= maximum; ++length) {
    std::vector<float> next = model(result.tokens);
    auto best = std::max_element(next.begin(), next.end());
    sum += *best;
    if (best - next.begin() == kEndId) {
      result.logProbability = sum;
      result.score = referenceScore(sum, length, alpha);
      result.ended = true;
      return result;
    }
    result.tokens.push_back(int32_t(best - next.begin()));
  }
  return std::nullopt;
}

inline std::vector<Hypothesis> referenceBeam(const LanguageModel &model, size_t width, double alpha, size_t maximum) {
  using Scored = std::pair<float, std::vector<int32_t>>;
  auto byScore = [](const Hypothesis &a, const Hypothesis &b) { return a.score > b.score; };
  std::vector<Scored> beam = {{0, {}}};
  std::vector<Hypothesis> complete;
  bool over = false;
  for (size_t length = 1; length <= maximum && !over; ++length) {
    std::vector<std::tuple<float, size_t, int32_t>> all;
    for (size_t i = 0; i < beam.size(); ++i) {
      std::vector<float> next = model(beam[i].second);
      for (size_t token = 0; token < next.size(); ++token)
        all.emplace_back(-(beam[i].first + next[token]), i, int32_t(token));
    }
    std::sort(all.begin(), all.end());
    std::vector<Scored> kept;
    for (auto [negative, parent, token] : all) {
      if (kept.size() == width)
        break;
      if (token == kEndId) {
        complete.push_back({beam[parent].second, -negative, referenceScore(-negative, length, alpha), true});
        continue;
      }
      kept.emplace_back(-negative, beam[parent].second);
      kept.back().second.push_back(token);
    }
    std::stable_sort(complete.begin(), complete.end(), byScore);
    complete.resize(std::min(complete.size(), width));
    over = complete.size() == width && (width == 1 || std::all_of(kept.begin(), kept.end(), [&](const Scored &open) {
                                          return referenceScore(open.first, maximum, alpha) <= complete.back().score;
                                        }));
    beam = kept;
  }
  std::vector<Hypothesis> result = complete;
  if (auto greedy = referenceGreedy(model, alpha, maximum);
      width > 1 && greedy && (complete.empty() || greedy->score > complete.front().score))
    result.insert(result.begin(), *greedy);
  if (!over)
    for (const Scored &open : beam)
      result.push_back({open.second, open.first, referenceScore(open.first, maximum, alpha), false});
  result.resize(std::min(result.size(), width));
  return result;
}

} // namespace heddle::test
