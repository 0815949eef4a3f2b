// Allocates rows of the caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace heddle {

// Allocates ranges of consecutive rows, first fit.
class RowRanges {
public:
  explicit RowRanges(int64_t rows) : gaps{{0, rows}} {}

  // Takes `count` rows and returns the first; nullopt if no gap is large enough.
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

  // Takes `count` rows in the middle of the largest gap, so that these rows and the rows before the gap can grow. A gap
  // that starts at row 0 is used from its start.
  std::optional<int64_t> takeApart(int64_t count) {
    auto largest = std::ranges::max_element(gaps, {}, [](const auto &gap) { return gap.second; });
    if (largest == gaps.end() || largest->second < count)
      return std::nullopt;
    int64_t first = largest->first;
    if (first != 0)
      first += (largest->second - count) / 2;
    takeAt(first, count);
    return first;
  }

  // Takes these rows if all of them are free.
  bool takeAt(int64_t first, int64_t count) {
    auto gap = gaps.upper_bound(first);
    if (gap == gaps.begin())
      return false;
    auto [begin, size] = *--gap;
    if (begin + size < first + count)
      return false;
    gaps.erase(gap);
    if (begin < first)
      gaps.emplace(begin, first - begin);
    if (begin + size > first + count)
      gaps.emplace(first + count, begin + size - first - count);
    return true;
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
  std::map<int64_t, int64_t> gaps; // first row of a gap -> number of rows
};

} // namespace heddle
