// Which rows of the caches are free.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace heddle {

// Neighbouring rows for sentences that come and go; the first gap that is large enough is taken.
class RowRanges {
public:
  explicit RowRanges(int64_t rows) : gaps{{0, rows}} {}

  // The first of `count` rows, or nothing where no gap has as many.
  std::optional<int64_t> take(int64_t count) {
    for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
      auto [first, size] = *gap;
      if (size < count)
        continue;
      gaps.erase(gap);
      if (size > count)
        gaps.emplace(first + count, size - count);
      return first;
    }
    return std::nullopt;
  }

  void giveBack(int64_t first, int64_t count) {
    auto after = gaps.lower_bound(first);
    if (after != gaps.end() && after->first == first + count) {
      count += after->second;
      after = gaps.erase(after);
    }
    if (after != gaps.begin())
      if (auto before = std::prev(after); before->first + before->second == first) {
        before->second += count;
        return;
      }
    gaps.emplace(first, count);
  }

private:
  std::map<int64_t, int64_t> gaps; // by their first row: how many
};

} // namespace heddle
