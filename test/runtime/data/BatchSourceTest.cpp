#include "runtime/data/BatchSource.h"
#include "test/runtime/data/MemoryPairs.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

using namespace heddle;
using heddle::test::MemoryPairs;
using Ids = std::vector<int32_t>;

namespace {

// Pair i repeats i + 3 a few times, so that a batch shows which pairs it holds.
MemoryPairs makeCorpus(int count, uint64_t perBlock) {
  MemoryPairs corpus(perBlock);
  for (int i = 0; i < count; ++i)
    corpus.pairs.add(
        MarkedPair(Ids(size_t(1 + i * 7 % 5), i + 3), Ids(size_t(1 + i * 5 % 3), i + 3), {}, {}).example());
  return corpus;
}

// Returns the pairs of a batch, by the first token of each target.
Ids pairsOf(const Batch &batch) {
  Ids result;
  for (int32_t start : batch.target.starts)
    result.push_back(batch.targetOut[size_t(start)] - 3);
  return result;
}

Batch next(BatchSource &source) {
  Result<Batch> batch = source.next();
  EXPECT_TRUE(batch.ok()) << batch.message();
  return std::move(batch).value();
}

// For any corpus, windows and limits: each epoch serves every pair once, batches keep the limits, and a cursor taken
// anywhere continues with the same batches.
TEST(BatchSource, EpochsLimitsAndCursors) {
  bool held = rc::check([] {
    MemoryPairs corpus = makeCorpus(*rc::gen::inRange(1, 120), *rc::gen::inRange<uint64_t>(1, 20));
    BatchOptions options{.limits = {*rc::gen::inRange(6, 40), *rc::gen::inRange(1, 9), 8},
                         .seed = *rc::gen::arbitrary<uint64_t>(),
                         .windowLines = *rc::gen::inRange<uint64_t>(1, 150)};
    BatchSource source(corpus, options);
    Ids all(corpus.pairs.size());
    std::iota(all.begin(), all.end(), 0);
    int checkAt = *rc::gen::inRange(0, 30), batches = 0;
    for (uint64_t epoch = 0; epoch < 2; ++epoch) {
      Ids served;
      while (served.size() < all.size()) {
        DataCursor before = source.cursor();
        Batch batch = next(source);
        if (batches++ == checkAt) {
          BatchSource resumed(corpus, options, before);
          Batch same = next(resumed);
          RC_ASSERT(same.source.tokens == batch.source.tokens);
          RC_ASSERT(same.targetOut == batch.targetOut);
          RC_ASSERT(resumed.cursor() == source.cursor());
        }
        RC_ASSERT(batch.target.sequences() > 0);
        RC_ASSERT(batch.target.sequences() <= options.limits.maximumSequences);
        RC_ASSERT(batch.source.layout.tokens() <= options.limits.maximumTokens);
        RC_ASSERT(batch.target.tokens() <= options.limits.maximumTokens);
        RC_ASSERT(source.cursor().epoch == epoch);
        for (int32_t pair : pairsOf(batch))
          served.push_back(pair);
      }
      std::sort(served.begin(), served.end());
      RC_ASSERT(served == all);
    }
  });
  EXPECT_TRUE(held);
}

TEST(BatchSource, ABatchHoldsPairsOfOneBucket) {
  MemoryPairs corpus(10);
  for (int i = 0; i < 2'000; ++i)
    corpus.pairs.add(MarkedPair(Ids(size_t(1 + i * 7 % 30), 3), Ids(size_t(1 + i * 11 % 30), 3), {}, {}).example());
  BatchSource source(corpus, {.limits = {400, 20, 64}, .seed = 1, .windowLines = 2'000});
  int batches = 0, mixed = 0;
  while (true) {
    Batch batch = next(source);
    if (source.cursor().epoch != 0)
      break;
    unsigned least = 64, most = 0;
    for (size_t i = 0; i < batch.target.starts.size(); ++i) {
      auto length = unsigned(std::max(batch.source.layout.lengths[i], batch.target.lengths[i]));
      least = std::min(least, length);
      most = std::max(most, length);
    }
    ++batches;
    mixed += std::bit_width(least) != std::bit_width(most);
  }
  EXPECT_GT(batches, 80);
  EXPECT_LE(mixed, 3) << "one at the end of each bucket: lengths are 2 to 3, 4 to 7, 8 to 15, 16 to 31";
}

TEST(BatchSource, EpochsAndSeedsDiffer) {
  MemoryPairs corpus = makeCorpus(60, 4);
  BatchOptions options{.limits = {1'000, 60, 8}, .seed = 1, .windowLines = 24};
  auto first = [&](uint64_t seed, DataCursor at) {
    options.seed = seed;
    BatchSource source(corpus, options, at);
    return pairsOf(next(source));
  };
  EXPECT_EQ(first(1, {}), first(1, {}));
  EXPECT_NE(first(1, {}), first(2, {}));
  EXPECT_NE(first(1, {}), first(1, {1, 0, 0}));
}

// Checkpoints depend on the order, so it may not change between versions or machines.
TEST(BatchSource, OrderIsFixed) {
  MemoryPairs corpus = makeCorpus(12, 2);
  BatchSource source(corpus, {.limits = {1'000, 3, 8}, .seed = 1, .windowLines = 6});
  std::vector<Ids> served;
  for (int i = 0; i < 4; ++i)
    served.push_back(pairsOf(next(source)));
  EXPECT_EQ(served, (std::vector<Ids>{{1, 2, 11}, {0, 3, 10}, {9, 7, 6}, {5, 8, 4}}));
}

TEST(BatchSource, NothingToServe) {
  struct Empty final : ExampleBlocks {
    size_t blocks() const override { return 5; }
    uint64_t linesPerBlock() const override { return 1; }
    const std::string &fingerprint() const override { return print; }
    Status read(size_t, Draw, Examples &, CorpusReport &report) const override {
      ++report.read;
      ++report.overLong;
      return Success();
    }
    std::string print;
  } corpus;
  BatchSource source(corpus, {.limits = {10, 2, 8}, .seed = 1, .windowLines = 2});
  auto batch = source.next();
  ASSERT_FALSE(batch.ok());
  EXPECT_NE(batch.message().find("(0 of 5 pairs; skipped 5 longer than 8 tokens)"), std::string::npos)
      << batch.message();
}

// For any corpus, limits and number of ranks: the parts of a batch, in order, are the batch, and each part has the
// totals of the whole batch.
TEST(BatchSource, PartsAreTheWhole) {
  bool held = rc::check([] {
    MemoryPairs corpus = makeCorpus(*rc::gen::inRange(1, 60), 7);
    BatchOptions options{
        .limits = {*rc::gen::inRange(6, 40), *rc::gen::inRange(1, 9), 8}, .seed = 5, .windowLines = 30};
    auto parts = *rc::gen::inRange<uint32_t>(1, 6);
    BatchSource whole(corpus, options);
    std::vector<std::unique_ptr<BatchSource>> ranks;
    for (uint32_t i = 0; i < parts; ++i)
      ranks.push_back(std::make_unique<BatchSource>(corpus, options));
    for (int round = 0; round < 12; ++round) {
      Batch batch = next(whole);
      Ids pairs;
      for (uint32_t i = 0; i < parts; ++i) {
        Result<BatchPart> part = ranks[i]->nextPart(i, parts);
        RC_ASSERT(part.ok());
        RC_ASSERT(part->whole.sourceTokens == batch.source.layout.tokens());
        RC_ASSERT(part->whole.targetTokens == batch.target.tokens());
        RC_ASSERT(part->whole.predictions == batch.predictions());
        RC_ASSERT(part->batch.target.sequences() > 0);
        RC_ASSERT(part->batch.target.tokens() <= batch.target.tokens());
        RC_ASSERT(ranks[i]->cursor() == whole.cursor());
        Ids own = pairsOf(part->batch);
        if (part->counts)
          pairs.insert(pairs.end(), own.begin(), own.end());
      }
      RC_ASSERT(pairs == pairsOf(batch));
    }
  });
  EXPECT_TRUE(held);
}

TEST(BatchSource, PartsCostAlike) {
  using Begins = std::vector<size_t>;
  auto deal = [](std::vector<int64_t> costs, uint32_t parts) { return splitSequences(costs, parts); };
  EXPECT_EQ(deal({1, 1, 1, 1}, 2), (Begins{0, 2, 4}));
  EXPECT_EQ(deal({4, 1, 1, 2}, 2), (Begins{0, 1, 4}));
  EXPECT_EQ(deal({1, 1, 6}, 2), (Begins{0, 2, 3}));
  EXPECT_EQ(deal({5}, 3), (Begins{0, 0, 1, 1})); // the middle part has it
  EXPECT_EQ(deal({2, 2, 2}, 1), (Begins{0, 3}));
}

TEST(BatchSource, ReadingFails) {
  struct Broken final : ExampleBlocks {
    size_t blocks() const override { return 2; }
    uint64_t linesPerBlock() const override { return 1; }
    const std::string &fingerprint() const override { return print; }
    Status read(size_t, Draw, Examples &, CorpusReport &) const override {
      return makeError(ErrorKind::Io, "the disk is gone");
    }
    std::string print;
  } corpus;
  BatchSource source(corpus, {.limits = {10, 2, 8}, .seed = 1, .windowLines = 2});
  auto batch = source.next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.message(), "the disk is gone");
}

TEST(BatchSource, Remarks) {
  MemoryPairs corpus = makeCorpus(40, 4);
  BatchSource source(corpus, {.limits = {1'000, 20, 8}, .seed = 1, .windowLines = 20});
  EXPECT_EQ(source.takeRemark(), "");
  next(source);
  EXPECT_EQ(source.takeRemark(), "20 pairs in the first of 2 windows");
  EXPECT_EQ(source.takeRemark(), "");
  next(source);
  EXPECT_EQ(source.takeRemark(), "40 pairs");
}

} // namespace
