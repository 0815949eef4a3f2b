// Sums over ranks between the launches of an entry.
#include "runtime/ranks/Collectives.h"
#include "test/runtime/SessionTest.h"

namespace heddle {
namespace {

class SessionSumsTest : public SessionTest {};
HEDDLE_FOR_EACH_BACKEND(SessionSumsTest);

// Simulates three ranks with equal numbers, and records what was asked of them.
class ThreeAlike final : public Collectives {
public:
  uint32_t rank() const override { return 0; }
  uint32_t ranks() const override { return 3; }
  Status sum(std::span<float> values, std::string_view what) override {
    asked.push_back(str(what, ": ", values.size()));
    for (float &value : values)
      value *= 3;
    return Success();
  }
  Status gather(std::span<const std::byte> own, std::span<std::byte> all, std::string_view what) override {
    asked.push_back(str(what, ": ", own.size() / sizeof(float)));
    for (uint32_t rank = 0; rank < ranks(); ++rank)
      std::ranges::copy(own, all.begin() + rank * own.size());
    return Success();
  }
  Status broadcast(std::span<std::byte>, std::string_view) override { return Success(); }
  std::vector<std::string> asked;
};

// Adds a sum over ranks to the entry `chain`: double = a + a, and then triple = double + a.
schema::CollectiveT &addSum(schema::ModuleT &module, uint32_t before, std::vector<uint64_t> from,
                            std::vector<uint64_t> to) {
  schema::EntryT &chain = *module.entries[1];
  auto collective = std::make_unique<schema::CollectiveT>();
  collective->before = before;
  auto slot = [](uint64_t index) { return schema::Binding(schema::Space::Arena, 0, index * 4000, 4000); };
  std::ranges::transform(from, std::back_inserter(collective->from), slot);
  std::ranges::transform(to, std::back_inserter(collective->to), slot);
  chain.collectives.push_back(std::move(collective));
  return *chain.collectives.back();
}

struct Chain {
  float doubled, tripled;
};

Chain callChain(Session &session) {
  auto outputs = session.call("chain", {{"a", ramp(1000, 1)}});
  EXPECT_TRUE(outputs.ok()) << outputs.message();
  return outputs ? Chain{outputs->find("double")->values<float>()[499], outputs->find("triple")->values<float>()[499]}
                 : Chain{};
}

TEST_P(SessionSumsTest, ranksSumBetweenLaunches) {
  for (bool separate : {false, true})
    for (bool checked : {false, true}) {
      ThreeAlike others;
      auto session = openChanged([](auto &m) { addSum(m, 1, {1}, {1}); },
                                 {.checkNumbers = checked, .separateValues = separate, .collectives = &others});
      ASSERT_TRUE(session);
      for (int call = 0; call < 2; ++call) {
        Chain made = callChain(*session);
        EXPECT_EQ(made.doubled, 3 * 1000.0f);
        EXPECT_EQ(made.tripled, 3 * 1000.0f + 500.0f);
      }
      EXPECT_EQ(others.asked, std::vector<std::string>(2, "sum 1 of 1 of 'chain': 1000"));
    }
}

// The results are stored elsewhere. The first sum is needed in the middle; no launch needs the last one, of two
// tensors.
TEST_P(SessionSumsTest, ranksSumElsewhereAndAtTheEnd) {
  ThreeAlike others;
  auto session =
      openChanged([](auto &m) { addSum(m, 1, {1}, {3}), addSum(m, 2, {1, 2}, {1, 2}); }, {.collectives = &others});
  ASSERT_TRUE(session);
  Chain made = callChain(*session);
  EXPECT_EQ(made.doubled, 3 * 1000.0f); // summed once, at the end
  EXPECT_EQ(made.tripled, 3 * 1500.0f);
  EXPECT_EQ(others.asked, (std::vector<std::string>{"sum 1 of 2 of 'chain': 1000", "sum 2 of 2 of 'chain': 2000"}));
}

// A sum of a sum waits for the first one, with or without a launch between them.
TEST_P(SessionSumsTest, ranksSumWhatTheyHaveSummed) {
  for (bool separate : {false, true})
    for (bool checked : {false, true}) {
      ThreeAlike others;
      auto session = openChanged(
          [](auto &m) {
            addSum(m, 1, {1}, {1}), addSum(m, 1, {1}, {3}), addSum(m, 1, {3}, {1});
            addSum(m, 2, {2}, {2}), addSum(m, 2, {2}, {2});
          },
          {.checkNumbers = checked, .separateValues = separate, .collectives = &others});
      ASSERT_TRUE(session);
      Chain made = callChain(*session);
      EXPECT_EQ(made.doubled, 27 * 1000.0f);
      EXPECT_EQ(made.tripled, 9 * (27 * 1000.0f + 500.0f));
    }
}

// A launch reads a part of a sum, which is stored where `triple` will be.
TEST_P(SessionSumsTest, launchesReadPartsOfSums) {
  for (bool separate : {false, true})
    for (bool checked : {false, true}) {
      ThreeAlike others;
      auto session = openChanged(
          [](auto &m) {
            schema::CollectiveT &sum = addSum(m, 0, {0}, {2});
            sum.from = {schema::Binding(schema::Space::Arena, 0, 0, 8000)};
            sum.to = {schema::Binding(schema::Space::Arena, 0, 2 * 4000, 8000)};
            m.entries[1]->launches[0]->bindings[0] = schema::Binding(schema::Space::Arena, 0, 2 * 4000, 4000);
          },
          {.checkNumbers = checked, .separateValues = separate, .collectives = &others});
      ASSERT_TRUE(session);
      for (int call = 0; call < 2; ++call) {
        Chain made = callChain(*session);
        EXPECT_EQ(made.doubled, 4 * 500.0f);
        EXPECT_EQ(made.tripled, 5 * 500.0f);
      }
    }
}

// A sum that is stored over an input destroys it, so the next run must send the input again.
TEST_P(SessionSumsTest, inputsThatASumOverwritesAreSentAgain) {
  ThreeAlike others;
  auto session = openChanged([](auto &m) { addSum(m, 0, {0}, {0}); }, {.collectives = &others});
  ASSERT_TRUE(session);
  HostTensor a = ramp(1000, 1);
  std::vector<Input> inputs{{"a", a}};
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(session->run("chain", inputs, call == 0 ? Send::All : Send::Overwritten).ok());
    EXPECT_EQ(session->output("double")->values<float>()[499], 3 * 1000.0f) << "call " << call;
  }
}

// With a single rank, results stored elsewhere are copied.
TEST_P(SessionSumsTest, oneRankSumsAlone) {
  auto session = openChanged([](auto &m) {
    addSum(m, 1, {1}, {1}), addSum(m, 1, {1}, {3});
    m.entries[1]->launches[1]->bindings[0] = schema::Binding(schema::Space::Arena, 0, 3 * 4000, 4000);
  });
  ASSERT_TRUE(session);
  Chain made = callChain(*session);
  EXPECT_EQ(made.doubled, 1000.0f);
  EXPECT_EQ(made.tripled, 1500.0f);
}

TEST_P(SessionSumsTest, entriesOfRanksAreTimed) {
  HostTensor a = ramp(1000, 1);
  std::vector<Input> inputs{{"a", a}};
  for (uint32_t before : {0, 1, 2}) { // if a sum comes first or last, a part has no launches
    ThreeAlike others;
    auto session =
        openChanged([&](auto &m) { addSum(m, before, {1}, {before == 1 ? 1u : 3u}); }, {.collectives = &others});
    ASSERT_TRUE(session);
    auto launches = session->profile("chain", inputs);
    ASSERT_TRUE(launches.ok()) << launches.message();
    EXPECT_EQ(launches->size(), 2u);
    EXPECT_LE((*launches)[0].begin, (*launches)[0].end);
    EXPECT_EQ(session->output("triple")->values<float>()[499], before == 1 ? 3500.0f : 1500.0f);
  }
}

} // namespace
} // namespace heddle
