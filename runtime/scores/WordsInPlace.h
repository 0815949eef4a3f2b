// Counts reference words that appear at the same position in the translation, grouped by sentence length.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace heddle {

class WordsInPlace {
public:
  // References are grouped by their number of words: 1 to 5, 6 to 10 and so on.
  static constexpr uint64_t kLengths = 5;

  // Words are separated by white space. The nth words of both lines are compared.
  void add(std::string_view translation, std::string_view reference);

  // A line of text, with the share for each group if there are several.
  std::string describe() const;
  // For each group of lengths: [fewest words, most words, share, words].
  nlohmann::ordered_json toJson() const;

private:
  struct Count {
    uint64_t right = 0, words = 0;
    double share() const { return words == 0 ? 0 : double(right) / double(words); }
  };
  std::map<uint64_t, Count> groups; // key: the fewest words
};

} // namespace heddle
