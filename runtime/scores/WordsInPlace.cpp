#include "runtime/scores/WordsInPlace.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <vector>

namespace heddle {
namespace {

std::vector<std::string_view> wordsOf(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    size_t begin = line.find_first_not_of(kSpace);
    if (begin == std::string_view::npos)
      return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(kSpace)));
    line.remove_prefix(words.back().size());
  }
}

std::string percent(double share) {
  char text[16];
  // Rounded down to one decimal, so that 100.0 means that every word is right.
  std::snprintf(text, sizeof text, "%.1f%%", double(uint64_t(share * 1000)) / 10);
  return text;
}

} // namespace

void WordsInPlace::add(std::string_view translation, std::string_view reference) {
  std::vector<std::string_view> said = wordsOf(translation), expected = wordsOf(reference);
  if (expected.empty())
    return;
  Count &count = groups[(expected.size() - 1) / kLengths * kLengths + 1];
  for (size_t i = 0; i < expected.size(); ++i)
    count.right += i < said.size() && said[i] == expected[i];
  count.words += expected.size();
}

std::string WordsInPlace::describe() const {
  Count all;
  std::string parts;
  for (const auto &[fewest, count] : groups) {
    all.right += count.right;
    all.words += count.words;
    parts += (parts.empty() ? "" : ", ") + std::to_string(fewest) + "-" + std::to_string(fewest + kLengths - 1) + " " +
             percent(count.share());
  }
  std::string line = "words in place " + percent(all.share()) + " of " + std::to_string(all.words);
  return groups.size() > 1 ? line + "; by the reference's words: " + parts : line;
}

nlohmann::ordered_json WordsInPlace::toJson() const {
  auto result = nlohmann::ordered_json::array();
  for (const auto &[fewest, count] : groups)
    result.push_back({fewest, fewest + kLengths - 1, count.share(), count.words});
  return result;
}

} // namespace heddle
