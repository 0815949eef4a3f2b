#include "runtime/data/Batches.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace heddle;
using Ids = std::vector<int32_t>;

namespace {

// Pair i repeats i + 3 a few times, so that a batch shows which pairs it holds.
Examples makePairs(int count) {
  Examples pairs;
  for (int i = 0; i < count; ++i)
    pairs.add(MarkedPair(Ids(size_t(1 + i % 5), i + 3), Ids(size_t(1 + i % 3), i + 3), {}, {}).example());
  return pairs;
}

// Returns the pairs of a batch, by the first token of each target.
Ids pairsOf(const Batch &batch) {
  Ids result;
  for (int32_t start : batch.target.starts)
    result.push_back(batch.targetOut[size_t(start)] - 3);
  return result;
}

TEST(Batches, Packing) {
  Batch batch;
  batch.add(MarkedPair(Ids{5, 6, 7}, Ids{8}, {}, {}).example());
  batch.add(MarkedPair(Ids{9}, Ids{10, 11}, {}, {}).example());
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

  Batch marked;
  marked.add(MarkedPair(Ids{5, 6}, Ids{8}, {}, Marks{.begin = 60, .end = 0}).example());
  EXPECT_EQ(marked.source.tokens, (Ids{5, 6, 0}));
  EXPECT_EQ(marked.targetIn, (Ids{60, 8}));
  EXPECT_EQ(marked.targetOut, (Ids{8, 0}));
}

// Both texts of a pair are sequences of the source, and a pair's label is its place.
TEST(Batches, JoinedPairs) {
  Batch batch(Marks{.hasTypes = true, .joinsPairs = true});
  const Ids left{1, 5, 2, 2}, right{1, 6, 7, 2};
  const float grade = 0.5f;
  batch.add({.source = left, .partner = right});
  batch.add({.source = right, .partner = left});
  EXPECT_EQ(batch.source.tokens, (Ids{1, 5, 2, 2, 1, 6, 7, 2, 1, 6, 7, 2, 1, 5, 2, 2}));
  EXPECT_EQ(batch.source.types, Ids(16, 0)) << "a mark within a text begins no second text";
  Batch two(Marks{.hasTypes = true});
  two.add({.source = left});
  two.add({.source = left, .secondBegin = 2});
  EXPECT_EQ(two.source.types, (Ids{0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(batch.source.layout.lengths, (Ids{4, 4, 4, 4}));
  EXPECT_EQ(batch.pairLeft, (Ids{0, 2}));
  EXPECT_EQ(batch.pairRight, (Ids{1, 3}));
  EXPECT_EQ(batch.pairs.starts, Ids{0});
  EXPECT_EQ(batch.pairs.lengths, Ids{2});
  EXPECT_EQ(batch.labels, (Ids{0, 1}));
  EXPECT_EQ(batch.predictions(), 2);
  EXPECT_FALSE(batch.hasRoomFor({.source = left, .partner = right},
                                {.maximumTokens = 32, .maximumSequences = 5, .maximumLength = 8}));
  EXPECT_FALSE(batch.hasRoomFor({.source = left, .partner = right},
                                {.maximumTokens = 23, .maximumSequences = 6, .maximumLength = 8}));
  EXPECT_TRUE(batch.hasRoomFor({.source = left, .partner = right},
                               {.maximumTokens = 24, .maximumSequences = 6, .maximumLength = 8}));

  Batch graded(Marks{.joinsPairs = true});
  graded.add({.source = left, .grade = {&grade, 1}, .partner = right});
  EXPECT_TRUE(graded.labels.empty());
  EXPECT_EQ(graded.grades, std::vector<float>{0.5f});
  EXPECT_EQ(graded.predictions(), 1);
}

TEST(Batches, InOrder) {
  Examples pairs = makePairs(20);
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
