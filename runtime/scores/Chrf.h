// chrF of Popović, "chrF: character n-gram F-score for automatic MT evaluation" (2015), as sacreBLEU defines chrF2:
// n-grams of up to six characters, white space removed, recall weighted twice as much as precision, counts summed over
// the corpus.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

class Chrf {
public:
  static constexpr int kMaximumOrder = 6;
  static constexpr double kBeta = 2;

  void add(std::string_view translation, std::string_view reference);

  double score() const; // 0 to 100
  // The score as sacreBLEU prints it, with two digits: "chrF2|nrefs:1|... = 59.73".
  std::string describe() const;

private:
  std::array<int64_t, kMaximumOrder> common{}, ours{}, theirs{}; // counts of n-grams
};

} // namespace heddle
