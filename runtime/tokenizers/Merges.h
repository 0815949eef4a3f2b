// The merges of byte pair encoding (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
// 2016): pairs of neighbouring pieces that become one piece. Earlier merges have priority.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/PieceTable.h"

#include <span>
#include <string_view>
#include <vector>

namespace heddle {

class Merges {
public:
  // Where a merge is, for messages: "line" 7, or "merge" 7, of a file.
  struct Origin {
    std::string_view file, unit;
    size_t number;
  };

  // Appends a merge. Fails if one of the three pieces is not in `table`.
  Status add(const PieceTable &table, std::string_view left, std::string_view right, const Origin &from);
  size_t size() const { return count; }

  // Applies merges to a word's pieces until none applies, and appends the result to `ids`. Each step takes the pair
  // whose merge comes first in the list, and of equal pairs the leftmost. A merged piece may form a pair that comes
  // earlier in the list than all merges done so far.
  void apply(std::span<const int32_t> word, std::vector<int32_t> &ids) const;

private:
  static constexpr uint64_t kFree = ~uint64_t(0); // no pair, as pieces have numbers from 0 on
  struct Merge {
    uint64_t pair = kFree;
    int32_t rank = 0, product = 0;
  };
  static uint64_t pairOf(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }
  const Merge *find(int32_t left, int32_t right) const;
  // Returns the slot of the pair, or the free one where it would be.
  size_t slotOf(uint64_t pair) const;
  void grow();

  // A hash table with open addressing, whose size is a power of 2: a look-up is one cache miss. At most half of the slots
  // are taken.
  std::vector<Merge> slots;
  size_t taken = 0;
  int32_t count = 0;
};

} // namespace heddle
