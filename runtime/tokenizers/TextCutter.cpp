#include "runtime/tokenizers/TextCutter.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/TextNormalizer.h"

namespace heddle {
namespace {

// Calls `next` for each word that a step cuts out of `part`, and tells it whether the word is at the part's beginning.
template <typename Next> struct Cut {
  std::string_view part;
  TextCutter::Place place;
  const Next &next;

  void operator()(WordRule rule) const {
    for (size_t begin = 0, bytes; begin < part.size(); begin += bytes) {
      bytes = firstWordBytes(part.substr(begin), rule);
      next(part.substr(begin, bytes), begin == 0);
    }
  }
  void operator()(const WordPattern &pattern) const {
    size_t begin = 0;
    while (std::optional<WordPattern::Match> match = pattern.find(part, begin)) {
      next(part.substr(begin, match->begin - begin), begin == 0);
      next(part.substr(match->begin, match->bytes), match->begin == 0);
      begin = match->begin + match->bytes;
    }
    next(part.substr(begin), begin == 0);
  }
  void operator()(TextCutter::WhiteSpace) const {
    size_t begin = 0, at = 0;
    for (Character here; at < part.size(); at += here.bytes) {
      here = firstCharacter(part.substr(at));
      if (!isWhiteSpace(here.point))
        continue;
      next(part.substr(begin, at - begin), begin == 0);
      begin = at + here.bytes;
    }
    next(part.substr(begin), begin == 0);
  }
  void operator()(TextCutter::BehindSpaces) const { cutAt(part, " ", /*behind=*/1); }
  void operator()(const TextCutter::Metaspace &step) const {
    using Prepend = TextCutter::Metaspace::Prepend;
    using Place = TextCutter::Place;
    std::string marked = replaceAll(part, " ", step.mark);
    bool prepends = step.prepend == Prepend::Always  ? place != Place::Continuation
                    : step.prepend == Prepend::First ? place == Place::Begin
                                                     : false;
    if (prepends && !marked.starts_with(step.mark))
      marked = step.mark + marked;
    if (step.cuts)
      cutAt(marked, step.mark, /*behind=*/0);
    else
      next(marked, true);
  }

private:
  // Cuts `behind` bytes after the beginning of each separator.
  void cutAt(std::string_view text, std::string_view separator, size_t behind) const {
    size_t begin = 0;
    for (size_t at = 0; (at = text.find(separator, at)) != std::string_view::npos; at += separator.size()) {
      next(text.substr(begin, at + behind - begin), begin == 0);
      begin = at + behind;
    }
    next(text.substr(begin), begin == 0);
  }
};

} // namespace

void TextCutter::cut(size_t step, std::string_view part, Place place, const OnWord &onWord) const {
  if (part.empty())
    return;
  if (step == steps.size())
    return onWord(part);
  auto next = [&](std::string_view word, bool isBeginning) {
    cut(step + 1, word, isBeginning ? place : Place::Middle, onWord);
  };
  std::visit(Cut<decltype(next)>{part, place, next}, steps[step]);
}

} // namespace heddle
