#include "compiler/Planning/ArenaAllocator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir::heddle;

namespace {

bool overlap(int64_t a, int64_t aEnd, int64_t b, int64_t bEnd) { return a < bEnd && b < aEnd; }

int64_t roundUp(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

/// The most that lives at one time: no arena can be smaller.
int64_t lowerBound(llvm::ArrayRef<ArenaBuffer> buffers, int64_t times) {
  int64_t most = 0;
  for (int64_t time = 0; time < times; ++time) {
    int64_t live = 0;
    for (const ArenaBuffer &buffer : buffers)
      if (buffer.first <= time && time <= buffer.last)
        live += roundUp(buffer.bytes);
    most = std::max(most, live);
  }
  return most;
}

void expectValid(llvm::ArrayRef<ArenaBuffer> buffers, int64_t total) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const ArenaBuffer &a = buffers[i];
    EXPECT_GE(a.offset, 0);
    EXPECT_EQ(a.offset % kArenaAlignment, 0);
    EXPECT_LE(a.offset + a.bytes, total);
    for (const ArenaBuffer &b : buffers.drop_front(i + 1))
      EXPECT_FALSE(overlap(a.first, a.last + 1, b.first, b.last + 1) &&
                   overlap(a.offset, a.offset + a.bytes, b.offset, b.offset + b.bytes));
  }
}

TEST(ArenaAllocator, EmptyArena) { EXPECT_EQ(allocateArena({}), 0); }

TEST(ArenaAllocator, FillsTheTightestGap) {
  llvm::SmallVector<ArenaBuffer> buffers = {
      {1024, 0, 9}, {768, 0, 1}, {512, 0, 9}, {300, 0, 1}, {256, 0, 9}, {250, 5, 6},
  };
  int64_t total = allocateArena(buffers);
  expectValid(buffers, total);
  EXPECT_EQ(total, lowerBound(buffers, 10));
  // Both the 768 and the 300 bytes have died by then.
  EXPECT_EQ(buffers[5].offset, buffers[3].offset);
}

// A training step in small: what the forward pass makes is used by the backward pass in the opposite order.
TEST(ArenaAllocator, PacksForwardAndBackwardTightly) {
  llvm::SmallVector<ArenaBuffer> buffers;
  constexpr int64_t layers = 24, times = 4 * layers;
  for (int64_t i = 0; i < layers; ++i) {
    buffers.push_back({4 << 20, 2 * i, times - 2 * i});
    buffers.push_back({16 << 20, 2 * i + 1, 2 * i + 2});
    buffers.push_back({1 << 20, times - 2 * i, times});
    buffers.push_back({4 << 20, times - 2 * i, times - 2 * i + 1});
  }
  int64_t total = allocateArena(buffers);
  expectValid(buffers, total);
  EXPECT_LE(total, lowerBound(buffers, times + 1) * 11 / 10);
}

TEST(ArenaAllocator, RandomLifetimes) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    llvm::SmallVector<ArenaBuffer> buffers;
    for (int i = 0; i < 100; ++i) {
      int64_t first = random() % 100;
      buffers.push_back({int64_t(1 + random() % 5000), first, int64_t(first + random() % 20)});
    }
    llvm::SmallVector<ArenaBuffer> again = buffers;
    int64_t total = allocateArena(buffers);
    expectValid(buffers, total);
    EXPECT_LE(total, lowerBound(buffers, 120) * 3 / 2);
    EXPECT_EQ(total, allocateArena(again));
    for (auto [a, b] : llvm::zip(buffers, again))
      EXPECT_EQ(a.offset, b.offset);
  }
}

} // namespace
