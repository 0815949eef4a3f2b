// The steps applied to a text before it is cut into words.
#pragma once

#include "runtime/text/Unicode.h"
#include "runtime/tokenizers/SentencePieceText.h"

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
  struct ReplaceSpaces { // replaces runs of two or more spaces
    std::string by;
  };
  struct Prepend { // unless the text is empty
    std::string text;
  };
  struct Strip { // white space
    bool begin, end;
  };
  struct LowerCase {};
  using Step =
      std::variant<Replace, ReplaceSpaces, Prepend, Strip, LowerCase, NormalForm, CharacterMap, SentencePieceText>;

  // Steps are applied in the order in which they were added.
  void add(Step step) { steps.push_back(std::move(step)); }
  size_t size() const { return steps.size(); }
  // An upper bound for the factor by which replacements lengthen a text.
  double growth() const;
  // `continues` means that the text follows another text, so its beginning is neither extended nor stripped.
  std::string apply(std::string_view text, bool continues = false) const;

private:
  std::vector<Step> steps;
};

// An upper bound for the factor by which replaceAll() lengthens a text.
inline double growthOf(std::string_view what, std::string_view by) {
  return std::max(1.0, double(by.size()) / double(what.size()));
}

std::string replaceAll(std::string_view text, std::string_view what, std::string_view by);

} // namespace heddle
