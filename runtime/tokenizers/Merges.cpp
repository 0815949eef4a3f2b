#include "runtime/tokenizers/Merges.h"

#include <queue>

namespace heddle {

Status Merges::add(const PieceTable &table, std::string_view left, std::string_view right, const std::string &where) {
  std::optional<int32_t> first = table.find(left), second = table.find(right), product = table.find(str(left, right));
  if (!first || !second || !product)
    return makeError(ErrorKind::Malformed, where, " is \"", left, right.empty() ? "" : " ", right,
                     "\", and not two pieces of the vocabulary that make a third.");
  // If a pair is listed twice, its last position counts.
  merges.insert_or_assign(pairOf(*first, *second), Merge{count++, *product});
  return Success();
}

const Merges::Merge *Merges::find(int32_t left, int32_t right) const {
  auto found = merges.find(pairOf(left, right));
  return found == merges.end() ? nullptr : &found->second;
}

void Merges::apply(std::span<const int32_t> word, std::vector<int32_t> &ids) const {
  constexpr int32_t kGone = -1;
  struct Node {
    int32_t id;
    size_t before, behind; // neighbours; the word's length if there is none
  };
  const size_t none = word.size();
  std::vector<Node> nodes;
  nodes.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i)
    nodes.push_back({word[i], i == 0 ? none : i - 1, i + 1});

  using Entry = std::pair<int32_t, size_t>; // a merge's rank, and the position of its left side
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries;
  auto mergeAt = [&](size_t place) -> const Merge * {
    const Node &node = nodes[place];
    return node.id == kGone || node.behind == none ? nullptr : find(node.id, nodes[node.behind].id);
  };
  auto note = [&](size_t place) {
    if (const Merge *merge = mergeAt(place))
      entries.emplace(merge->rank, place);
  };
  for (size_t i = 0; i < nodes.size(); ++i)
    note(i);
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
