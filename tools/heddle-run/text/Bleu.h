#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

// Splits a line as mteval-v13a does, which is sacreBLEU's default tokeniser "13a".
std::vector<std::string> tokenize13a(std::string_view line);

// Corpus BLEU with one reference a line, n-grams up to 4 and "exp" smoothing: sacreBLEU's defaults.
class Bleu {
public:
  static constexpr int kMaximumOrder = 4;

  void add(std::string_view translation, std::string_view reference);

  // 0 to 100. It is 0 where no translation is four tokens long, as there is no 4-gram to count.
  double score() const;
  double brevityPenalty() const;
  // Whether an n-gram of the highest order could be counted at all.
  bool hasHighestOrder() const { return total[kMaximumOrder - 1] != 0; }

private:
  std::array<int64_t, kMaximumOrder> correct{}, total{};
  int64_t translationLength = 0, referenceLength = 0;
};

} // namespace heddle::run
