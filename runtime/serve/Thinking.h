// Tells what a model thinks from what it answers: <think>...</think> before the answer.
#pragma once

#include <string>
#include <string_view>

namespace heddle::serve {

class Thinking {
public:
  struct Parts {
    std::string thought, answer;
  };

  // With `isOpen` the text begins within the thought: the prompt ended with <think>.
  explicit Thinking(bool isOpen) : place(isOpen ? Place::Thought : Place::Begin) {}

  // More of the text. A part that may yet be a mark waits.
  Parts add(std::string_view text);
  // The last of the text.
  Parts finish(std::string_view text);

private:
  enum class Place { Begin, Thought, BehindThought, Answer };

  Place place;
  std::string held;
};

} // namespace heddle::serve
