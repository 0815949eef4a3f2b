// Separates a model's reasoning from its answer: <think>...</think> before the answer.
#pragma once

#include <string>
#include <string_view>

namespace heddle::serve {

class Thinking {
public:
  struct Parts {
    std::string thought, answer;
  };

  // If `isOpen`, the text begins within the reasoning: the prompt ended with <think>.
  explicit Thinking(bool isOpen) : place(isOpen ? Place::Thought : Place::Begin) {}

  // Adds text. Holds back the end of the text if it may be the start of <think> or </think>.
  Parts add(std::string_view text);
  // Adds the last text.
  Parts finish(std::string_view text);

private:
  enum class Place { Begin, Thought, BehindThought, Answer };

  Place place;
  std::string held;
};

} // namespace heddle::serve
