#include "runtime/tokenizers/Merges.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <queue>
#include <utility>

namespace heddle {

Status Merges::add(const PieceTable &table, std::string_view left, std::string_view right, const Origin &from) {
  std::string both(left);
  both += right;
  std::optional<int32_t> first = table.find(left), second = table.find(right), product = table.find(both);
  if (!first || !second || !product)
    return makeError(ErrorKind::Malformed, "'", from.file, "', ", from.unit, " ", from.number, ", is \"", left,
                     right.empty() ? "" : " ", right, "\", and not two pieces of the vocabulary that make a third.");
  // If a pair is listed twice, its last position counts.
  if (2 * (taken + 1) > slots.size())
    grow();
  uint64_t pair = pairOf(*first, *second);
  Merge &slot = slots[slotOf(pair)];
  taken += slot.pair == kFree;
  slot = {pair, count++, *product};
  return Success();
}

size_t Merges::slotOf(uint64_t pair) const {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15; // 2^64 divided by the golden ratio
  auto slot = size_t(pair * kFactor >> (64 - std::countr_zero(slots.size())));
  while (slots[slot].pair != pair && slots[slot].pair != kFree)
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

void Merges::grow() {
  constexpr size_t kFewest = 16;
  std::vector<Merge> before = std::exchange(slots, std::vector<Merge>(std::max(kFewest, 2 * slots.size())));
  for (const Merge &merge : before)
    if (merge.pair != kFree)
      slots[slotOf(merge.pair)] = merge;
}

const Merges::Merge *Merges::find(int32_t left, int32_t right) const {
  if (slots.empty())
    return nullptr;
  const Merge &slot = slots[slotOf(pairOf(left, right))];
  return slot.pair == kFree ? nullptr : &slot;
}

void Merges::apply(std::span<const int32_t> word, std::vector<int32_t> &ids) const {
  constexpr int32_t kGone = -1;
  struct Node {
    int32_t id;
    uint32_t before, behind; // neighbours; the word's length if there is none
  };
  assert(word.size() < UINT32_MAX);
  const auto none = uint32_t(word.size());
  std::vector<Node> nodes;
  nodes.reserve(word.size());
  for (uint32_t i = 0; i < none; ++i)
    nodes.push_back({word[i], i == 0 ? none : i - 1, i + 1});

  using Entry = std::pair<int32_t, uint32_t>; // a merge's rank, and the position of its left side
  std::vector<Entry> first;
  first.reserve(word.size());
  auto mergeAt = [&](uint32_t place) -> const Merge * {
    const Node &node = nodes[place];
    return node.id == kGone || node.behind == none ? nullptr : find(node.id, nodes[node.behind].id);
  };
  for (uint32_t i = 0; i < none; ++i)
    if (const Merge *merge = mergeAt(i))
      first.emplace_back(merge->rank, i);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries({}, std::move(first));
  auto note = [&](uint32_t place) {
    if (const Merge *merge = mergeAt(place))
      entries.emplace(merge->rank, place);
  };
  while (!entries.empty()) {
    auto [rank, place] = entries.top();
    entries.pop();
    const Merge *merge = mergeAt(place);
    if (!merge || merge->rank != rank) // another merge has taken one side of the pair
      continue;
    Node &left = nodes[place], &right = nodes[left.behind];
    left.id = merge->product;
    left.behind = right.behind;
    if (right.behind != none)
      nodes[right.behind].before = place;
    right.id = kGone;
    note(place);
    if (left.before != none)
      note(left.before);
  }
  for (const Node &node : nodes)
    if (node.id != kGone)
      ids.push_back(node.id);
}

} // namespace heddle
