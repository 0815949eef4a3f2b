#include "runtime/model/SequenceRows.h"

#include <algorithm>

namespace heddle {

std::optional<SequenceRange> SequenceRows::take(int64_t count, bool mayGrow) {
  while (true) {
    if (std::optional<int64_t> first = mayGrow ? free.takeApart(count) : free.take(count))
      return SequenceRange{*first, count};
    if (kept.empty())
      return std::nullopt;
    giveBack(kept.front().range);
    kept.pop_front();
  }
}

bool SequenceRows::grow(SequenceRange &range, int64_t count) {
  int64_t end = range.first + range.count, added = count - range.count;
  if (free.takeAt(end, added)) {
    range.count = count;
    return true;
  }
  // Frees kept texts only if that makes enough room.
  RowRanges without = free;
  auto isInTheWay = [&](const Kept &each) {
    return each.range.first < end + added && end < each.range.first + each.range.count;
  };
  for (const Kept &each : kept)
    if (isInTheWay(each))
      without.giveBack(each.range.first, each.range.count);
  if (!without.takeAt(end, added))
    return false;
  std::erase_if(kept, isInTheWay);
  free = std::move(without);
  range.count = count;
  return true;
}

void SequenceRows::keep(SequenceRange range, std::vector<int32_t> tokens) {
  auto used = int64_t(tokens.size());
  if (used < range.count)
    free.giveBack(range.first + used, range.count - used);
  if (used != 0)
    kept.push_back({{range.first, used}, std::move(tokens)});
}

std::optional<SequenceRows::Reused> SequenceRows::reuse(std::span<const int32_t> tokens, int64_t count) {
  auto common = [&](const Kept &each) { return std::ranges::mismatch(each.tokens, tokens).in1 - each.tokens.begin(); };
  auto best = std::ranges::max_element(kept, {}, common);
  if (best == kept.end())
    return std::nullopt;
  int64_t shared = common(*best);
  if (2 * shared < best->range.count)
    return std::nullopt;
  Reused reused{best->range, shared};
  kept.erase(best);
  if (reused.range.count > count) {
    giveBack({reused.range.first + count, reused.range.count - count});
    reused.range.count = count;
  } else if (reused.range.count < count && !grow(reused.range, count)) {
    giveBack(reused.range);
    return std::nullopt;
  }
  return reused;
}

void SequenceRows::forgetKept() {
  for (const Kept &each : kept)
    giveBack(each.range);
  kept.clear();
}

} // namespace heddle
