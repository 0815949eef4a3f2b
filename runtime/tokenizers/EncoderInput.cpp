#include "runtime/tokenizers/EncoderInput.h"

#include <algorithm>

namespace heddle {

void InputTexts::cut(std::vector<int32_t> &tokens, size_t longest) {
  if (tokens.size() <= longest)
    return;
  size_t around = tokens.size() - firstLength - secondLength, room = longest > around ? longest - around : 0;
  // The shorter text stays whole if it fits into half of the room.
  size_t shorter = std::min({firstLength, secondLength, room / 2});
  size_t first = firstLength > secondLength ? room - shorter : shorter, second = room - first;
  auto drop = [&](size_t end, size_t count) {
    tokens.erase(tokens.begin() + ptrdiff_t(end - count), tokens.begin() + ptrdiff_t(end));
    return count;
  };
  if (secondEnd > 0)
    secondEnd -= drop(secondEnd, secondLength - std::min(second, secondLength));
  size_t dropped = drop(firstEnd, firstLength - std::min(first, firstLength));
  firstEnd -= dropped;
  secondEnd -= secondEnd > 0 ? dropped : 0;
  firstLength = std::min(first, firstLength);
  secondLength = std::min(second, secondLength);
  tokens.resize(std::min(tokens.size(), longest));
}

InputMarks inputMarksOf(const TextCodec &vocabulary, int32_t begin, int32_t end) {
  const InputMarks *own = vocabulary.inputMarks();
  bool hasMarks = own && !(own->before.empty() && own->after.empty());
  return hasMarks ? *own : InputMarks{{begin}, {end}, std::vector<int32_t>{end}};
}

EncoderInput encodeInput(const TextCodec &vocabulary, const InputMarks &marks, std::string_view text,
                         std::optional<std::string_view> second) {
  EncoderInput input{marks.before, {}};
  auto append = [&](const std::vector<int32_t> &ids) {
    input.tokens.insert(input.tokens.end(), ids.begin(), ids.end());
    return ids.size();
  };
  input.texts.firstLength = append(vocabulary.encodeUnmarked(text));
  input.texts.firstEnd = input.tokens.size();
  if (second) {
    append(*marks.between);
    input.texts.secondLength = append(vocabulary.encodeUnmarked(*second));
    input.texts.secondEnd = input.tokens.size();
  }
  append(marks.after);
  return input;
}

} // namespace heddle
