// How many words of references stand in translations where they should, by the length of the sentence.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace heddle {

class WordsInPlace {
public:
  // References of so many words each are counted together: 1 to 5, 6 to 10 and so on.
  static constexpr uint64_t kLengths = 5;

  // Words are divided by white space; the first word of the one is compared with the first of the other, and so on.
  void add(std::string_view translation, std::string_view reference);

  // A line, with the share of each group of lengths where there are several.
  std::string describe() const;
  // For each group of lengths [fewest words, most words, share, words].
  nlohmann::ordered_json toJson() const;

private:
  struct Count {
    uint64_t right = 0, words = 0;
    double share() const { return words == 0 ? 0 : double(right) / double(words); }
  };
  std::map<uint64_t, Count> groups; // by the fewest words
};

} // namespace heddle
