// Allocates rows of the self-attention caches to sequences that come, grow and go. Rows of finished texts can be kept,
// for sequences that start like them.
#pragma once

#include "runtime/model/CacheRows.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

struct SequenceRange {
  int64_t first = 0, count = 0;
};

// The number of leading tokens that two sequences share.
inline int64_t sharedTokens(std::span<const int32_t> one, std::span<const int32_t> other) {
  return std::ranges::mismatch(one, other).in1 - one.begin();
}

class SequenceRows {
public:
  explicit SequenceRows(int64_t rows) : free(rows) {}

  // Takes `count` consecutive rows. With `mayGrow`, keeps a distance to other sequences' rows if there is room. Frees
  // kept texts if needed, least recently used first, but not the one that find(spared) returns. nullopt if there is no
  // gap of that size.
  std::optional<SequenceRange> take(int64_t count, bool mayGrow, std::span<const int32_t> spared = {});
  // Grows the range in place to `count` rows, and frees kept texts after it. Returns false if another sequence is in
  // the way.
  bool grow(SequenceRange &range, int64_t count);
  void giveBack(SequenceRange range) { free.giveBack(range.first, range.count); }

  // Use this instead of giveBack() to keep a text: the first rows hold the keys and values of `tokens`, and a sequence
  // that starts like them may reuse them.
  void keep(SequenceRange range, std::vector<int32_t> tokens);
  struct Reused {
    SequenceRange range;
    int64_t tokens = 0; // tokens of the sequence whose keys and values are in the first rows
  };
  // The kept text that shares the longest prefix with `tokens`, which is now the one most recently used. nullopt if none
  // shares a token.
  std::optional<Reused> find(std::span<const int32_t> tokens);
  // Takes the rows of that text, resized to `count` rows. The text is then no longer kept. nullopt, and the text stays,
  // if more than `mostLost` of its tokens are others, or if its rows cannot grow.
  std::optional<Reused> reuse(std::span<const int32_t> tokens, int64_t count, int64_t mostLost);
  void forgetKept();

private:
  struct Kept {
    SequenceRange range;
    std::vector<int32_t> tokens;
  };

  // Returns the end of `kept` if no text shares a token.
  std::list<Kept>::iterator longest(std::span<const int32_t> tokens);

  RowRanges free;
  std::list<Kept> kept; // least recently used first
};

} // namespace heddle
