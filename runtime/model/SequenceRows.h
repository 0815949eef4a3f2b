// Allocates rows of the self-attention caches to sequences that come, grow and go. Rows of finished texts can be kept,
// for sequences that start like them.
#pragma once

#include "runtime/model/CacheRows.h"

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

struct SequenceRange {
  int64_t first = 0, count = 0;
};

class SequenceRows {
public:
  explicit SequenceRows(int64_t rows) : free(rows) {}

  // Takes `count` consecutive rows. With `mayGrow`, keeps a distance to other sequences' rows if there is room. Frees
  // kept texts if needed, least recently used first. nullopt if there is no gap of that size.
  std::optional<SequenceRange> take(int64_t count, bool mayGrow);
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
  // Takes the rows of the kept text that shares the longest prefix with `tokens`, resized to `count` rows. The text is
  // then no longer kept. nullopt if less than half of it is usable, or if it cannot grow to `count` rows.
  std::optional<Reused> reuse(std::span<const int32_t> tokens, int64_t count);
  void forgetKept();

private:
  struct Kept {
    SequenceRange range;
    std::vector<int32_t> tokens;
  };

  RowRanges free;
  std::list<Kept> kept; // least recently used first
};

} // namespace heddle
