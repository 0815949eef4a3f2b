#include "runtime/tokenizers/TextNormalizer.h"

#include "runtime/text/Utf8.h"

namespace heddle {
namespace {

// Applies a step to a text.
struct Apply {
  std::string_view text;
  bool continues;

  std::string operator()(const TextNormalizer::Replace &step) const { return replaceAll(text, step.text, step.by); }
  std::string operator()(const TextNormalizer::ReplaceSpaces &step) const {
    std::string result;
    for (size_t place = 0; place < text.size();) {
      size_t end = std::min(text.find_first_not_of(' ', place), text.size());
      if (end - place >= 2)
        result += step.by;
      else
        result += text.substr(place, end - place);
      place = std::min(text.find(' ', end), text.size());
      result += text.substr(end, place - end);
    }
    return result;
  }
  std::string operator()(const TextNormalizer::Prepend &step) const {
    return text.empty() || continues ? std::string(text) : step.text + std::string(text);
  }
  std::string operator()(const TextNormalizer::Strip &step) const {
    std::string_view rest = step.begin && !continues ? withoutLeadingSpace(text) : text;
    return std::string(step.end ? withoutTrailingSpace(rest) : rest);
  }
  // Lowers each character on its own, so a sigma at a word's end is not special. Invalid bytes stay as they are.
  std::string operator()(TextNormalizer::LowerCase) const {
    std::string result;
    std::string_view rest = text;
    for (Character next; !rest.empty(); rest.remove_prefix(next.bytes)) {
      next = firstCharacter(rest);
      bool isCharacter = next.bytes > 1 || next.point < 0x80;
      result += isCharacter ? toUtf8(lowerCase(std::u32string_view(&next.point, 1))) : std::string(rest.substr(0, 1));
    }
    return result;
  }
  std::string operator()(NormalForm form) const { return normalized(text, form); }
  std::string operator()(const CharacterMap &map) const { return map.apply(text); }
  std::string operator()(const SentencePieceText &step) const { return step.apply(text, continues); }
};

} // namespace

double TextNormalizer::growth() const {
  double growth = 1;
  for (const Step &step : steps) {
    if (const auto *replace = std::get_if<Replace>(&step))
      growth *= growthOf(replace->text, replace->by);
    else if (const auto *spaces = std::get_if<ReplaceSpaces>(&step))
      growth *= growthOf("  ", spaces->by);
    else if (const auto *map = std::get_if<CharacterMap>(&step))
      growth *= std::max(1.0, double(map->longest()));
  }
  return growth;
}

std::string TextNormalizer::apply(std::string_view text, bool continues) const {
  std::string result(text);
  for (const Step &step : steps)
    result = std::visit(Apply{result, continues}, step);
  return result;
}

std::string replaceAll(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  for (size_t place; (place = text.find(what)) != std::string_view::npos; text.remove_prefix(place + what.size())) {
    result += text.substr(0, place);
    result += by;
  }
  return result += text;
}

} // namespace heddle
