#include "tools/heddle-run/text/Batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

using namespace heddle::run;
using Ids = std::vector<int32_t>;

namespace {

// Pair i is i + 3 repeated a few times, so that a batch tells which pairs it holds.
SentencePairs makePairs(int count) {
  SentencePairs pairs;
  for (int i = 0; i < count; ++i)
    pairs.add(Ids(size_t(1 + i % 5), i + 3), Ids(size_t(1 + i % 3), i + 3));
  return pairs;
}

// The pairs of a batch, by the first token of each target.
Ids pairsOf(const Batch &batch) {
  Ids result;
  for (int32_t start : batch.target.starts)
    result.push_back(batch.targetOut[size_t(start)] - 3);
  return result;
}

TEST(Batches, Packing) {
  Batch batch;
  batch.add(Ids{5, 6, 7}, Ids{8});
  batch.add(Ids{9}, Ids{10, 11});
  EXPECT_EQ(batch.source.tokens, (Ids{5, 6, 7, kEndId, 9, kEndId}));
  EXPECT_EQ(batch.source.layout.positions, (Ids{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(batch.source.layout.starts, (Ids{0, 4}));
  EXPECT_EQ(batch.source.layout.lengths, (Ids{4, 2}));
  EXPECT_EQ(batch.targetIn, (Ids{kBeginId, 8, kBeginId, 10, 11}));
  EXPECT_EQ(batch.targetOut, (Ids{8, kEndId, 10, 11, kEndId}));
  EXPECT_EQ(batch.target.positions, (Ids{0, 1, 0, 1, 2}));
  EXPECT_EQ(batch.target.starts, (Ids{0, 2}));
  EXPECT_EQ(batch.target.lengths, (Ids{2, 3}));
  EXPECT_EQ(batch.tokens(), 11);

  Batch marked(Marks{.begin = 60, .end = 0});
  marked.add(Ids{5, 6}, Ids{8});
  EXPECT_EQ(marked.source.tokens, (Ids{5, 6, 0}));
  EXPECT_EQ(marked.targetIn, (Ids{60, 8}));
  EXPECT_EQ(marked.targetOut, (Ids{8, 0}));
}

TEST(Batches, LimitsHold) {
  SentencePairs pairs = makePairs(500);
  BatchLimits limits{.maximumTokens = 23, .maximumSequences = 6, .maximumLength = 8};
  BatchSource source(pairs, limits, 1);
  bool full = false;
  for (int i = 0; i < 300; ++i) {
    Batch batch = source.next();
    EXPECT_GT(batch.target.sequences(), 0);
    EXPECT_LE(batch.target.sequences(), limits.maximumSequences);
    EXPECT_LE(batch.source.layout.tokens(), limits.maximumTokens);
    EXPECT_LE(batch.target.tokens(), limits.maximumTokens);
    full |= batch.target.sequences() == limits.maximumSequences;
  }
  EXPECT_TRUE(full);
}

TEST(Batches, AnEpochServesEveryPairOnce) {
  SentencePairs pairs = makePairs(101);
  BatchSource source(pairs, {.maximumTokens = 40, .maximumSequences = 8, .maximumLength = 8}, 7);
  std::map<uint64_t, Ids> epochs;
  while (source.cursor().epoch < 3)
    for (int32_t pair : pairsOf(source.next()))
      epochs[source.cursor().epoch].push_back(pair);
  Ids all(101);
  std::iota(all.begin(), all.end(), 0);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    Ids served = epochs[epoch];
    EXPECT_NE(served, all) << "not shuffled";
    std::sort(served.begin(), served.end());
    EXPECT_EQ(served, all);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(Batches, CursorResumesAnywhere) {
  SentencePairs pairs = makePairs(60);
  BatchLimits limits{.maximumTokens = 30, .maximumSequences = 7, .maximumLength = 8};
  BatchSource whole(pairs, limits, 5);
  for (int i = 0; i < 40; ++i) {
    BatchSource resumed(pairs, limits, 5, whole.cursor());
    Batch expected = whole.next(), got = resumed.next();
    EXPECT_EQ(got.source.tokens, expected.source.tokens);
    EXPECT_EQ(got.targetOut, expected.targetOut);
    EXPECT_EQ(resumed.cursor(), whole.cursor());
  }
}

TEST(Batches, SeedDecidesTheOrder) {
  SentencePairs pairs = makePairs(60);
  BatchLimits limits{.maximumTokens = 1'000, .maximumSequences = 60, .maximumLength = 8};
  auto first = [&](uint64_t seed) { return pairsOf(BatchSource(pairs, limits, seed).next()); };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

// The order is part of what a checkpoint means: it may not change from one version or machine to the next.
TEST(Batches, OrderIsFixed) {
  SentencePairs pairs = makePairs(8);
  BatchSource source(pairs, {.maximumTokens = 1'000, .maximumSequences = 8, .maximumLength = 8}, 1);
  EXPECT_EQ(pairsOf(source.next()), (Ids{2, 5, 7, 6, 1, 3, 0, 4}));
}

TEST(Batches, InOrder) {
  SentencePairs pairs = makePairs(20);
  Ids served;
  for (const Batch &batch : packInOrder(pairs, {.maximumTokens = 15, .maximumSequences = 4, .maximumLength = 8})) {
    EXPECT_LE(batch.target.sequences(), 4);
    for (int32_t pair : pairsOf(batch))
      served.push_back(pair);
  }
  Ids all(20);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(served, all);
}

} // namespace
