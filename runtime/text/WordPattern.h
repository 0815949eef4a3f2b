// The patterns by which published vocabularies of bytes cut texts into words: a small part of the syntax of regular
// expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

// A list of alternatives, of which the first that matches counts. Each is a sequence of characters, of classes with a
// greedy quantifier, of literal texts in any case, and of the condition that no word follows, or nothing at all.
class WordPattern {
public:
  // The vocabularies that have a pattern of their own, or several of them.
  enum class Family { O200k, Tekken, Qwen35, SeedCoder, Bloom, Viking, DeepSeekLLM, DeepSeekCoder, DeepSeekV3 };
  // The patterns of the family's steps, in their order.
  static std::vector<WordPattern> of(Family family);
  // Null for every pattern but those that published vocabularies are known to have: another one might take time that
  // grows with the square of a text.
  static std::optional<WordPattern> published(std::string_view pattern);

  // The first place from `begin` on where the pattern matches, and the bytes that match, at least one.
  struct Match {
    size_t begin, bytes;
  };
  std::optional<Match> find(std::string_view text, size_t begin) const;

private:
  class Parser;
  static WordPattern parsed(std::string_view pattern);

  // A set of characters.
  struct Class {
    std::vector<std::pair<char32_t, char32_t>> ranges; // the first and the last
    uint32_t categories = 0;                           // of Unicode, as a bit each
    bool spaces = false, notSpaces = false;            // \s and \S
    bool isNegated = false;
    bool has(char32_t point) const;
    bool isAll() const { return isNegated && ranges.empty() && categories == 0 && !spaces && !notSpaces; }
  };
  struct Item {
    Class set;
    std::vector<std::string> texts; // in the place of the class: ASCII in lower case, which matches any case
    size_t fewest = 1, most = 1;
    bool isForbidden = false; // what must not follow
  };
  using Sequence = std::vector<Item>;

  static std::optional<size_t> match(std::string_view text, size_t begin, const Sequence &sequence, size_t item);

  static size_t behindRun(std::string_view text, size_t begin, const Sequence &sequence);

  std::vector<Sequence> alternatives;
};

} // namespace heddle
