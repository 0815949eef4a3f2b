// Labelled bracket scores by the rules of EVALB with Collins's parameters: brackets of word tags, of TOP and of
// punctuation do not count, punctuation is no word, ADVP and PRT are one label, and the part of a label after a hyphen
// or an equals sign is ignored.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::demo {

struct Bracket {
  std::string label;
  int begin, end; // words
  auto operator<=>(const Bracket &) const = default;
};

struct Tree {
  std::vector<Bracket> brackets; // sorted; equal ones as often as they occur
  int words = 0;
};

// Parses "(S (NP DT NN )NP (VP VBZ )VP . )S", with a tag for each word; closing brackets need no label. Returns nullopt
// if brackets do not match or are empty, or if the line is not exactly one tree.
std::optional<Tree> parseTree(std::string_view line);

class BracketScore {
public:
  // A hypothesis that is no tree, or has another number of words than the reference, counts as a tree without brackets.
  // (EVALB leaves such sentences out, which would favour a parser that fails.)
  void add(const Tree &reference, const std::optional<Tree> &hypothesis);

  double precision() const { return ratio(matched, proposed); } // from 0 to 1
  double recall() const { return ratio(matched, expected); }
  double f1() const { return ratio(2 * matched, proposed + expected); }
  double complete() const { return ratio(completely, sentences); } // sentences whose brackets are all right
  uint64_t unusable() const { return failed; }
  uint64_t count() const { return sentences; }

private:
  static double ratio(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : double(part) / double(whole); }

  uint64_t matched = 0, proposed = 0, expected = 0, completely = 0, failed = 0, sentences = 0;
};

} // namespace heddle::demo
