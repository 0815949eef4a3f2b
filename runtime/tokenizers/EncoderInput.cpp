#include "runtime/tokenizers/EncoderInput.h"

#include <algorithm>

namespace heddle {

EncoderInput encodeInput(const TextCodec &vocabulary, const InputMarks &marks, std::string_view text,
                         std::optional<std::string_view> second, size_t longest) {
  std::vector<int32_t> first = vocabulary.encodeUnmarked(text), other;
  if (second)
    other = vocabulary.encodeUnmarked(*second);
  size_t around = marks.before.size() + marks.after.size() + (second ? marks.between->size() : 0);
  EncoderInput input;
  input.whole = first.size() + other.size() + around;
  size_t room = longest > around ? longest - around : 0;
  if (first.size() + other.size() > room) {
    // The shorter text stays whole if it fits into half of the room.
    size_t shorter = second ? std::min({first.size(), other.size(), room / 2}) : 0;
    bool cutsFirst = first.size() > other.size();
    first.resize(std::min(first.size(), cutsFirst ? room - shorter : shorter));
    other.resize(std::min(other.size(), cutsFirst ? shorter : room - shorter));
  }
  auto append = [&](const std::vector<int32_t> &ids) {
    input.tokens.insert(input.tokens.end(), ids.begin(), ids.end());
  };
  append(marks.before);
  append(first);
  if (second) {
    append(*marks.between);
    append(other);
  }
  append(marks.after);
  input.tokens.resize(std::min(input.tokens.size(), longest));
  return input;
}

} // namespace heddle
