#include "runtime/train/Evaluator.h"
#include "test/runtime/model/FakeEngine.h"

#include <gtest/gtest.h>

using namespace heddle;
using heddle::test::FakeEngine;
using Ids = std::vector<int32_t>;

namespace {

TEST(Evaluator, MeanOverAllTokens) {
  FakeEngine engine(16, 4, 16);
  Examples pairs;
  for (int i = 0; i < 9; ++i)
    pairs.add(MarkedPair(Ids{3, 4}, Ids(size_t(1 + i % 4), 5), {}, {}).example());
  auto result = evaluate(engine, packInOrder(pairs, {16, 4, 16}));
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result->tokens, 30);
  EXPECT_DOUBLE_EQ(result->loss, 0.5);
  EXPECT_NEAR(result->perplexity(), 1.6487, 1e-4);
  EXPECT_GT(engine.calls.size(), 1u);
}

} // namespace
