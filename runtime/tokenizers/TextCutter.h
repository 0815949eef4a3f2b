// Cuts a text into the words that are looked up one by one. Each step cuts the parts that the previous step returned.
#pragma once

#include "runtime/text/Words.h"
#include "runtime/tokenizers/WordPattern.h"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

class TextCutter {
public:
  struct WhiteSpace {};   // cuts at white space, which is dropped
  struct BehindSpaces {}; // cuts after each space
  // Replaces spaces by a mark and prepends the mark. With `cuts`, each mark begins a new word.
  struct Metaspace {
    enum class Prepend { Always, First, Never }; // First: only to a part at the text's beginning
    std::string mark;
    Prepend prepend = Prepend::Always;
    bool cuts = true;
  };
  using Step = std::variant<WordRule, WordPattern, WhiteSpace, BehindSpaces, Metaspace>;

  void add(Step step) { steps.push_back(std::move(step)); }
  size_t size() const { return steps.size(); }

  // The position of a part: at the beginning of a text, at the beginning of a text that follows another text, or
  // elsewhere.
  enum class Place { Begin, Continuation, Middle };

  using OnWord = std::function<void(std::string_view word)>;
  // Calls `onWord` for each word. Words are never empty.
  void cut(std::string_view part, Place place, const OnWord &onWord) const { cut(0, part, place, onWord); }

private:
  void cut(size_t step, std::string_view part, Place place, const OnWord &onWord) const;

  std::vector<Step> steps;
};

} // namespace heddle
