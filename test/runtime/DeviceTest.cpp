// Choosing devices and targets, and errors on machines that lack them. Tests that need another environment (no loader,
// no driver, broken validation) run in a child process.
#include "runtime/artifact/Artifact.h"
#include "runtime/session/DeviceState.h"
#include "runtime/session/Session.h"
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"
#include "test/runtime/VulkanEnvironment.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

[[maybe_unused]] testing::Environment *const environment = test::watchValidation();

std::string openMessage(std::string_view choice) {
  auto device = hal::openDevice(choice);
  return device.ok() ? "opened" : device.message();
}

void expectPart(const std::string &message, const char *part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(DeviceTest, listsAndOpens) {
  auto devices = hal::listDevices();
  ASSERT_TRUE(devices.ok()) << devices.message();
  ASSERT_FALSE(devices->empty()) << "the tests need a Vulkan driver; mesa-vulkan-drivers has one";
  for (const hal::DeviceInfo &info : *devices) {
    EXPECT_FALSE(info.name.empty());
    if (info.unusable.empty()) {
      EXPECT_EQ(openMessage(info.id), "opened");
      EXPECT_GT(info.memoryBytes, 0u);
      EXPECT_GE(info.maxWorkgroups[0], 65535u);
    }
  }
  EXPECT_EQ(openMessage("vulkan"), "opened");
}

class OpenTest : public test::BackendTest {};
HEDDLE_FOR_EACH_BACKEND(OpenTest);

TEST_P(OpenTest, opensTheFirstOfABackend) {
  EXPECT_EQ(openMessage(GetParam().name), "opened");
  EXPECT_EQ(openMessage(str(GetParam().name, ":0")), "opened");
  expectPart(openMessage(str(GetParam().name, ":99")), str("there is no device '", GetParam().name, ":99'").c_str());
}

TEST_P(OpenTest, memoryBeyondTheDeviceIsRefused) {
  auto device = hal::openDevice(GetParam().name);
  ASSERT_TRUE(device.ok()) << device.message();
  auto buffer = (*device)->allocate("the arena", uint64_t(1) << 50);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().kind, ErrorKind::OutOfMemory);
  expectPart(buffer.message(), "no device memory for the arena: it needs 1.0 PiB, and ");
  EXPECT_TRUE((*device)->allocate("a little", 16).ok()) << "the device goes on working";
}

TEST(DeviceTest, refusesWhatIsNotThere) {
  expectPart(openMessage("vulkan:99"), "there is no device 'vulkan:99'");
  expectPart(openMessage("vulkan:x"), "after the colon comes a number");
  expectPart(openMessage("vulkan:"), "after the colon comes a number");
  expectPart(openMessage("cuda:x"), "after the colon comes a number, as in 'cuda:0'");
  // There is no such device, with or without CUDA.
  expectPart(openMessage("cuda:99"), "there is no ");
  expectPart(openMessage("metal"), "'metal' is not a device");
  expectPart(openMessage(""), "'' is not a device");
}

// Returns the target that a session chooses.
std::string chosenTarget(std::vector<std::string> targets, const std::string &wanted = "") {
  auto artifact = Artifact::fromBytes(test::buildAdder({.targets = std::move(targets)}), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  auto session = Session::open(*artifact, {.device = "vulkan", .target = wanted});
  return session.ok() ? std::string((*session)->target()) : session.message();
}

TEST(TargetTest, theBestOneIsChosen) {
  auto device = hal::openDevice("vulkan");
  ASSERT_TRUE(device.ok()) << device.message();
  if ((*device)->info().type != hal::DeviceType::Cpu)
    GTEST_SKIP() << "the expectations are for a processor";
  EXPECT_EQ(chosenTarget({"vulkan:nvidia", "vulkan:portable", "vulkan:software"}), "vulkan:software");
  EXPECT_EQ(chosenTarget({"vulkan:nvidia", "vulkan:portable"}), "vulkan:portable");
  EXPECT_EQ(chosenTarget({"vulkan:other"}), "vulkan:other");
  EXPECT_EQ(chosenTarget({"vulkan:software", "vulkan:portable"}, "vulkan:portable"), "vulkan:portable");
  expectPart(chosenTarget({"vulkan:software"}, "vulkan:nvidia"), "no target 'vulkan:nvidia'");
  expectPart(chosenTarget({"cuda:sm_80"}), "has no code for 'vulkan:");
  // Kernels of vulkan:portable are written for 32 lanes, which lavapipe does not have.
  if ((*device)->info().maxSubgroupSize == 8)
    expectPart(chosenTarget({"cuda:sm_80"}), "Compile it with --target=vulkan:software, or use another --device.");
}

// If no device is named, CUDA is chosen if there is a CUDA device and the artifact has code for it.
TEST(TargetTest, theDefaultDeviceIsCudaWhereItCanBe) {
  auto open = [](std::vector<std::string> targets, std::string wanted = "") {
    auto artifact = Artifact::fromBytes(test::buildAdder({.targets = std::move(targets)}), "adder");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    auto session = Session::open(*artifact, {.target = wanted});
    return session.ok() ? (*session)->device().id + " " + std::string((*session)->target()) : session.message();
  };
  std::string cuda = test::absence({"cuda", "cuda", true, {}});
  bool hasCuda = cuda.empty();
  EXPECT_TRUE(open({"cuda:sm_80", "vulkan:portable"}).starts_with(hasCuda ? "cuda:0 cuda:sm_80" : "vulkan:"));
  EXPECT_TRUE(open({"vulkan:portable"}).starts_with("vulkan:"));
  EXPECT_TRUE(open({"vulkan:portable", "cuda:sm_80"}, "vulkan:portable").starts_with("vulkan:"));
  // Code for CUDA does not run on other devices.
  if (!hasCuda) {
    EXPECT_EQ(open({"cuda:sm_80"}), cuda);
  }
}

TEST(TargetTest, whatADeviceLacksRulesATargetOut) {
  schema::KernelT kernel;
  kernel.name = "matmul";
  kernel.lanes = 128;
  kernel.subgroup = 32;
  kernel.uses_float16 = true;
  kernel.cooperative_side = 16;
  kernel.code = {0};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::Kernel::Pack(builder, &kernel));
  const auto &packed = *flatbuffers::GetRoot<schema::Kernel>(builder.GetBufferPointer());
  hal::DeviceInfo device;
  device.name = "a GPU";
  device.maxLanes = 1024;
  device.maxSubgroupSize = 32;
  expectPart(misfit(packed, device), "kernel 'matmul' has floats of 16 bits, rounded to nearest, which 'a GPU' lacks");
  device.float16 = true;
  expectPart(misfit(packed, device), "multiplies cooperative matrices of 16 x 16, and 'a GPU' has no such matrices");
  device.cooperativeSides = {8};
  expectPart(misfit(packed, device), "multiplies cooperative matrices of 16 x 16, and 'a GPU' has other sizes");
  device.cooperativeSides = {8, 16};
  EXPECT_EQ(misfit(packed, device), "");
}

TEST(TargetTest, narrowSubgroupsRuleATargetOut) {
  auto device = hal::openDevice("vulkan");
  ASSERT_TRUE(device.ok()) << device.message();
  uint32_t widest = (*device)->info().maxSubgroupSize;
  // The add kernel has 8 lanes and cannot require a larger subgroup, so its code is patched to have more lanes.
  std::vector<uint32_t> code = test::testKernel("add");
  for (size_t i = 5; i < code.size(); i += code[i] >> 16)
    if ((code[i] & 0xffff) == 16) // OpExecutionMode main LocalSize x y z
      code[i + 3] = 2 * widest;
  auto open = [&](std::vector<std::string> targets) {
    auto artifact = Artifact::fromBytes(
        test::buildAdder({.targets = std::move(targets), .code = code, .lanes = 2 * widest, .subgroup = 2 * widest}),
        "adder");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    auto session = Session::open(*artifact);
    return session.ok() ? std::string((*session)->target()) : session.message();
  };
  EXPECT_EQ(open({"vulkan:software", "vulkan:portable"}), "vulkan:portable");
  expectPart(open({"vulkan:software"}), "is written for subgroups of");
}

using DeviceDeathTest = testing::Test;

// Runs `openDevice` in a child process with a changed environment. Its message goes to stderr.
void openAndExit(const char *variable, const char *value) {
  setenv(variable, value, 1);
  auto device = hal::openDevice("vulkan");
  fprintf(stderr, "%s\n", device.ok() ? "opened" : device.message().c_str());
  std::_Exit(device.ok() ? 0 : 1);
}

TEST(DeviceDeathTest, withoutADriverTheErrorSaysSo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  unsetenv("VK_DRIVER_FILES");
  EXPECT_EXIT(openAndExit("VK_ICD_FILENAMES", "/nowhere.json"), testing::ExitedWithCode(1),
              "Vulkan cannot be used on this machine|there is no Vulkan device on this machine");
}

// A machine without a driver causes no warning if nobody asked for Vulkan.
TEST(DeviceDeathTest, withoutADriverDevicesAreListedSilently) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  unsetenv("VK_DRIVER_FILES");
  auto listAndExit = [] {
    unsetenv("HEDDLE_VALIDATION"); // its layer reports the missing driver
    setenv("VK_ICD_FILENAMES", "/nowhere.json", 1);
    auto devices = hal::listDevices();
    fprintf(stderr, "%s\n", devices.ok() ? "listed" : devices.message().c_str());
    std::_Exit(devices.ok() ? 0 : 1);
  };
  EXPECT_EXIT(listAndExit(), testing::ExitedWithCode(0), "^listed\n$");
}

TEST(DeviceDeathTest, withoutTheLayerValidationIsAnError) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("HEDDLE_VALIDATION", "1", 1);
  EXPECT_EXIT(openAndExit("VK_LAYER_PATH", "/nowhere"), testing::ExitedWithCode(1),
              "HEDDLE_VALIDATION is set, and the layer");
}

// The layers work: they report a kernel that uses a feature which is not enabled.
void misuseAndExit() {
  setenv("HEDDLE_VALIDATION", "1", 1);
  std::vector<uint32_t> code = test::testKernel("add");
  code.insert(code.begin() + 5, {(2u << 16) | 17, 10}); // OpCapability Float64
  auto device = hal::openDevice("vulkan");
  if (!device)
    std::_Exit(2);
  hal::KernelSource source;
  source.name = "wide";
  source.code = code;
  if (validationMessageCount() != 0)
    std::_Exit(3);
  (void)(*device)->load({&source, 1});
  std::_Exit(validationMessageCount() > 0 ? 0 : 4);
}

TEST(DeviceDeathTest, validationMessagesAreCounted) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(misuseAndExit(), testing::ExitedWithCode(0), "vulkan validation error");
}

} // namespace
} // namespace heddle
