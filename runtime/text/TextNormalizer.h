// What is done to a text before it is cut into words.
#pragma once

#include "runtime/text/CharacterMap.h"
#include "runtime/text/Unicode.h"

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
  std::string apply(std::string_view text) const;

private:
  std::vector<Step> steps;
};

std::string replaceAll(std::string_view text, std::string_view what, std::string_view by);

} // namespace heddle
