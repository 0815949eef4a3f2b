// Backends registered by a program: their devices, targets and code. This is a program of its own, because
// registrations stay.
#include "runtime/hal/Backend.h"
#include "runtime/artifact/CodeFormat.h"
#include "runtime/session/SessionState.h"
#include "test/runtime/ArtifactBuilder.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace heddle {
namespace {

// A fake backend, whose device can be listed and opened.
class PaperBackend final : public hal::Backend {
public:
  std::string_view name() const override { return "paper"; }
  std::string_view title() const override { return "Paper"; }
  std::string_view library() const override { return "libpaper.so"; }
  Result<std::vector<hal::DeviceInfo>> listDevices() const override {
    hal::DeviceInfo info;
    info.id = "paper:0";
    info.name = "a sheet";
    info.driver = "a pencil";
    info.maxLanes = 1024;
    info.maxSubgroupSize = 64;
    return std::vector{info};
  }
  Result<std::unique_ptr<hal::Device>> openDevice(std::optional<uint32_t> index,
                                                  const hal::DeviceOptions &) const override {
    return makeError(ErrorKind::Unsupported, "asked for sheet ", index ? static_cast<int>(*index) : -1);
  }
  uint32_t suitability(std::string_view target, const hal::DeviceInfo &) const override {
    return target == "paper:large" ? 2 : target == "paper:small" ? 1 : 0;
  }
  std::string advice(const hal::DeviceInfo &) const override { return "paper:large"; }
  uint64_t validationMessageCount() const override { return 3; }
};

const PaperBackend paper;

constexpr CodeFormat paperCode{
    .backend = "paper", .name = "drawing", .check = [](const schema::Kernel &, const KernelCode &code) {
      return std::string(code.words[0] == 7 ? "" : "is not drawn");
    }};

std::shared_ptr<const Artifact> adder(std::vector<std::string> targets, std::vector<uint32_t> code = {7}) {
  auto artifact =
      Artifact::fromBytes(test::buildAdder({.targets = std::move(targets), .code = std::move(code)}), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  return artifact ? *artifact : nullptr;
}

std::string openMessage(std::string_view choice) {
  auto device = hal::openDevice(choice);
  return device.ok() ? "opened" : device.message();
}

class BackendTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    hal::registerBackend(paper);
    registerCodeFormat(paperCode);
  }
};

TEST_F(BackendTest, devicesAreListedAndOpened) {
  auto devices = hal::listDevices();
  ASSERT_TRUE(devices.ok()) << devices.message();
  EXPECT_EQ(std::ranges::count(*devices, "paper:0", &hal::DeviceInfo::id), 1);
  EXPECT_EQ(openMessage("paper:4"), "asked for sheet 4");
  EXPECT_EQ(openMessage("paper"), "asked for sheet -1");
  EXPECT_EQ(openMessage("metal"), "'metal' is not a device: the choices are 'cuda', 'cuda:N', 'vulkan', 'vulkan:N', "
                                  "'cpu', 'cpu:N', 'paper', 'paper:N'. `heddle-run devices` lists the devices.");
  EXPECT_EQ(hal::validationMessageCount(), 3u);
}

TEST_F(BackendTest, theBackendKnowsTheBestTarget) {
  hal::DeviceInfo sheet = paper.listDevices()->front();
  auto chosen = [&](std::vector<std::string> targets, std::string_view wanted = "") {
    auto artifact = adder(std::move(targets));
    auto target = chooseTarget(*artifact, wanted, sheet);
    return target.ok() ? std::string(view((*target)->name())) : target.message();
  };
  EXPECT_EQ(chosen({"paper:small", "paper:large"}), "paper:large");
  EXPECT_EQ(chosen({"paper:small", "paper:large"}, "paper:small"), "paper:small");
  EXPECT_EQ(
      chosen({"paper:round", "stone:1"}),
      "'adder' has no code for 'paper:0' (a sheet, a pencil): its targets are paper:round, stone:1. Compile it with "
      "--target=paper:large, or use another --device.");
}

TEST_F(BackendTest, theDeviceIsOfABackendThatHasCode) {
  EXPECT_EQ(chooseDevice(*adder({"paper:large"}), ""), "paper");
  EXPECT_EQ(chooseDevice(*adder({"stone:1", "paper:large"}), "paper:large"), "paper");
  auto both = Artifact::fromBytes(test::buildAdder({.targets = {"vulkan:portable"}}), "adder");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(chooseDevice(**both, ""), "vulkan");
}

TEST_F(BackendTest, codeIsCheckedAsItsFormatSays) {
  auto broken = Artifact::fromBytes(test::buildAdder({.targets = {"paper:large"}, .code = {8}}), "adder");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.message().find("kernel 'add' of target 'paper:large' is not drawn"), std::string::npos)
      << broken.message();
  // Code of an unknown format never runs, so the file may contain it.
  EXPECT_TRUE(adder({"stone:1"}, {8}));
}

} // namespace
} // namespace heddle
