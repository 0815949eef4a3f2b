// What all that answers lines has in common: answers in the lines' order, and what is said of lines that do not fit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

// Answers to numbered lines, which are handed out in the lines' order, in whatever order they are finished.
template <typename Answer> class InOrder {
public:
  explicit InOrder(uint64_t firstNumber = 1) : next(firstNumber) {}

  // The number of one more line.
  uint64_t add() {
    lines.try_emplace(next);
    return next++;
  }
  // The next line has this number, above those of the lines before it: the lines between are another's.
  void skipTo(uint64_t number) { next = number; }
  void finish(uint64_t number, Answer answer) { lines.find(number)->second = std::move(answer); }
  // Answers that are there and whose predecessors' are too.
  std::vector<Answer> take() {
    std::vector<Answer> answers;
    for (auto front = lines.begin(); front != lines.end() && front->second; front = lines.erase(front))
      answers.push_back(std::move(*front->second));
    return answers;
  }
  // Lines that were added and whose answers were not taken.
  uint64_t held() const { return lines.size(); }

private:
  uint64_t next;
  std::map<uint64_t, std::optional<Answer>> lines; // by number; those in work have no answer
};

// The line, bytes that are no UTF-8 replaced, which a warning says.
std::string replaceInvalidBytes(std::string_view line, uint64_t number);

// Warns that the tokens of a line ("", or "a prefix of " it) are cut.
void warnOfCut(uint64_t number, const char *what, size_t tokens, size_t longest);

} // namespace heddle
