// Programs of several launches on every backend: which launches wait for which, and launches without workgroups.
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"
#include "test/runtime/VulkanEnvironment.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace heddle {
namespace {

[[maybe_unused]] testing::Environment *const environment = test::watchValidation();

constexpr uint32_t kLanes = 64, kElements = 1000;
constexpr hal::WorkgroupCount kAll = {125, 1, 1}, kNone = {0, 1, 1};

// Eight vectors in one buffer, and programs that add them.
class ProgramTest : public test::BackendTest {
protected:
  struct Sum {
    int a, b, result;
    uint32_t count = 0; // index into the submission's workgroup counts
    bool barrier = false;
    std::optional<std::vector<uint32_t>> after = std::nullopt;
  };

  void SetUp() override {
    test::BackendTest::SetUp();
    if (IsSkipped())
      return;
    auto opened = hal::openDevice(GetParam().name, {.directAccess = GetParam().directAccess});
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = std::move(*opened);
    auto memory = device->allocate("the vectors", 8 * vectorBytes);
    ASSERT_TRUE(memory.ok()) << memory.message();
    vectors = std::move(*memory);
    auto size = device->allocate("the size", 4);
    ASSERT_TRUE(size.ok()) << size.message();
    sizeBuffer = std::move(*size);
    const uint32_t elements = kElements;
    ASSERT_TRUE(device->write(*sizeBuffer, 0, std::as_bytes(std::span(&elements, 1))).ok());

    bool cuda = std::string_view(GetParam().name) == "cuda";
    bool cpu = std::string_view(GetParam().name) == "cpu";
    code = cuda ? test::testPtx("add") : cpu ? test::cpuImage(test::addOnCpu) : test::testKernel("add");
    hal::KernelSource source;
    source.name = "add";
    source.code = code;
    source.lanes = cuda ? kLanes : cpu ? 1 : 8;
    source.subgroup = cuda ? 32 : 0;
    auto kernels = device->load({&source, 1});
    ASSERT_TRUE(kernels.ok()) << kernels.message();
    add = std::move(kernels->front());
  }

  std::unique_ptr<hal::Program> record(std::vector<Sum> sums, uint32_t counts, bool timed = false) {
    std::vector<std::array<hal::Argument, 4>> arguments;
    for (const Sum &sum : sums)
      arguments.push_back({part(sum.a), part(sum.b), part(sum.result), hal::Argument{sizeBuffer.get(), 0, 4}});
    std::vector<hal::Launch> launches;
    for (size_t i = 0; i < sums.size(); ++i)
      launches.push_back({add.get(), arguments[i], sums[i].count, sums[i].barrier, sums[i].after});
    auto program = device->record(launches, counts, timed);
    EXPECT_TRUE(program.ok()) << program.message();
    return program ? std::move(*program) : nullptr;
  }

  void set(int vector, float value) {
    std::vector<float> values(kElements, value);
    ASSERT_TRUE(device->write(*vectors, vector * vectorBytes, std::as_bytes(std::span(values))).ok());
  }

  // Returns the value of all elements of a vector, or -1 if they differ.
  float get(int vector) {
    std::vector<float> values(kElements);
    Status status = device->read(*vectors, vector * vectorBytes, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
    for (float value : values)
      if (value != values[0])
        return -1;
    return values[0];
  }

  hal::Argument part(int vector) const { return {vectors.get(), vector * vectorBytes, vectorBytes}; }

  static constexpr uint64_t vectorBytes = 4096;
  std::vector<uint32_t> code;
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<hal::Buffer> vectors, sizeBuffer;
  std::unique_ptr<hal::Executable> add;
};

HEDDLE_FOR_EACH_BACKEND(ProgramTest);

// A device that ignores launches' dependencies has barriers instead.
TEST_P(ProgramTest, launchesWaitForThoseTheyName) {
  using After = std::vector<uint32_t>;
  auto program = record({{0, 0, 1, 0, false, After{}},
                         {1, 1, 2, 0, true, After{0}},
                         {0, 0, 3, 0, false, After{}},
                         {2, 3, 4, 0, true, After{1, 2}},
                         {3, 3, 5, 0, false, After{2}},
                         {4, 5, 3, 0, true, After{3, 4}}},
                        1);
  ASSERT_TRUE(program);
  for (int round = 1; round <= 30; ++round) {
    set(0, static_cast<float>(round));
    ASSERT_TRUE(program->submit({}, std::array{kAll}).ok());
    float x = static_cast<float>(round); // 1, 3: 2x; 2, 5: 4x; 4: 6x
    EXPECT_EQ(get(4), 6 * x);
    EXPECT_EQ(get(5), 4 * x);
    EXPECT_EQ(get(3), 10 * x);
  }
}

TEST_P(ProgramTest, barriersJoinAndPart) {
  auto program = record({{0, 0, 1},
                         {1, 0, 2, 0, true},
                         {1, 1, 3},
                         {0, 1, 4},
                         {2, 3, 5, 0, true},
                         {3, 4, 6},
                         {5, 6, 7, 0, true},
                         {5, 5, 2},
                         {6, 6, 3},
                         {7, 2, 4, 0, true}},
                        1);
  ASSERT_TRUE(program);
  for (int round = 1; round <= 30; ++round) {
    set(0, static_cast<float>(round));
    ASSERT_TRUE(program->submit({}, std::array{kAll}).ok());
    float x = static_cast<float>(round); // 1: 2x; 2, 3, 4: 3x 4x 3x; 5, 6: 7x 7x; 7, 2, 3: 14x
    ASSERT_EQ(get(5), 7 * x);
    ASSERT_EQ(get(6), 7 * x);
    ASSERT_EQ(get(3), 14 * x);
    ASSERT_EQ(get(4), 28 * x);
  }
}

TEST_P(ProgramTest, launchesWithoutWorkgroupsDoNothing) {
  auto program = record({{0, 0, 1, 0}, {0, 0, 2, 1, true}, {1, 1, 3, 0, true}, {2, 1, 4, 1, true}}, 2);
  ASSERT_TRUE(program);
  set(0, 1);
  ASSERT_TRUE(program->submit({}, std::array{kAll, kNone}).ok()); // the first submission
  EXPECT_EQ(get(1), 2);
  EXPECT_EQ(get(2), 0);
  EXPECT_EQ(get(3), 4);
  EXPECT_EQ(get(4), 0);
  ASSERT_TRUE(program->submit({}, std::array{kAll, kAll}).ok());
  EXPECT_EQ(get(2), 2);
  EXPECT_EQ(get(4), 4);
  set(0, 3);
  ASSERT_TRUE(program->submit({}, std::array{kNone, kAll}).ok());
  EXPECT_EQ(get(1), 2) << "as it was";
  EXPECT_EQ(get(2), 6);
  EXPECT_EQ(get(4), 8);
  ASSERT_TRUE(program->submit({}, std::array{kNone, kNone}).ok());
  ASSERT_TRUE(program->submit({}, std::array{kAll, hal::WorkgroupCount{1, 1, 0}}).ok());
  EXPECT_EQ(get(1), 6);
  EXPECT_EQ(get(2), 6) << "as it was";
}

// A device may update all changed counts at once: a launch without workgroups stays off, whatever else changes.
TEST_P(ProgramTest, launchesStayOffWhileOthersChange) {
  auto program = record({{0, 0, 1, 0}, {0, 0, 2, 1, true}, {0, 0, 3, 2, true}}, 3);
  ASSERT_TRUE(program);
  constexpr hal::WorkgroupCount more = {126, 1, 1};
  auto expect = [&](float source, std::array<hal::WorkgroupCount, 3> counts, std::array<float, 3> results) {
    set(0, source);
    ASSERT_TRUE(program->submit({}, counts).ok());
    EXPECT_EQ((std::array{get(1), get(2), get(3)}), results) << "of " << source;
  };
  expect(1, {kAll, kNone, kAll}, {2, 0, 2});
  expect(2, {more, kNone, more}, {4, 0, 4});  // one is off, and others change
  expect(3, {more, kNone, kNone}, {6, 0, 4}); // one more is off, and nothing changes
  expect(4, {kAll, kAll, kNone}, {8, 8, 4});
  expect(5, {kAll, kAll, kAll}, {10, 10, 10}); // on again, with its former count
  expect(6, {kAll, kAll, kAll}, {12, 12, 12});
}

TEST_P(ProgramTest, countsChangeBetweenSubmissionsInFlight) {
  auto program = record({{0, 1, 1}}, 1);
  ASSERT_TRUE(program);
  set(0, 1);
  for (int round = 0; round < 40; ++round) // every other round adds only to the first workgroup's elements
    ASSERT_TRUE(program->submit({}, std::array{round % 2 ? hal::WorkgroupCount{1, 1, 1} : kAll}).ok());
  std::vector<float> values(kElements);
  ASSERT_TRUE(device->read(*vectors, vectorBytes, std::as_writable_bytes(std::span(values))).ok());
  EXPECT_EQ(values.front(), 40);
  EXPECT_EQ(values.back(), 20);
}

TEST_P(ProgramTest, uploadsOfManySizesArriveBeforeTheLaunches) {
  auto program = record({{0, 0, 1}}, 1);
  ASSERT_TRUE(program);
  std::vector<float> values(kElements), sums(kElements), expected(kElements, 0);
  for (size_t n : {kElements, 1u, 7u, 999u, 2u}) {
    for (size_t i = 0; i < n; ++i)
      values[i] = static_cast<float>(n + i), expected[i] = 2 * values[i];
    hal::Upload uploads[] = {{vectors.get(), 0, std::as_bytes(std::span(values).first(n / 2))},
                             {vectors.get(), n / 2 * 4, std::as_bytes(std::span(values).subspan(n / 2, n - n / 2))}};
    ASSERT_TRUE(program->submit(uploads, std::array{kAll}).ok());
    std::ranges::fill(values, -1.0f); // submit() has copied the values
    ASSERT_TRUE(device->read(*vectors, vectorBytes, std::as_writable_bytes(std::span(sums))).ok());
    ASSERT_EQ(sums, expected) << n;
  }
}

TEST_P(ProgramTest, timedLaunchesRunInOrderAndGiveTimes) {
  auto program = record({{0, 0, 1}, {1, 1, 2, 1}, {2, 2, 3, 0, true}}, 2, /*timed=*/true);
  ASSERT_TRUE(program);
  set(0, 1);
  ASSERT_TRUE(program->submit({}, std::array{kAll, kAll}).ok());
  EXPECT_EQ(get(3), 8);
  auto times = program->launchTimes();
  ASSERT_TRUE(times.ok()) << times.message();
  ASSERT_EQ(times->size(), 3u);
  for (size_t i = 1; i < 3; ++i)
    EXPECT_LE(times->at(i - 1).end, times->at(i).begin);
  ASSERT_TRUE(program->submit({}, std::array{kAll, kNone}).ok());
  ASSERT_TRUE(program->launchTimes().ok());
}

TEST_P(ProgramTest, programsOfNothingRun) {
  auto program = record({}, 0), timed = record({}, 0, /*timed=*/true);
  ASSERT_TRUE(program && timed);
  const float three = 3;
  hal::Upload upload{vectors.get(), 0, std::as_bytes(std::span(&three, 1))};
  ASSERT_TRUE(program->submit({&upload, 1}, {}).ok());
  float back = 0;
  ASSERT_TRUE(device->read(*vectors, 0, std::as_writable_bytes(std::span(&back, 1))).ok());
  EXPECT_EQ(back, 3);
  ASSERT_TRUE(timed->submit({}, {}).ok());
}

TEST_P(ProgramTest, memoryIsCounted) {
  constexpr uint64_t bytes = 1 << 20;
  uint64_t before = device->memory().bytes, peak = 0;
  {
    auto first = device->allocate("a buffer", bytes), second = device->allocate("another", 2 * bytes);
    ASSERT_TRUE(first && second);
    peak = device->memory().bytes;
    EXPECT_EQ(peak, before + 3 * bytes);
  }
  EXPECT_EQ(device->memory().bytes, before);
  auto third = device->allocate("a third", bytes);
  EXPECT_EQ(device->memory().bytes, before + bytes);
  EXPECT_EQ(device->memory().peak, peak) << "the most, not the last";
}

TEST_P(ProgramTest, memoryIsZeroAndReadsOfAnyPartWork) {
  constexpr uint64_t bytes = (33u << 20) + 3; // more than two chunks of a copy
  auto buffer = device->allocate("a buffer", bytes);
  ASSERT_TRUE(buffer.ok()) << buffer.message();
  std::vector<std::byte> back(bytes, std::byte(1)), values(bytes);
  ASSERT_TRUE(device->read(**buffer, 0, back).ok());
  EXPECT_TRUE(back == values);
  for (size_t i = 0; i < bytes; ++i)
    values[i] = std::byte(i * 31 >> 4);
  ASSERT_TRUE(device->write(**buffer, 0, values).ok());
  ASSERT_TRUE(device->read(**buffer, 0, back).ok());
  EXPECT_TRUE(back == values);
  ASSERT_TRUE(device->read(**buffer, 17, std::span(back).first(5)).ok());
  EXPECT_TRUE(std::equal(back.begin(), back.begin() + 5, values.begin() + 17));
  ASSERT_TRUE(device->read(**buffer, 17, {}).ok());
}

} // namespace
} // namespace heddle
