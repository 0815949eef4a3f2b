// The score of Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation" (2002). Details follow
// sacreBLEU (Post, "A Call for Clarity in Reporting BLEU Scores", 2018).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// The version in score signatures. Scores follow the definitions of sacreBLEU 2.
inline constexpr const char *kScoreVersion = "heddle.1";

// Splits a line like mteval-v13a, which is sacreBLEU's default tokeniser "13a".
std::vector<std::string> tokenize13a(std::string_view line);

// Corpus BLEU with one reference per line, n-grams up to 4 and "exp" smoothing: sacreBLEU's defaults.
class Bleu {
public:
  static constexpr int kMaximumOrder = 4;

  void add(std::string_view translation, std::string_view reference);

  // 0 to 100. It is 0 if no translation is four tokens long, since there is no 4-gram to count.
  double score() const;
  double brevityPenalty() const;
  // The score as sacreBLEU prints it, with two digits: "BLEU|nrefs:1|... = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ...)".
  std::string describe() const;
  // Returns true if there is at least one n-gram of the highest order.
  bool hasHighestOrder() const { return total[kMaximumOrder - 1] != 0; }

private:
  std::array<double, kMaximumOrder> precisions() const; // percent, smoothed

  std::array<int64_t, kMaximumOrder> correct{}, total{};
  int64_t translationLength = 0, referenceLength = 0;
};

} // namespace heddle
