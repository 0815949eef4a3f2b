#include "runtime/serve/Thinking.h"

#include <algorithm>

namespace heddle::serve {

static constexpr std::string_view kOpen = "<think>", kClose = "</think>", kSpace = " \t\r\n";

// The number of bytes at the end of `text` that may be the start of `mark`.
static size_t mayBecome(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length)
    if (text.ends_with(mark.substr(0, length)))
      return length;
  return 0;
}

Thinking::Parts Thinking::add(std::string_view text) {
  held += text;
  Parts parts;
  if (place == Place::Begin) {
    size_t first = std::min(held.find_first_not_of(kSpace), held.size());
    std::string_view rest = std::string_view(held).substr(first);
    if (rest.size() < kOpen.size() && kOpen.starts_with(rest))
      return parts;
    bool thinks = rest.starts_with(kOpen);
    if (thinks)
      held.erase(0, first + kOpen.size());
    place = thinks ? Place::Thought : Place::Answer;
  }
  if (place == Place::Thought) {
    size_t close = held.find(kClose);
    size_t sure = close != std::string::npos ? close : held.size() - mayBecome(held, kClose);
    parts.thought = held.substr(0, sure);
    held.erase(0, close != std::string::npos ? close + kClose.size() : sure);
    if (close != std::string::npos)
      place = Place::BehindThought;
  }
  if (place == Place::BehindThought) {
    held.erase(0, std::min(held.find_first_not_of(kSpace), held.size()));
    if (!held.empty())
      place = Place::Answer;
  }
  if (place == Place::Answer) {
    parts.answer = std::move(held);
    held.clear();
  }
  return parts;
}

Thinking::Parts Thinking::finish(std::string_view text) {
  Parts parts = add(text);
  (place == Place::Thought ? parts.thought : parts.answer) += held;
  held.clear();
  return parts;
}

} // namespace heddle::serve
