// Inputs that stay on the device from run to run, and values with separate memory.
#include "runtime/artifact/Artifact.h"
#include "runtime/session/Session.h"

#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>

namespace heddle {
namespace {

constexpr size_t kCount = 1000; // the artifact's largest vector: its last element is the last of its memory

HostTensor filled(float value) { return HostTensor::vector(std::vector<float>(kCount, value)); }

std::unique_ptr<Session> open(std::vector<std::byte> bytes, const test::Backend &backend, bool separateValues) {
  auto artifact = Artifact::fromBytes(std::move(bytes), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  auto session = Session::open(*artifact, {.device = backend.name,
                                           .deviceOptions = {.directAccess = backend.directAccess},
                                           .separateValues = separateValues});
  EXPECT_TRUE(session.ok()) << session.message();
  return session ? std::move(*session) : nullptr;
}

void expectAll(Session &session, std::string_view output, float value) {
  auto tensor = session.output(output);
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  for (float element : tensor->values<float>())
    ASSERT_EQ(element, value);
}

class EntryMemoryTest : public test::BackendTest {
protected:
  std::unique_ptr<Session> openAdder(bool separateValues = false) {
    return open(test::buildAdder({.targets = GetParam().targets}), GetParam(), separateValues);
  }
  // In entry `add`, the sum overwrites `a`.
  std::unique_ptr<Session> openInPlace(bool separateValues = false) {
    return open(test::changed(test::buildAdder({.targets = GetParam().targets}),
                              [](schema::ModuleT &module) {
                                schema::EntryT &add = *module.entries[0];
                                add.launches[0]->bindings[2] = add.launches[0]->bindings[0];
                                add.outputs[0]->arena_offset = add.inputs[0]->arena_offset;
                              }),
                GetParam(), separateValues);
  }
};

HEDDLE_FOR_EACH_BACKEND(EntryMemoryTest);

TEST_P(EntryMemoryTest, inputsStayOnTheDevice) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  HostTensor one = filled(1), two = filled(2), other = filled(100);
  ASSERT_TRUE(session->run("add", {{"a", one}, {"b", two}}).ok());
  const Input others[] = {{"a", other}, {"b", other}};
  ASSERT_TRUE(session->run("add", others, Send::Overwritten).ok());
  expectAll(*session, "sum", 3); // of the first inputs: nothing was sent again
  ASSERT_TRUE(session->profile("add", others, Send::Overwritten).ok());
  expectAll(*session, "sum", 3);
  ASSERT_TRUE(session->run("add", others).ok());
  expectAll(*session, "sum", 200);
}

TEST_P(EntryMemoryTest, outputsOnTheirWayKeepTheirValues) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->outputLater("sum").ok()) << "nothing has run";
  std::vector<PendingTensor> sums, totals;
  for (float value = 1; value <= 5; ++value) { // more than the submissions in flight
    HostTensor tensor = filled(value);
    ASSERT_TRUE(session->run("add", {{"a", tensor}, {"b", tensor}}).ok());
    auto sum = session->outputLater("sum");
    ASSERT_TRUE(sum.ok()) << sum.message();
    sums.push_back(std::move(*sum));
    ASSERT_TRUE(session->run("accumulate", {{"a", tensor}}).ok());
    auto total = session->variableLater("total");
    ASSERT_TRUE(total.ok()) << total.message();
    totals.push_back(std::move(*total));
  }
  float total = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    auto sum = sums[i](), sumOfAll = totals[i]();
    ASSERT_TRUE(sum.ok() && sumOfAll.ok());
    float value = static_cast<float>(i + 1);
    EXPECT_EQ(sum->values<float>()[kCount - 1], 2 * value);
    EXPECT_EQ(sumOfAll->values<float>()[kCount - 1], total += value);
  }
  EXPECT_FALSE(session->outputLater("mean").ok());
  EXPECT_FALSE(session->variableLater("mean").ok());
}

TEST_P(EntryMemoryTest, inputsThatAreOverwrittenAreSentAgain) {
  auto session = openInPlace();
  ASSERT_TRUE(session);
  HostTensor one = filled(1), two = filled(2);
  const Input inputs[] = {{"a", one}, {"b", two}};
  ASSERT_TRUE(session->run("add", inputs).ok());
  expectAll(*session, "sum", 3);
  ASSERT_TRUE(session->run("add", inputs, Send::Overwritten).ok());
  expectAll(*session, "sum", 3);
}

TEST_P(EntryMemoryTest, inputsMayBeSentBeforeTheRun) {
  for (bool inPlace : {false, true}) {
    auto session = inPlace ? openInPlace() : openAdder();
    ASSERT_TRUE(session);
    HostTensor one = filled(1), two = filled(2), other = filled(100);
    const Input inputs[] = {{"a", one}, {"b", two}}, others[] = {{"a", other}, {"b", other}};
    EXPECT_FALSE(session->run("add", inputs, Send::Nothing).ok()) << "nothing was sent";
    for (Send missing : {Send::All, Send::Overwritten, Send::Overwritten}) {
      ASSERT_TRUE(session->send("add", inputs, missing).ok());
      ASSERT_TRUE(session->run("add", others, Send::Nothing).ok());
      expectAll(*session, "sum", 3);
    }
    ASSERT_TRUE(session->send("add", inputs, Send::Overwritten).ok());
    ASSERT_TRUE(session->profile("add", others, Send::Nothing).ok());
    expectAll(*session, "sum", 3);
    EXPECT_FALSE(session->run("add", inputs, Send::Nothing).ok()) << "a run lies between";
    ASSERT_TRUE(session->send("add", inputs).ok());
    ASSERT_TRUE(session->run("chain", {{"a", one}}).ok());
    EXPECT_FALSE(session->run("add", inputs, Send::Nothing).ok()) << "another entry's run lies between";
  }
}

TEST_P(EntryMemoryTest, inputsOfAnotherEntryAreNotTakenForThese) {
  auto session = openAdder();
  ASSERT_TRUE(session);
  HostTensor one = filled(1);
  ASSERT_TRUE(session->run("add", {{"a", one}, {"b", one}}).ok());
  ASSERT_TRUE(session->run("chain", {{"a", one}}).ok());
  const Input inputs[] = {{"a", one}, {"b", one}};
  Status status = session->run("add", inputs, Send::Overwritten);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("another entry ran last"), std::string::npos) << status.message();
}

TEST_P(EntryMemoryTest, valuesOfTheirOwnChangeNoResult) {
  for (bool inPlace : {false, true}) {
    auto session = inPlace ? openInPlace(true) : openAdder(true);
    ASSERT_TRUE(session);
    HostTensor one = filled(1), two = filled(2);
    ASSERT_TRUE(session->run("add", {{"a", one}, {"b", two}}).ok());
    expectAll(*session, "sum", 3);
    ASSERT_TRUE(session->run("chain", {{"a", two}}).ok());
    expectAll(*session, "double", 4);
    expectAll(*session, "triple", 6);
  }
}

TEST_P(EntryMemoryTest, theEnvironmentAsksForValuesOfTheirOwn) {
  auto shared = openAdder();
  setenv("HEDDLE_SEPARATE_VALUES", "1", 1);
  auto separate = openAdder();
  unsetenv("HEDDLE_SEPARATE_VALUES");
  ASSERT_TRUE(shared && separate);
  for (Session *session : {shared.get(), separate.get()})
    ASSERT_TRUE(session->prepare({"add", "chain"}).ok());
  // The two entries share the memory of three vectors, or have three each. A page is smaller than a vector.
  EXPECT_LT(shared->memory().arena, 4 * kCount * sizeof(float));
  EXPECT_GE(separate->memory().arena, 6 * kCount * sizeof(float));
}

// Entries with different blocks share an arena. Each block has the largest size that an entry needs.
TEST_P(EntryMemoryTest, anArenaInBlocks) {
  auto session = open(test::changed(test::buildAdder({.maximum = 1024, .targets = GetParam().targets}),
                                    [](schema::ModuleT &module) {
                                      module.entries[0]->blocks = {4096, 8192};       // a; b and sum
                                      module.entries[1]->blocks = {8192, 4096};       // a and double; triple
                                      module.entries[2]->blocks = {4096, 8192, 4096}; // a in the last block
                                    }),
                      GetParam(), /*separateValues=*/false);
  ASSERT_TRUE(session);
  HostTensor one = filled(1), two = filled(2);
  ASSERT_TRUE(session->run("add", {{"a", one}, {"b", two}}).ok());
  EXPECT_EQ(session->memory().arena, 12288u);
  expectAll(*session, "sum", 3);
  ASSERT_TRUE(session->run("chain", {{"a", two}}).ok()); // moves the first block
  EXPECT_EQ(session->memory().arena, 16384u);
  expectAll(*session, "double", 4);
  expectAll(*session, "triple", 6);
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(session->run("accumulate", {{"a", two}}).ok()); // adds a block
  EXPECT_EQ(session->memory().arena, 20480u);
  auto total = session->readVariable("total");
  ASSERT_TRUE(total.ok()) << total.message();
  EXPECT_EQ(total->values<float>()[kCount - 1], 6);
  ASSERT_TRUE(session->run("add", {{"a", two}, {"b", two}}).ok());
  expectAll(*session, "sum", 4);
}

// NVIDIA's Vulkan driver allocates at most 4 GiB at once, lavapipe 2 GiB.
TEST(EntryMemory, aBlockThatTheDeviceDoesNotAllocate) {
  const test::Backend &vulkan = test::backends().front();
  auto device = hal::openDevice(vulkan.name);
  ASSERT_TRUE(device.ok()) << device.message();
  const hal::DeviceInfo &info = (*device)->info();
  uint64_t most = info.maxAllocationBytes;
  if ((most >= info.memoryBytes && !info.emulated) || most > uint64_t(8) << 30)
    GTEST_SKIP() << "the device allocates " << describeBytes(most) << " at once";
  // Three values together exceed the limit by 12 KiB.
  auto session = open(test::buildAdder({.maximum = static_cast<int64_t>(most / 12 + 1024), .targets = vulkan.targets}),
                      vulkan, /*separateValues=*/false);
  ASSERT_TRUE(session);
  Status status = session->prepare({"add"});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cannot hold the arena (inputs, outputs and intermediate values): it has "),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find(str("Compile again with --max-allocation=", most >> 20, "MiB, which cuts the arena")),
            std::string::npos)
      << status.message();
}

// A value that is written in two parts and read as a whole stays in one piece.
TEST_P(EntryMemoryTest, partsOfAValueStayTogether) {
  auto session = open(test::changed(test::buildAdder({.targets = GetParam().targets, .described = false}),
                                    [](schema::ModuleT &module) {
                                      // The second launch of `chain` and the output read a slot; the first launch
                                      // writes only a part of it.
                                      schema::Binding &part = module.entries[1]->launches[0]->bindings[2];
                                      part =
                                          schema::Binding(part.space(), part.index(), part.offset(), part.bytes() - 16);
                                    }),
                      GetParam(), true);
  ASSERT_TRUE(session);
  HostTensor two = HostTensor::vector(std::vector<float>(kCount - 4, 2));
  ASSERT_TRUE(session->run("chain", {{"a", two}}).ok());
  expectAll(*session, "double", 4);
  expectAll(*session, "triple", 6);
}

// Runs the add kernel with a change in its code.
void runAndExit(std::string_view from, std::string_view to, bool separateValues) {
  std::vector<uint32_t> code = test::testPtx("add");
  std::string text(reinterpret_cast<const char *>(code.data()), code.size() * sizeof(uint32_t));
  text.replace(text.find(from), from.size(), to);
  auto session = open(test::buildAdder({.targets = {"cuda:sm_80"}, .code = test::ptxWords(text.c_str())}),
                      {"cuda", "cuda", true, {}}, separateValues);
  if (!session)
    std::_Exit(2);
  HostTensor one = filled(1);
  const Input inputs[] = {{"a", one}};
  Status status = session->run("chain", inputs);
  if (status.ok())
    status = session->wait();
  std::fprintf(stderr, "%s\n", status.ok() ? "nothing was seen" : status.message().c_str());
  std::_Exit(status.ok() ? 0 : 1);
}

// Adds one element too many, which overwrites the next value of the arena.
void overrunAndExit(bool separateValues) { runAndExit("setp.ge.u32", "setp.gt.u32", separateValues); }
// Writes the sum over the first summand as well, or reads the sum's own memory.
void overwriteAndExit() {
  runAndExit("st.global.f32 [%rc], %c;", "st.global.f32 [%ra], %c; st.global.f32 [%rc], %c;", false);
}
void readResultAndExit() { runAndExit("ld.global.f32 %b, [%rb];", "ld.global.f32 %b, [%rc];", false); }

bool onEmulator() {
  auto device = hal::openDevice("cuda");
  return device.ok() && (*device)->info().name == "Heddle emulator";
}

TEST(CudaEntryMemoryDeathTest, theEmulatorSeesAccessesThatALaunchDoesNotDeclare) {
  if (!onEmulator())
    GTEST_SKIP() << "this is not the emulated driver";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(overrunAndExit(false), testing::ExitedWithCode(1),
              "of 4 bytes at global address .*, which the launch does not say that it does");
  EXPECT_EXIT(overwriteAndExit(), testing::ExitedWithCode(1),
              "write of 4 bytes at global address .*, which the launch does not say");
  EXPECT_EXIT(readResultAndExit(), testing::ExitedWithCode(1),
              "read of 4 bytes at global address .*, which the launch does not say");
}

TEST(CudaEntryMemoryDeathTest, anOverrunIsSeenWhereValuesHaveMemoryOfTheirOwn) {
  if (std::string why = test::absence({"cuda", "cuda", true, {}}); !why.empty())
    GTEST_SKIP() << why;
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(overrunAndExit(true), testing::ExitedWithCode(1), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

} // namespace
} // namespace heddle
