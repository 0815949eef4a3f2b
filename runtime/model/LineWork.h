// Shared code of everything that answers lines: answers in the lines' order, and warnings about lines that do not fit.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

// Returns answers to numbered lines in the lines' order, no matter in which order they are finished.
template <typename Answer> class InOrder {
public:
  explicit InOrder(uint64_t firstNumber = 1) : next(firstNumber) {}

  // Adds a line and returns its number.
  uint64_t add() {
    lines.try_emplace(next);
    return next++;
  }
  uint64_t nextNumber() const { return next; }
  // The next line gets this number, which must be above all earlier ones: the lines in between belong to other workers.
  void skipTo(uint64_t number) { next = number; }
  void finish(uint64_t number, Answer answer) { lines.find(number)->second = std::move(answer); }
  // Returns the finished answers whose predecessors are all finished.
  std::vector<Answer> take() {
    std::vector<Answer> answers;
    for (auto front = lines.begin(); front != lines.end() && front->second; front = lines.erase(front))
      answers.push_back(std::move(*front->second));
    return answers;
  }
  // The lines whose answers were not taken yet.
  uint64_t held() const { return lines.size(); }

private:
  uint64_t next;
  std::map<uint64_t, std::optional<Answer>> lines; // by number; nullopt while in work
};

// Base of everything that answers lines. add() takes the next line, step() works on lines, and take() returns answers.
template <typename Answer> class LineWork {
public:
  // The answers whose predecessors were taken, in the lines' order.
  std::vector<Answer> take() { return lines.take(); }
  // See InOrder::skipTo.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // Lines added but not yet taken. busy() tells whether any of them still need steps.
  uint64_t held() const { return lines.held(); }

protected:
  InOrder<Answer> lines;
};

// Replaces invalid UTF-8 in the line, with a warning.
std::string replaceInvalidBytes(std::string_view line, uint64_t number);

// Warns that a line's tokens are cut. `what` is "", or names a part: "a prefix of ".
void warnOfCut(uint64_t number, const char *what, size_t tokens, size_t longest);

// Reads a line of token ids below `pieces`, with spaces between them. Fails at a word that is no such id.
Result<std::vector<int32_t>> readIds(std::string_view line, uint64_t number, int64_t pieces);
// Returns such a line.
std::string showIds(std::span<const int32_t> ids);

} // namespace heddle
