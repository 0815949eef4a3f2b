#include "compiler/Program/Planning/ArenaAllocator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir::heddle;

namespace {

bool overlap(int64_t a, int64_t aEnd, int64_t b, int64_t bEnd) { return a < bEnd && b < aEnd; }

int64_t roundUp(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

/// Returns the most bytes that are live at one time: no arena can be smaller.
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

int64_t sum(llvm::ArrayRef<int64_t> blocks) { return std::accumulate(blocks.begin(), blocks.end(), int64_t(0)); }

/// Returns the bytes of an arena with a single block.
int64_t allocateOne(llvm::MutableArrayRef<ArenaBuffer> buffers) {
  llvm::SmallVector<int64_t> blocks = allocateArena(buffers);
  EXPECT_EQ(blocks.size(), 1u);
  return sum(blocks);
}

/// Checks that each buffer lies in one of the blocks, and that no block is larger than `mostBytes`.
void expectInBlocks(llvm::ArrayRef<ArenaBuffer> buffers, llvm::ArrayRef<int64_t> blocks, int64_t mostBytes) {
  llvm::SmallVector<int64_t> ends;
  for (int64_t bytes : blocks) {
    EXPECT_LE(bytes, mostBytes);
    EXPECT_GT(bytes, 0);
    EXPECT_EQ(bytes % kArenaAlignment, 0);
    ends.push_back((ends.empty() ? 0 : ends.back()) + bytes);
  }
  for (const ArenaBuffer &buffer : buffers) {
    auto end = llvm::upper_bound(ends, buffer.offset);
    ASSERT_NE(end, ends.end());
    EXPECT_LE(buffer.offset + buffer.bytes, *end);
  }
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

TEST(ArenaAllocator, EmptyArena) { EXPECT_TRUE(allocateArena({}).empty()); }

TEST(ArenaAllocator, FillsTheTightestGap) {
  llvm::SmallVector<ArenaBuffer> buffers = {
      {1024, 0, 9}, {768, 0, 1}, {512, 0, 9}, {300, 0, 1}, {256, 0, 9}, {250, 5, 6},
  };
  int64_t total = allocateOne(buffers);
  expectValid(buffers, total);
  EXPECT_EQ(total, lowerBound(buffers, 10));
  // The buffers of 768 and of 300 bytes are both dead by then.
  EXPECT_EQ(buffers[5].offset, buffers[3].offset);
}

// A small training step: the backward pass uses the results of the forward pass in reverse order.
TEST(ArenaAllocator, PacksForwardAndBackwardTightly) {
  llvm::SmallVector<ArenaBuffer> buffers;
  constexpr int64_t layers = 24, times = 4 * layers;
  for (int64_t i = 0; i < layers; ++i) {
    buffers.push_back({4 << 20, 2 * i, times - 2 * i});
    buffers.push_back({16 << 20, 2 * i + 1, 2 * i + 2});
    buffers.push_back({1 << 20, times - 2 * i, times});
    buffers.push_back({4 << 20, times - 2 * i, times - 2 * i + 1});
  }
  int64_t total = allocateOne(buffers);
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
    int64_t total = allocateOne(buffers);
    expectValid(buffers, total);
    EXPECT_LE(total, lowerBound(buffers, 120) * 3 / 2);
    EXPECT_EQ(total, allocateOne(again));
    for (auto [a, b] : llvm::zip(buffers, again))
      EXPECT_EQ(a.offset, b.offset);
  }
}

// Two buffers live at the same time and do not fit into one block; a third fits into the rest of the second block.
TEST(ArenaAllocator, BeginsABlockWhereThereIsNoRoom) {
  llvm::SmallVector<ArenaBuffer> buffers = {{1024, 0, 9}, {768, 0, 9}, {256, 0, 9}, {512, 10, 11}};
  llvm::SmallVector<int64_t> blocks = allocateArena(buffers, 1024);
  EXPECT_EQ(blocks, (llvm::SmallVector<int64_t>{1024, 1024}));
  EXPECT_EQ(buffers[0].offset, 0);
  EXPECT_EQ(buffers[1].offset, 1024);
  EXPECT_EQ(buffers[2].offset, 1792);
  EXPECT_EQ(buffers[3].offset, 0); // the first buffer is dead
}

TEST(ArenaAllocator, ABlockIsNoLargerThanItsBuffers) {
  llvm::SmallVector<ArenaBuffer> buffers = {{700, 0, 9}, {700, 0, 9}, {700, 0, 9}};
  EXPECT_EQ(allocateArena(buffers, 1024), (llvm::SmallVector<int64_t>{768, 768, 768}));
}

TEST(ArenaAllocator, RandomLifetimesInBlocks) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    llvm::SmallVector<ArenaBuffer> buffers;
    for (int i = 0; i < 100; ++i) {
      int64_t first = random() % 100;
      buffers.push_back({int64_t(1 + random() % 5000), first, int64_t(first + random() % 20)});
    }
    llvm::SmallVector<ArenaBuffer> one = buffers, wide = buffers;
    int64_t total = allocateOne(one);
    constexpr int64_t most = 8192;
    llvm::SmallVector<int64_t> blocks = allocateArena(buffers, most);
    EXPECT_GT(blocks.size(), 1u);
    expectInBlocks(buffers, blocks, most);
    expectValid(buffers, sum(blocks));
    EXPECT_LE(sum(blocks), lowerBound(buffers, 120) * 2);
    // A limit that one block satisfies changes nothing.
    EXPECT_EQ(allocateArena(wide, total), llvm::SmallVector<int64_t>{total});
    for (auto [a, b] : llvm::zip(one, wide))
      EXPECT_EQ(a.offset, b.offset);
  }
}

} // namespace
