// How a text is cut into the words that are looked up one by one: steps, each of which cuts what the step before left.
#pragma once

#include "runtime/text/WordPattern.h"
#include "runtime/text/Words.h"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

class TextCutter {
public:
  struct WhiteSpace {};   // at white space, which is left out
  struct BehindSpaces {}; // behind each space
  // Spaces become a mark, which a text begins with, and words, too, where they are cut at it.
  struct Metaspace {
    enum class Prepend { Always, First, Never }; // First: of all parts of a text to that at its beginning
    std::string mark;
    Prepend prepend = Prepend::Always;
    bool cuts = true;
  };
  using Step = std::variant<WordRule, WordPattern, WhiteSpace, BehindSpaces, Metaspace>;

  void add(Step step) { steps.push_back(std::move(step)); }
  size_t size() const { return steps.size(); }

  // Where a part of a text stands: at the text's beginning, at the beginning of a text that follows another one, or
  // elsewhere.
  enum class Place { Begin, Continuation, Middle };

  using OnWord = std::function<void(std::string_view word)>;
  // Calls `onWord` for each word, none of which is empty.
  void cut(std::string_view part, Place place, const OnWord &onWord) const { cut(0, part, place, onWord); }

private:
  void cut(size_t step, std::string_view part, Place place, const OnWord &onWord) const;

  std::vector<Step> steps;
};

} // namespace heddle
