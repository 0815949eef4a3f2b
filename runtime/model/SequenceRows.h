// The rows of the self-attention caches of sequences that come, grow and go, and of texts that are over and may begin
// the next one.
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

  // `count` neighbouring rows. With `mayGrow` they lie apart from other sequences' where there is room. Kept texts give
  // way, the longest unused first. Nothing if there is no gap of that size.
  std::optional<SequenceRange> take(int64_t count, bool mayGrow);
  // Makes the range `count` rows long where it is; kept texts behind it give way. False if another sequence is there.
  bool grow(SequenceRange &range, int64_t count);
  void giveBack(SequenceRange range) { free.giveBack(range.first, range.count); }

  // In place of giveBack(): the first rows hold the keys and values of `tokens`, and a sequence that begins like them
  // may go on there.
  void keep(SequenceRange range, std::vector<int32_t> tokens);
  struct Reused {
    SequenceRange range;
    int64_t tokens = 0; // of the sequence, whose keys and values are in the first rows
  };
  // The rows of the kept text that has most tokens in common with the beginning of `tokens`, `count` rows in all. The
  // text is then no longer kept. Nothing if less than half of it is of use.
  std::optional<Reused> reuse(std::span<const int32_t> tokens, int64_t count);
  void forgetKept();

private:
  struct Kept {
    SequenceRange range;
    std::vector<int32_t> tokens;
  };

  RowRanges free;
  std::list<Kept> kept; // the longest unused first
};

} // namespace heddle
