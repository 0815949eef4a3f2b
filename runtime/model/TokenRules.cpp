#include "runtime/model/TokenRules.h"

#include "runtime/model/Sampling.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace heddle {

std::vector<int32_t> TokenRules::banned(int32_t begin, std::span<const int32_t> tokens, int32_t end) const {
  std::vector<int32_t> result;
  if (int64_t(tokens.size()) < minimumLength)
    result.push_back(end);
  std::vector<int32_t> all{begin};
  all.insert(all.end(), tokens.begin(), tokens.end());
  if (noRepeat < 1 || int64_t(all.size()) < noRepeat)
    return result;
  // The tokens that followed the last noRepeat - 1 ones wherever these occurred before.
  auto known = size_t(noRepeat) - 1;
  std::span<const int32_t> last = std::span(all).last(known);
  for (size_t i = 0; i + known < all.size(); ++i)
    if (std::ranges::equal(std::span(all).subspan(i, known), last))
      result.push_back(all[i + known]);
  return result;
}

std::vector<Candidate> chooseCandidates(const DecodingStep &step, const DecodingStep::Group &group,
                                        std::span<const float> logits, size_t count,
                                        std::span<const std::vector<int32_t>> banned) {
  size_t pieces = logits.size() / step.hypotheses.size();
  std::vector<Candidate> all;
  for (int32_t i = 0; i < group.count; ++i) {
    int32_t parent = group.first + i;
    std::span<const float> row = logits.subspan(size_t(parent) * pieces, pieces);
    auto likeliest = size_t(std::ranges::max_element(row) - row.begin());
    float before = step.hypotheses[size_t(parent)].logProbability + float(logProbability(row, int32_t(likeliest))) -
                   row[likeliest];
    for (size_t token = 0; token < pieces; ++token) {
      bool mayFollow =
          banned.empty() || std::ranges::find(banned[size_t(i)], int32_t(token)) == banned[size_t(i)].end();
      if (float score = row[token] + before; score > kNoCandidate && mayFollow)
        all.push_back({score, parent, int32_t(token)});
    }
  }
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + ptrdiff_t(count), all.end(), [](const Candidate &a, const Candidate &b) {
    return std::tuple(-a.logProbability, a.parent, a.token) < std::tuple(-b.logProbability, b.parent, b.token);
  });
  all.resize(count);
  return all;
}

} // namespace heddle
