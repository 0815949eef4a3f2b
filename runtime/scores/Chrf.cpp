#include "runtime/scores/Chrf.h"

#include "runtime/scores/Bleu.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace heddle {
namespace {

std::u32string withoutWhiteSpace(std::string_view line) {
  std::string kept;
  while (!line.empty()) {
    size_t bytes = whiteSpaceBytes(line);
    if (bytes == 0)
      kept += line[0];
    line.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return codePoints(kept);
}

} // namespace

void Chrf::add(std::string_view translation, std::string_view reference) {
  std::u32string translated = withoutWhiteSpace(translation), expected = withoutWhiteSpace(reference);
  std::unordered_map<std::u32string_view, int64_t> left; // n-grams of the reference that were not matched yet
  for (size_t order = 1; order <= kMaximumOrder; ++order) {
    left.clear();
    for (size_t i = 0; i + order <= expected.size(); ++i)
      ++left[std::u32string_view(expected).substr(i, order)];
    // If the reference is too short for an order, the sentence does not count for that order's precision.
    if (left.empty())
      continue;
    theirs[order - 1] += int64_t(expected.size() - order + 1);
    for (size_t i = 0; i + order <= translated.size(); ++i) {
      ++ours[order - 1];
      if (auto found = left.find(std::u32string_view(translated).substr(i, order));
          found != left.end() && found->second > 0) {
        --found->second;
        ++common[order - 1];
      }
    }
  }
}

double Chrf::score() const {
  double precision = 0, recall = 0;
  int orders = 0; // orders that both sides have
  for (int i = 0; i < kMaximumOrder; ++i) {
    if (ours[i] == 0 || theirs[i] == 0)
      continue;
    precision += double(common[i]) / double(ours[i]);
    recall += double(common[i]) / double(theirs[i]);
    ++orders;
  }
  if (precision + recall == 0)
    return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + kBeta * kBeta) * precision * recall / (kBeta * kBeta * precision + recall);
}

std::string Chrf::describe() const {
  char text[120];
  std::snprintf(text, sizeof text, "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:%s = %.2f",
                kScoreVersion, score());
  return text;
}

} // namespace heddle
