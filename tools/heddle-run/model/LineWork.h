// What all that answers lines has in common: answers in the lines' order, and what is said of lines that do not fit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::run {

// Answers to numbered lines, which are handed out in the lines' order, in whatever order they are finished.
template <typename Answer> class InOrder {
public:
  explicit InOrder(uint64_t firstNumber = 1) : next(firstNumber), first(firstNumber) {}

  // The number of one more line.
  uint64_t add() { return next++; }
  void finish(uint64_t number, Answer answer) { done.emplace(number, std::move(answer)); }
  // Answers that are there and whose predecessors' are too.
  std::vector<Answer> take() {
    std::vector<Answer> answers;
    for (auto front = done.begin(); front != done.end() && front->first == first; front = done.erase(front), ++first)
      answers.push_back(std::move(front->second));
    return answers;
  }
  // Lines that were added and whose answers were not taken.
  uint64_t held() const { return next - first; }

private:
  uint64_t next, first;
  std::map<uint64_t, Answer> done; // by number
};

// The line, bytes that are no UTF-8 replaced, which a warning says.
std::string replaceInvalidBytes(std::string_view line, uint64_t number);

// Warns that the tokens of a line ("", or "a prefix of " it) are cut.
void warnOfCut(uint64_t number, const char *what, size_t tokens, size_t longest);

} // namespace heddle::run
