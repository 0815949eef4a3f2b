#include "runtime/text/TextCutter.h"

#include "runtime/text/TextNormalizer.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

namespace heddle {
namespace {

// Calls `next` for each word that a step cuts a part into, with whether it is the part's beginning.
template <typename Next> struct Cut {
  std::string_view part;
  bool isFirst;
  const Next &next;

  void operator()(WordRule rule) const {
    for (size_t begin = 0, bytes; begin < part.size(); begin += bytes) {
      bytes = firstWordBytes(part.substr(begin), rule);
      next(part.substr(begin, bytes), begin == 0);
    }
  }
  void operator()(TextCutter::WhiteSpace) const {
    size_t begin = 0, place = 0;
    for (Character here; place < part.size(); place += here.bytes) {
      here = firstCharacter(part.substr(place));
      if (!isWhiteSpace(here.point))
        continue;
      next(part.substr(begin, place - begin), begin == 0);
      begin = place + here.bytes;
    }
    next(part.substr(begin), begin == 0);
  }
  void operator()(TextCutter::BehindSpaces) const { cutAt(part, " ", /*behind=*/1); }
  void operator()(const TextCutter::Metaspace &step) const {
    using Prepend = TextCutter::Metaspace::Prepend;
    std::string marked = replaceAll(part, " ", step.mark);
    if (!marked.starts_with(step.mark) &&
        (step.prepend == Prepend::Always || (step.prepend == Prepend::First && isFirst)))
      marked = step.mark + marked;
    if (step.cuts)
      cutAt(marked, step.mark, /*behind=*/0);
    else
      next(marked, true);
  }

private:
  // Cuts before each separator, or that many bytes behind it.
  void cutAt(std::string_view text, std::string_view separator, size_t behind) const {
    size_t begin = 0;
    for (size_t place = 0; (place = text.find(separator, place)) != std::string_view::npos; place += separator.size()) {
      next(text.substr(begin, place + behind - begin), begin == 0);
      begin = place + behind;
    }
    next(text.substr(begin), begin == 0);
  }
};

} // namespace

void TextCutter::cut(size_t step, std::string_view part, bool isFirst, const OnWord &onWord) const {
  if (part.empty())
    return;
  if (step == steps.size())
    return onWord(part);
  auto next = [&](std::string_view word, bool isBeginning) { cut(step + 1, word, isFirst && isBeginning, onWord); };
  std::visit(Cut<decltype(next)>{part, isFirst, next}, steps[step]);
}

} // namespace heddle
