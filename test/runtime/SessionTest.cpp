// The whole runtime on real drivers, with artifacts made in memory and kernels written by hand. Everything runs on
// every backend. On Vulkan it runs twice: with direct access to device memory, and with the copies that other devices
// need.

#include "test/runtime/SessionTest.h"
#include "runtime/session/LaunchCosts.h"
#include "runtime/session/NumberCheck.h"
#include "test/runtime/VulkanEnvironment.h"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace heddle {
namespace {

[[maybe_unused]] testing::Environment *const environment = test::watchValidation();

HEDDLE_FOR_EACH_BACKEND(SessionTest);

TEST_P(SessionTest, addsVectorsOfAnyLength) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  for (size_t n : {1u, 7u, 8u, 9u, 999u, 1000u, 3u, 0u}) {
    HostTensor a = ramp(n, 1), b = ramp(n, 100);
    auto outputs = session->call("add", {{"b", b}, {"a", a}});
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    const HostTensor *sum = outputs->find("sum");
    ASSERT_TRUE(sum);
    ASSERT_EQ(sum->shape(), Shape{static_cast<int64_t>(n)});
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(sum->values<float>()[i], 101.0f + 2 * static_cast<float>(i));
  }
}

// `add` is compiled with a variant for few rows, which computes a + a instead.
TEST_P(SessionTest, callsRunTheVariantForTheirRows) {
  auto session = openAdder({.few = 9}), checked = openAdder({.few = 9}, {.checkNumbers = true});
  ASSERT_TRUE(session);
  ASSERT_TRUE(checked);
  for (size_t n : {1u, 9u, 10u, 1000u, 8u, 0u}) {
    HostTensor a = ramp(n, 1), b = ramp(n, 100);
    const Input inputs[] = {{"a", a}, {"b", b}};
    auto outputs = session->call("add", inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    std::span<const float> sum = outputs->find("sum")->values<float>();
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(sum[i], a.values<float>()[i] + (n <= 9 ? a : b).values<float>()[i]) << n;
    EXPECT_TRUE(checked->call("add", inputs).ok());
    auto costs = session->costs("add", inputs);
    ASSERT_TRUE(costs.ok()) << costs.message();
    EXPECT_EQ(costs->at(0).flops, n <= 9 ? double(n) : 0);
    EXPECT_EQ(costs->at(1).flops, n <= 9 ? 0 : double(n));
  }
}

TEST_P(SessionTest, variablesLargerThanOneCopyArrive) {
  constexpr int64_t count = 10'000'019; // 40 MB, more than the 16 MiB of a copy
  auto session = openAdder({.weightExtent = count});
  ASSERT_TRUE(session);
  HostTensor value = ramp(count, 0);
  ASSERT_TRUE(session->writeVariable("weight", value).ok());
  auto back = session->readVariable("weight");
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_TRUE(std::ranges::equal(back->values<float>(), value.values<float>()));
}

TEST_P(SessionTest, largeInputsArrive) {
  constexpr size_t count = 524'280; // 65,535 workgroups of 8
  auto session = openAdder({.maximum = count});
  ASSERT_TRUE(session);
  HostTensor a = ramp(count, 0), b = HostTensor::vector(std::vector<float>(count, 0.5f));
  auto outputs = session->call("add", {{"a", a}, {"b", b}});
  ASSERT_TRUE(outputs.ok()) << outputs.message();
  std::span<const float> sum = outputs->find("sum")->values<float>();
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(sum[i], a.values<float>()[i] + 0.5f) << i;
}

TEST_P(SessionTest, barriersOrderLaunches) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  HostTensor a = ramp(1000, 3);
  for (int round = 0; round < 20; ++round) {
    auto outputs = session->call("chain", {{"a", a}});
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    for (size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(outputs->find("double")->values<float>()[i], 2 * a.values<float>()[i]);
      ASSERT_EQ(outputs->find("triple")->values<float>()[i], 3 * a.values<float>()[i]);
    }
  }
}

TEST_P(SessionTest, runsFollowEachOtherWithoutTheHostWaiting) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  std::vector<float> expected(1000, 0);
  std::mt19937 random(3);
  for (int step = 0; step < 100; ++step) {
    size_t n = 1 + random() % 1000;
    HostTensor a = ramp(n, static_cast<float>(step)); // destroyed before the device reads it
    ASSERT_TRUE(session->run("accumulate", {{"a", a}}).ok());
    for (size_t i = 0; i < n; ++i)
      expected[i] += a.values<float>()[i];
  }
  auto total = session->readVariable("total");
  ASSERT_TRUE(total.ok()) << total.message();
  EXPECT_TRUE(std::ranges::equal(total->values<float>(), expected));
}

TEST_P(SessionTest, outputsAreReadOnDemand) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->output("sum").ok()) << "nothing has run";
  HostTensor a = ramp(5, 1);
  ASSERT_TRUE(session->run("chain", {{"a", a}}).ok());
  auto triple = session->output("triple");
  ASSERT_TRUE(triple.ok()) << triple.message();
  EXPECT_EQ(triple->values<float>()[4], 15.0f);
  EXPECT_FALSE(session->output("sum").ok()) << "an output of another entry";
}

TEST_P(SessionTest, checkedCallsStopAtTheFirstNumberThatIsNone) {
  constexpr float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  auto session = open(test::buildAdder({.targets = GetParam().targets}), {.checkNumbers = true});
  ASSERT_TRUE(session);
  auto messageOf = [&](std::string_view entry, std::initializer_list<Input> inputs) {
    auto outputs = session->call(entry, inputs);
    return outputs.ok() ? "fine" : outputs.message();
  };
  std::vector<float> total(1000, 0.0f);
  total[5] = inf; // after the end of a vector of five, so it is not checked
  ASSERT_TRUE(session->writeVariable("total", HostTensor::vector(total)).ok());
  HostTensor fine = ramp(5, 1), six = ramp(6, 1);
  EXPECT_EQ(messageOf("add", {{"a", fine}, {"b", fine}}), "fine");
  EXPECT_EQ(session->output("sum")->values<float>()[4], 10.0f);
  EXPECT_EQ(messageOf("accumulate", {{"a", fine}}), "fine");
  EXPECT_EQ(
      messageOf("accumulate", {{"a", six}}),
      "entry 'accumulate', launch 0 of 1, kernel 'add' (sum: add (adder:4:1)): it wrote inf at [5] of variable "
      "'total' (1 of 6 are not finite). It read inf at [5] of variable 'total', which was there before the call.");
  // The error is in the second of two launches, whose first number is too large by then.
  HostTensor large = HostTensor::vector<float>({1, 2, 0.4f * most, -0.4f * most, 3});
  EXPECT_EQ(
      messageOf("chain", {{"a", large}}),
      "entry 'chain', launch 1 of 2, kernel 'add' (sum: add (adder:3:1)): it wrote inf at [2] of a f32[5] (2 of 5 "
      "are not finite). All values that it read were finite.");
  HostTensor infinite = HostTensor::vector<float>({1, -inf, inf}), other = HostTensor::vector<float>({1, inf, 2});
  EXPECT_EQ(messageOf("add", {{"a", infinite}, {"b", other}}),
            "entry 'add', launch 0 of 1, kernel 'add' (sum: add (adder:1:1)): it wrote nan at [1] of a "
            "f32[3] (2 of 3 are not finite). It read -inf at [1] of input 'a', and inf at [1] of "
            "input 'b', which was there before the call.");
  EXPECT_EQ(messageOf("init", {}), "fine");
  auto old = open(test::buildAdder({.targets = GetParam().targets, .described = false}), {.checkNumbers = true});
  ASSERT_TRUE(old);
  EXPECT_NE(old->call("add", {{"a", fine}, {"b", fine}}).message().find("Compile the model anew"), std::string::npos);
}

TEST_P(SessionTest, variablesAreReadAndWritten) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->readVariable("weight")->values<float>()[999], 0.0f) << "variables start at zero";
  ASSERT_TRUE(session->writeVariable("weight", ramp(1000, 7)).ok());
  EXPECT_TRUE(std::ranges::equal(session->readVariable("weight")->values<float>(), ramp(1000, 7).values<float>()));
  EXPECT_FALSE(session->writeVariable("weight", ramp(999, 7)).ok());
  EXPECT_FALSE(session->writeVariable("weight", HostTensor::vector(std::vector<int32_t>(1000))).ok());
  EXPECT_FALSE(session->writeVariable("nothing", ramp(1, 0)).ok());
  ASSERT_TRUE(session->init(0x1122334455667788).ok());
  EXPECT_TRUE(std::ranges::equal(session->readVariable("seed")->values<int32_t>(),
                                 std::vector<int32_t>{0x55667788, 0x11223344}));
}

// Only caches with that many rows are copied; variables without memory, and indices, are left out.
TEST_P(SessionTest, rowsOfCachesAreCopied) {
  auto session = openChanged([](schema::ModuleT &module) {
    for (auto &variable : module.variables)
      if (variable->name == "total")
        variable->kind = schema::VariableKind::Cache;
  });
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->writeVariable("total", ramp(1000, 7)).ok());
  ASSERT_TRUE(session->writeVariable("weight", ramp(1000, 7)).ok());
  ASSERT_TRUE(session->run("accumulate", {{"a", ramp(3, 1)}}).ok()); // a run before the copy
  ASSERT_TRUE(session->copyCacheRows(1000, 0, 990, 10).ok());
  std::vector<float> expected(1000);
  std::iota(expected.begin(), expected.end(), 7.0F);
  for (size_t i = 0; i < 3; ++i)
    expected[i] += float(i + 1);
  std::copy_n(expected.begin(), 10, expected.begin() + 990);
  EXPECT_TRUE(std::ranges::equal(session->readVariable("total")->values<float>(), expected));
  EXPECT_TRUE(std::ranges::equal(session->readVariable("weight")->values<float>(), ramp(1000, 7).values<float>()));
  ASSERT_TRUE(session->copyCacheRows(7, 0, 1, 1).ok()); // `unused`, which has no memory yet
  for (bool areIndices : {true, false}) {
    auto other = openChanged([&](schema::ModuleT &module) {
      for (auto &variable : module.variables)
        if (variable->name == "seed") {
          variable->kind = schema::VariableKind::Cache;
          variable->value_limit = areIndices ? 7 : 0;
        }
    });
    ASSERT_TRUE(other->writeVariable("seed", HostTensor::vector<int32_t>({6, 5})).ok());
    ASSERT_TRUE(other->copyCacheRows(2, 0, 1, 1).ok());
    EXPECT_EQ(other->readVariable("seed")->values<int32_t>()[1], areIndices ? 5 : 6);
  }
  EXPECT_FALSE(session->copyCacheRows(1000, 0, 991, 10).ok());
  EXPECT_FALSE(session->copyCacheRows(1000, 5, 6, 2).ok());
}

TEST_P(SessionTest, sizesComeFromInputValues) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->writeVariable("weight", ramp(1000, 1)).ok());
  HostTensor index = HostTensor::vector<int32_t>({0, 9}), lengths = HostTensor::vector<int32_t>({3, 17, 2});
  auto outputs = session->call("lookup", {{"index", index}, {"lengths", lengths}});
  ASSERT_TRUE(outputs.ok()) << outputs.message();
  ASSERT_EQ(outputs->find("twice")->shape(), Shape{17});
  EXPECT_EQ(outputs->find("twice")->values<float>()[16], 34.0f);
}

// In an artifact older than roles, and for names given by hand, the name tells the role.
TEST_P(SessionTest, inputsHaveRoles) {
  auto roles = [&](std::string_view name, std::string_view role) {
    auto session = openChanged([&](schema::ModuleT &m) {
      m.entries[0]->inputs[0]->name = name;
      m.entries[0]->inputs[0]->role = role;
    });
    const PortInfo &port = session->findEntry("add")->inputs[0];
    return str(port.role, " of ", port.of);
  };
  EXPECT_EQ(roles("a", "source.positions"), "positions of source");
  EXPECT_EQ(roles("source_positions", ""), "positions of source");
  EXPECT_EQ(roles("source_stride2_starts", ""), "starts of source_stride2");
  EXPECT_EQ(roles("source", ""), "tokens of source");
  EXPECT_EQ(roles("source_sentences", ""), "positions of source_sentences");
  EXPECT_EQ(roles("target_in", ""), "tokens of target");
  EXPECT_EQ(roles("target_out", ""), "next of target");
  EXPECT_EQ(roles("a", ""), " of ");
}

TEST_P(SessionTest, rowsThatAreNotThereAreRefused) {
  auto session = openChanged([](schema::ModuleT &m) {
    test::packCode(*m.targets[0]);
    test::addSegments(m);
    m.entries[4]->inputs[0]->value_limit = 0;
    m.variables[3]->value_limit = 7; // seed
  });
  ASSERT_TRUE(session);
  auto messageOf = [&](std::vector<int32_t> index, std::vector<int32_t> lengths) {
    HostTensor a = HostTensor::vector(std::span<const int32_t>(index)),
               b = HostTensor::vector(std::span<const int32_t>(lengths));
    auto outputs = session->call("lookup", {{"index", a}, {"lengths", b}});
    return outputs.ok() ? "fine" : outputs.message();
  };
  EXPECT_EQ(messageOf({0, 3, 5, 6}, {4, 1, 0}), "fine");
  EXPECT_EQ(messageOf({0, 3, 900, 6}, {4, 1, 0}), "fine") << "no rows may begin anywhere";
  EXPECT_EQ(messageOf({0, 3, 2, 6}, {4, 1, 2}), "fine") << "the last rows";
  EXPECT_EQ(
      messageOf({0, 3, 2, 6}, {4, 1, 3}),
      "entry 'lookup': input 'index' holds 2 at index 2 and input 'lengths' holds 3 at index 2: start 2, length 3, "
      "and there are 4 rows (size 'n').");
  EXPECT_NE(messageOf({-1, 3}, {1}).find("start -1, length 1, and there are 2 rows"), std::string::npos);
  EXPECT_NE(messageOf({0, 1}, {1, -1}).find("length -1"), std::string::npos);
  EXPECT_NE(messageOf({2147483647}, {1000}).find("start 2147483647, length 1000"), std::string::npos);
  EXPECT_EQ(session->writeVariable("seed", HostTensor::vector<int32_t>({6, 7})).message(),
            "variable 'seed' holds 7 at index 1, and its values lie in [0, 7).");
  EXPECT_TRUE(session->writeVariable("seed", HostTensor::vector<int32_t>({6, 0})).ok());
}

TEST_P(SessionTest, listsOfRowsAreLookedThrough) {
  // `index` becomes a matrix. Its first elements (`lengths` gives their number) are row numbers below 9.
  auto session = openChanged([](schema::ModuleT &m) {
    schema::SegmentsT &segments = test::addSegments(m);
    segments.first->addends.clear();
    *segments.rows = schema::Dim(-1, 4);
    segments.list = 0;
    segments.listed = std::make_unique<schema::Dim>(-1, 9);
    schema::PortT &index = *m.entries[4]->inputs[0];
    index.type->dims = {schema::Dim(1, 0), schema::Dim(-1, 4)};
    index.bytes = 16 * 4 * 4;
    index.value_limit = 0;
  });
  ASSERT_TRUE(session);
  auto messageOf = [&](std::vector<int32_t> lists, std::vector<int32_t> lengths) {
    HostTensor a = std::move(HostTensor::create<int32_t>({int64_t(lengths.size()), 4}, lists)).value();
    HostTensor b = HostTensor::vector(std::span<const int32_t>(lengths));
    auto outputs = session->call("lookup", {{"index", a}, {"lengths", b}});
    return outputs.ok() ? "fine" : outputs.message();
  };
  EXPECT_EQ(messageOf({8, 0, -1, 99, -1, -1, -1, -1}, {2, 0}), "fine");
  EXPECT_EQ(messageOf({8, 0, -1, 99, 0, 9, -1, -1}, {2, 2}),
            "entry 'lookup': input 'index' holds 9 at [1, 1], and there are 9 rows.");
  EXPECT_NE(messageOf({8, 0, -1, 99}, {3}).find("holds -1 at [0, 2]"), std::string::npos);
  EXPECT_NE(messageOf({8, 0, 1, 2}, {5}).find("start 0, length 5, and there are 4 rows"), std::string::npos);
}

TEST_P(SessionTest, memoryIsAllocatedForWhatIsUsed) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->memory().total(), 0u);
  ASSERT_TRUE(session->prepare({"accumulate"}).ok());
  EXPECT_EQ(session->memory().optimizerState, 4000u);
  EXPECT_EQ(session->memory().arena, 16000u);
  EXPECT_EQ(session->memory().weights, 0u);
  EXPECT_EQ(session->memory().caches, 0u);
  ASSERT_TRUE(session->prepare({"lookup"}).ok());
  EXPECT_EQ(session->memory().weights, 4000u);
}

TEST_P(SessionTest, theArenaGrowsWithTheEntriesPrepared) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->prepare({"add"}).ok());
  EXPECT_EQ(session->memory().arena, 12000u);
  HostTensor a = ramp(1000, 1);
  ASSERT_TRUE(session->run("accumulate", {{"a", a}}).ok()); // moves the arena
  EXPECT_EQ(session->memory().arena, 16000u);
  auto outputs = session->call("add", {{"a", a}, {"b", a}}); // recorded anew
  ASSERT_TRUE(outputs.ok()) << outputs.message();
  EXPECT_EQ(outputs->find("sum")->values<float>()[999], 2000.0f);
}

TEST_P(SessionTest, launchesAreTimed) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  HostTensor a = ramp(1000, 1);
  const Input inputs[] = {{"a", a}};
  auto profile = session->profile("chain", inputs);
  ASSERT_TRUE(profile.ok()) << profile.message();
  ASSERT_EQ(profile->size(), 2u);
  EXPECT_EQ(profile->at(0).kernel, "add");
  EXPECT_EQ(profile->at(0).workgroups.x, 125u);
  EXPECT_LE(profile->at(0).end, profile->at(1).begin);
  EXPECT_LT(profile->at(0).begin, profile->at(1).end);
  // A timed run is a run like any other, and does not disturb ordinary ones.
  EXPECT_EQ(session->output("triple")->values<float>()[999], 3000.0f);
  auto outputs = session->call("chain", inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.message();
  EXPECT_EQ(outputs->find("triple")->values<float>()[999], 3000.0f);
  EXPECT_FALSE(session->profile("chain", {}).ok());
  EXPECT_FALSE(session->profile("none", inputs).ok());
}

TEST_P(SessionTest, aPersistentKernelHasAtMostAWorkgroupForEachProcessor) {
  auto session = openChanged([](schema::ModuleT &m) {
    for (auto &target : m.targets)
      target->kernels[0]->persistent = true;
    for (auto &entry : m.entries)
      if (entry->name == "chain") {
        entry->launches[0]->grid[0] = schema::Grid(-1, 1, 125);
        entry->launches[1]->grid[0] = schema::Grid(-1, 1, 2);
      }
  });
  ASSERT_TRUE(session);
  HostTensor a = ramp(1000, 1);
  const Input inputs[] = {{"a", a}};
  auto profile = session->profile("chain", inputs);
  ASSERT_TRUE(profile.ok()) << profile.message();
  const uint32_t processors = session->device().processors;
  auto expected = [&](uint32_t groups) { return processors ? std::min(groups, processors) : groups; };
  EXPECT_EQ(profile->at(0).workgroups.x, expected(125));
  EXPECT_EQ(profile->at(1).workgroups.x, expected(2));
}

TEST_P(SessionTest, launchesAreCounted) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  HostTensor a = ramp(999, 1);
  const Input chain[] = {{"a", a}};
  auto costs = session->costs("chain", chain);
  ASSERT_TRUE(costs.ok()) << costs.message();
  ASSERT_EQ(costs->size(), 2u);
  EXPECT_TRUE(costs->at(1).known);
  EXPECT_EQ(costs->at(1).flops, 999);
  EXPECT_EQ(costs->at(1).modelFlops, 0);
  EXPECT_EQ(costs->at(1).bytes, 12 * 999);

  HostTensor index = HostTensor::vector<int32_t>({1, 2, 3}), lengths = HostTensor::vector<int32_t>({5, 9});
  const Input lookup[] = {{"index", index}, {"lengths", lengths}};
  costs = session->costs("lookup", lookup);
  ASSERT_TRUE(costs.ok()) << costs.message();
  EXPECT_EQ(costs->at(0).flops, 2 * 9); // m * longest
  EXPECT_EQ(costs->at(0).bytes, 12 * (5 + 9));
  EXPECT_FALSE(session->costs("lookup", chain).ok());
}

TEST(CountPairs, followsLengthsAndMask) {
  const int32_t queries[] = {3, 0, 1, 5}, keys[] = {4, 7, 0, 5};
  EXPECT_EQ(countPairs(queries, keys, -1, -1), 3 * 4 + 0 + 0 + 25);
  EXPECT_EQ(countPairs({}, keys, -1, -1), 4 + 7 + 0 + 5);
  EXPECT_EQ(countPairs(queries, keys, -1, 0), (1 + 2 + 3) + (1 + 2 + 3 + 4 + 5));
  EXPECT_EQ(countPairs(queries, keys, 1, 1), (2 + 3 + 3) + (2 + 3 + 3 + 3 + 2));
  EXPECT_EQ(countPairs(queries, keys, 0, -1), (4 + 3 + 2) + (5 + 4 + 3 + 2 + 1));
  EXPECT_EQ(countPairs({}, {}, -1, -1), 0);
  EXPECT_EQ(countPairs(queries, keys, INT64_MAX, INT64_MAX), 3 * 4 + 0 + 0 + 25);
  EXPECT_EQ(countPairs(queries, keys, INT64_MAX, 0), countPairs(queries, keys, -1, 0));
}

TEST_P(SessionTest, sessionsLiveSideBySide) {
  auto first = openAdder(), second = openAdder();
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->writeVariable("weight", ramp(1000, 1)).ok());
  ASSERT_TRUE(second->writeVariable("weight", ramp(1000, 2)).ok());
  EXPECT_EQ(first->readVariable("weight")->values<float>()[0], 1.0f);
  first.reset();
  EXPECT_EQ(second->readVariable("weight")->values<float>()[0], 2.0f);
}

// Calls that must be refused, with a part of the message.
TEST_P(SessionTest, callsAreChecked) {
  auto session = openAdder({.maximum = 100});
  ASSERT_TRUE(session);
  HostTensor ten = ramp(10, 0), eleven = ramp(11, 0), long101 = ramp(101, 0);
  HostTensor matrix = *HostTensor::create<float>({2, 5}, ten.values<float>());
  HostTensor integers = HostTensor::vector(std::vector<int32_t>(10, 3));
  auto message = [&](std::string_view entry, std::initializer_list<Input> inputs) {
    Status status = session->run(entry, inputs);
    return status.ok() ? std::string("accepted") : status.message();
  };
  auto expect = [](const std::string &message, const char *part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(message("add", {{"a", ten}, {"b", ten}}), "accepted");
  expect(message("sub", {}), "has no entry 'sub'. Its entries are: add, chain");
  expect(message("add", {{"a", ten}}), "input 'b' is missing. Its inputs are: a, b");
  expect(message("add", {{"a", ten}, {"c", ten}}), "there is no input 'c'");
  expect(message("add", {{"a", ten}, {"a", ten}, {"b", ten}}), "'a' is given twice");
  expect(message("add", {{"a", ten}, {"b", eleven}}), "makes size 'n' 11, and input 'a' makes it 10");
  expect(message("add", {{"a", long101}, {"b", long101}}), "makes size 'n' 101, and the artifact was compiled for 100");
  expect(message("add", {{"a", matrix}, {"b", ten}}), "f32[2,5], and the entry takes 1 dimension");
  expect(message("add", {{"a", integers}, {"b", ten}}), "is i32, and the entry takes f32");
  TensorView lying = ten;
  lying.bytes = lying.bytes.first(36);
  expect(message("add", {{"a", lying}, {"b", ten}}), "has 36 bytes");
  HostTensor bad = HostTensor::vector<int32_t>({0, 10}), negative = HostTensor::vector<int32_t>({-1});
  HostTensor lengths = HostTensor::vector<int32_t>({5}), tooLong = HostTensor::vector<int32_t>({5, 101});
  expect(message("lookup", {{"index", bad}, {"lengths", lengths}}),
         "holds 10 at index 1, and its values lie in [0, 10)");
  expect(message("lookup", {{"index", negative}, {"lengths", lengths}}), "holds -1 at index 0");
  expect(message("lookup", {{"index", integers}, {"lengths", tooLong}}), "makes size 'longest' 101");
  expect(message("lookup", {{"index", integers}, {"lengths", negative}}), "makes size 'longest' -1");
}

TEST_P(SessionTest, tooManyWorkgroupsNameTheKernel) {
  // One lane per workgroup and a tile of 1 make 4 million workgroups; Vulkan guarantees only 65,535.
  auto session = openAdder({.maximum = 4'000'000, .tile = 1});
  ASSERT_TRUE(session);
  if (session->device().maxWorkgroups[0] >= 4'000'000)
    GTEST_SKIP() << "this device runs that many";
  HostTensor a = ramp(4'000'000, 0);
  Status status = session->run("accumulate", {{"a", a}});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("kernel 'add' (sum: add (adder:4:1)) needs 4000000 workgroups along axis 0"),
            std::string::npos)
      << status.message();
}

TEST_P(SessionTest, missingMemoryNamesTheVariable) {
  auto session = openAdder({.weightExtent = int64_t(1) << 40});
  ASSERT_TRUE(session);
  Status status = session->prepare({"lookup"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::OutOfMemory);
  EXPECT_NE(status.message().find("variable 'weight': it needs 4.0 TiB"), std::string::npos) << status.message();
  // Other entries still work.
  HostTensor a = ramp(10, 0);
  EXPECT_TRUE(session->call("add", {{"a", a}, {"b", a}}).ok());
}

TEST(NumberCheckTest, knowsNumbersOfAllTypes) {
  auto find = [](schema::ElementType type, const auto &numbers, bool infinities = false) {
    std::optional<BadNumbers> bad = findBadNumbers(type, std::as_bytes(std::span(numbers)), infinities);
    return bad ? str(bad->value, " at ", bad->first, ", ", bad->count) : "fine";
  };
  using enum schema::ElementType;
  EXPECT_EQ(find(F32, std::vector<uint32_t>{0x7f7fffff, 0x00000001, 0x80000000}), "fine");
  EXPECT_EQ(find(F32, std::vector<uint32_t>{0, 0x7f800000, 0x7fc00000}), "inf at 1, 2");
  EXPECT_EQ(find(F32, std::vector<uint32_t>{0x7f800000, 0x7fc00000, 0}, /*infinities=*/true), "nan at 1, 1");
  EXPECT_EQ(find(I32, std::vector<uint32_t>{0x7f800000}), "fine");
  EXPECT_EQ(find(BF16, std::vector<uint16_t>{0x7f7f, 0x0001, 0x7c00}), "fine");
  EXPECT_EQ(find(BF16, std::vector<uint16_t>{0x7f7f, 0xff80, 0x7f81}), "-inf at 1, 2");
  EXPECT_EQ(find(F16, std::vector<uint16_t>{0x7bff, 0x0001, 0x8000}), "fine");
  EXPECT_EQ(find(F16, std::vector<uint16_t>{0, 0, 0x7c00}), "inf at 2, 1");
  EXPECT_EQ(find(F16, std::vector<uint16_t>{0x7c00, 0x7c01}, /*infinities=*/true), "nan at 1, 1");
}

} // namespace
} // namespace heddle
