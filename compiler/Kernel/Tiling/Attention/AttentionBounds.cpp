#include "compiler/Kernel/Tiling/Attention/AttentionBounds.h"

#include "compiler/Analysis/Kernels/MaskBounds.h"

using namespace mlir;
using namespace mlir::heddle;

/// Twice this number plus a few rows still fits into 32 bits.
static constexpr int64_t kLargestSum = int64_t(1) << 29;

AttentionBounds::AttentionBounds(KernelEmitter &emitter, const Attention &attention, bool ownsQueries)
    : emitter(emitter), attention(attention), ownsQueries(ownsQueries) {
  if (attention.mask)
    for (const MaskBound &bound : getMaskBounds(*attention.mask, &areExact)) {
      // The maximum that the indices add up to. A larger constant restricts nothing more, and the device counts in 32
      // bits.
      int64_t most = std::abs(bound.query) * longest(true) + std::abs(bound.key) * longest(false);
      if (most > kLargestSum) {
        areExact = false;
        continue;
      }
      auto [owned, visited] = ownsQueries ? std::pair(bound.query, bound.key) : std::pair(bound.key, bound.query);
      bounds.push_back({owned, visited, std::clamp(bound.constant, -most - 1, most)});
    }
}

int64_t AttentionBounds::longest(bool ofQueries) const {
  if (!ofQueries && attention.partKeys > 0)
    return attention.partKeys;
  if (attention.together) // all rows of a run
    return emitter.maximumRows(
        *Matrix::of(cast<RankedTensorType>((ofQueries ? attention.query : attention.key).getType())));
  StringRef size = ofQueries ? attention.querySize : attention.keySize;
  if (!size.empty())
    return emitter.maximumOf(size);
  return ofQueries ? 1 : emitter.maximumRows(*Matrix::of(cast<RankedTensorType>(attention.key.getType())));
}

int64_t AttentionBounds::maximumOwned() const {
  if (attention.together)
    return longest(/*ofQueries=*/true) * attention.members;
  StringRef size = ownsQueries ? attention.querySize : attention.keySize;
  return (size.empty() ? 1 : emitter.maximumOf(size)) * attention.members;
}

int64_t AttentionBounds::spanOf(int64_t rows) const {
  // A tile of whole queries begins with a query's first row.
  int64_t members = attention.members;
  return rows % members == 0 ? rows / members : (rows + members - 2) / members + 1;
}

Value AttentionBounds::ownerOf(Value row) const {
  return attention.members == 1 ? row
                                : emitter.builder().createOrFold<arith::DivUIOp>(row, emitter.index(attention.members));
}

int64_t AttentionBounds::maximumVisited(int64_t ownedAtOnce, int64_t visitedAtOnce) const {
  int64_t maximum = longest(!ownsQueries);
  for (const Bound &lower : bounds)
    for (const Bound &upper : bounds)
      if (lower.visited == 1 && upper.visited == -1 && lower.owned == -upper.owned)
        maximum = std::min(maximum, lower.constant + upper.constant +
                                        std::abs(lower.owned) * (spanOf(ownedAtOnce) - 1) + visitedAtOnce);
  return std::max<int64_t>(maximum, 1);
}

std::pair<Value, Value> AttentionBounds::visitedRange(Value first, Value visitedLength, int64_t ownedAtOnce,
                                                      int64_t visitedAtOnce) const {
  // A condition holds for some owned row exactly if it holds for the row that maximises its sum: the last or the first.
  auto &b = emitter.builder();
  Value begin = emitter.index(0), end = visitedLength;
  first = ownerOf(first);
  for (const Bound &bound : bounds) {
    int64_t constant = bound.constant + (bound.owned > 0 ? bound.owned * (spanOf(ownedAtOnce) - 1) : 0);
    if (std::abs(bound.visited) != 1)
      continue;
    if (bound.visited == 1)
      begin = b.createOrFold<arith::MaxSIOp>(begin,
                                             emitter.add(emitter.mul(first, -bound.owned), emitter.index(-constant)));
    else
      end = b.createOrFold<arith::MinSIOp>(end,
                                           emitter.add(emitter.mul(first, bound.owned), emitter.index(constant + 1)));
  }
  // Visit whole steps, counted from 0, because random numbers are drawn for four columns together.
  Value over = b.createOrFold<arith::RemUIOp>(begin, emitter.index(visitedAtOnce));
  return {b.createOrFold<arith::SubIOp>(begin, over), end};
}

Value AttentionBounds::allCount(Value first, Value at, Value visitedLength, int64_t rows, int64_t step) const {
  if (!areExact)
    return {};
  auto &b = emitter.builder();
  auto isAtLeast = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x, y); };
  Value all = isAtLeast(visitedLength, emitter.add(at, emitter.index(step)));
  first = ownerOf(first);
  // A condition holds for all pairs exactly if it holds for the pair that minimises its sum.
  for (const Bound &bound : bounds) {
    int64_t smallest = bound.constant + std::min<int64_t>(bound.owned, 0) * (spanOf(rows) - 1) +
                       std::min<int64_t>(bound.visited, 0) * (step - 1);
    Value sum = emitter.add(emitter.mul(first, bound.owned), emitter.mul(at, bound.visited));
    all = arith::AndIOp::create(b, all, isAtLeast(sum, emitter.index(-smallest)));
  }
  return all;
}
