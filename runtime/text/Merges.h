// The merges of byte pair encoding (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
// 2016): pairs of neighbouring pieces that become one, the first ones first.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/PieceTable.h"

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle {

class Merges {
public:
  // Adds a merge behind those that are there. `where` begins the message of an error: the file, and the merge's place
  // in it.
  Status add(const PieceTable &table, std::string_view left, std::string_view right, const std::string &where);
  size_t size() const { return count; }

  // Merges a word's pieces as far as they can be, and appends what is left. Of all pairs it is always the turn of the
  // first merge, and of its places of the leftmost; what that makes may have an earlier merge than any before.
  void apply(std::span<const int32_t> word, std::vector<int32_t> &ids) const;

private:
  struct Merge {
    int32_t rank, product;
  };
  static uint64_t pairOf(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }
  const Merge *find(int32_t left, int32_t right) const;

  std::unordered_map<uint64_t, Merge> merges;
  int32_t count = 0;
};

} // namespace heddle
