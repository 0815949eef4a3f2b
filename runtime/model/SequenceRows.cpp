#include "runtime/model/SequenceRows.h"

#include <algorithm>

namespace heddle {

std::optional<SequenceRange> SequenceRows::take(int64_t count, bool mayGrow, std::span<const int32_t> spared) {
  auto source = longest(spared);
  while (true) {
    if (std::optional<int64_t> first = mayGrow ? free.takeApart(count) : free.take(count))
      return SequenceRange{*first, count};
    auto oldest = kept.begin();
    if (oldest == source && oldest != kept.end())
      ++oldest;
    if (oldest == kept.end())
      return std::nullopt;
    giveBack(oldest->range);
    kept.erase(oldest);
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

std::list<SequenceRows::Kept>::iterator SequenceRows::longest(std::span<const int32_t> tokens) {
  auto best = kept.end();
  int64_t most = 0;
  for (auto each = kept.begin(); each != kept.end(); ++each)
    if (int64_t shared = sharedTokens(each->tokens, tokens); shared > most) {
      most = shared;
      best = each;
    }
  return best;
}

std::optional<SequenceRows::Reused> SequenceRows::find(std::span<const int32_t> tokens) {
  auto best = longest(tokens);
  if (best == kept.end())
    return std::nullopt;
  kept.splice(kept.end(), kept, best);
  return Reused{best->range, sharedTokens(best->tokens, tokens)};
}

std::optional<SequenceRows::Reused> SequenceRows::reuse(std::span<const int32_t> tokens, int64_t count,
                                                        int64_t mostLost) {
  auto best = longest(tokens);
  if (best == kept.end())
    return std::nullopt;
  Reused reused{best->range, sharedTokens(best->tokens, tokens)};
  if (reused.range.count - reused.tokens > mostLost)
    return std::nullopt;
  if (reused.range.count < count && !grow(reused.range, count))
    return std::nullopt;
  if (reused.range.count > count) {
    giveBack({reused.range.first + count, reused.range.count - count});
    reused.range.count = count;
  }
  reused.tokens = std::min(reused.tokens, count);
  kept.erase(best);
  return reused;
}

void SequenceRows::forgetKept() {
  for (const Kept &each : kept)
    giveBack(each.range);
  kept.clear();
}

} // namespace heddle
