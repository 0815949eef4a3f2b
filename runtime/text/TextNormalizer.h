// What is done to a text before it is cut into words.
#pragma once

#include "runtime/text/CharacterMap.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

class TextNormalizer {
public:
  struct Replace {
    std::string text, by; // `text` is not empty
  };
  struct ReplaceSpaces { // two spaces or more in a row
    std::string by;
  };
  struct Prepend { // to a text that is not empty
    std::string text;
  };
  struct Strip { // of white space
    bool begin, end;
  };
  struct LowerCase {};
  using Step = std::variant<Replace, ReplaceSpaces, Prepend, Strip, LowerCase, NormalForm, CharacterMap>;

  // Steps are taken in the order in which they were added.
  void add(Step step) { steps.push_back(std::move(step)); }
  size_t size() const { return steps.size(); }
  // How many times as long replacements make a text at most.
  double growth() const;
  // `continues`: the text follows another one, so that nothing is added to its beginning or taken from it.
  std::string apply(std::string_view text, bool continues = false) const;

private:
  std::vector<Step> steps;
};

// How many times as long replaceAll() makes a text at most.
inline double growthOf(std::string_view what, std::string_view by) {
  return std::max(1.0, double(by.size()) / double(what.size()));
}

std::string replaceAll(std::string_view text, std::string_view what, std::string_view by);

} // namespace heddle
