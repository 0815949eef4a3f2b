#include "compiler/Tiling/AttentionBounds.h"

#include "compiler/Kernels/MaskBounds.h"

using namespace mlir;
using namespace mlir::heddle;

AttentionBounds::AttentionBounds(KernelEmitter &emitter, const Attention &attention, bool ownsQueries)
    : emitter(emitter), attention(attention), ownsQueries(ownsQueries) {
  if (attention.mask)
    for (const MaskBound &bound : getMaskBounds(*attention.mask, &areExact)) {
      auto [owned, visited] = ownsQueries ? std::pair(bound.query, bound.key) : std::pair(bound.key, bound.query);
      bounds.push_back({owned, visited, bound.constant});
    }
}

int64_t AttentionBounds::maximumOwned() const {
  StringRef longest = ownsQueries ? attention.querySize : attention.keySize;
  return (longest.empty() ? 1 : emitter.maximumOf(longest)) * attention.members;
}

int64_t AttentionBounds::spanOf(int64_t rows) const {
  // Tiles of whole queries begin with a query's first row.
  int64_t members = attention.members;
  return rows % members == 0 ? rows / members : (rows + members - 2) / members + 1;
}

Value AttentionBounds::ownerOf(Value row) const {
  return attention.members == 1 ? row
                                : emitter.builder().createOrFold<arith::DivUIOp>(row, emitter.index(attention.members));
}

int64_t AttentionBounds::maximumVisited(int64_t ownedAtOnce, int64_t visitedAtOnce) const {
  StringRef longest = ownsQueries ? attention.keySize : attention.querySize;
  int64_t maximum = 1;
  if (!longest.empty())
    maximum = emitter.maximumOf(longest);
  else if (ownsQueries)
    maximum = emitter.maximumRows(*Matrix::of(cast<RankedTensorType>(attention.key.getType())));
  for (const Bound &lower : bounds)
    for (const Bound &upper : bounds)
      if (lower.visited == 1 && upper.visited == -1 && lower.owned == -upper.owned)
        maximum = std::min(maximum, lower.constant + upper.constant +
                                        std::abs(lower.owned) * (spanOf(ownedAtOnce) - 1) + visitedAtOnce);
  return std::max<int64_t>(maximum, 1);
}

std::pair<Value, Value> AttentionBounds::visitedRange(Value first, Value visitedLength, int64_t ownedAtOnce,
                                                      int64_t visitedAtOnce) const {
  // A condition holds for some owned row just where it holds for the row that makes its sum largest: the last or the
  // first.
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
  // Whole steps from 0 on: random numbers are drawn for four columns together.
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
  // A condition holds for all pairs just where it does for those of the rows that make its sum smallest.
  for (const Bound &bound : bounds) {
    int64_t smallest = bound.constant + std::min<int64_t>(bound.owned, 0) * (spanOf(rows) - 1) +
                       std::min<int64_t>(bound.visited, 0) * (step - 1);
    Value sum = emitter.add(emitter.mul(first, bound.owned), emitter.mul(at, bound.visited));
    all = arith::AndIOp::create(b, all, isAtLeast(sum, emitter.index(-smallest)));
  }
  return all;
}
