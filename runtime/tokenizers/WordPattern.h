// The patterns by which published byte vocabularies cut texts into words: a small subset of regular expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

// A list of alternatives; the first that matches counts. Each alternative is a sequence of characters, character
// classes with a greedy quantifier, case-insensitive literals, and conditions on the next character (`(?!\S)`, `$`).
class WordPattern {
public:
  // The families of vocabularies that have their own pattern or patterns.
  enum class Family { O200k, Tekken, Qwen35, SeedCoder, Bloom, Viking, DeepSeekLLM, DeepSeekCoder, DeepSeekV3 };
  // The patterns of a family's steps, in order.
  static std::vector<WordPattern> of(Family family);
  // Parses a pattern of a known published vocabulary. Returns nothing for all other patterns, since they might take
  // time quadratic in the length of a text.
  static std::optional<WordPattern> published(std::string_view pattern);

  // The first match at or after `begin`: its position and its length, at least one byte.
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
    uint32_t categories = 0;                           // a bit for each Unicode category
    bool spaces = false, notSpaces = false;            // \s and \S
    bool isNegated = false;
    bool has(char32_t point) const;
    bool isAll() const { return isNegated && ranges.empty() && categories == 0 && !spaces && !notSpaces; }
  };
  struct Item {
    Class set;
    std::vector<std::string> texts; // instead of the class: lower-case ASCII, matches any case
    size_t fewest = 1, most = 1;
    bool isForbidden = false; // the next character must not be in `set`
  };
  using Sequence = std::vector<Item>;

  static std::optional<size_t> match(std::string_view text, size_t begin, const Sequence &sequence, size_t item);

  static size_t behindRun(std::string_view text, size_t begin, const Sequence &sequence);

  std::vector<Sequence> alternatives;
};

} // namespace heddle
