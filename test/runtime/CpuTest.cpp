// The processor as a device: its memory, the CPU state in which kernels run, and damaged images.
#include "runtime/hal/Backend.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/cpu/FloatMode.h"
#include "runtime/session/Session.h"
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"
#include "test/runtime/TemporaryFolder.h"

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <sstream>
#include <unistd.h>

namespace heddle {
namespace {

using hal::cpu::FloatMode;

// Binding 0: two f32 elements per workgroup; the second becomes half of the first. Binding 1: the floating-point mode
// in the kernel.
void halve(const uint64_t *bindings, const uint32_t *, uint32_t first, uint32_t count, void *) {
  auto *values = reinterpret_cast<volatile float *>(bindings[0]);
  for (uint32_t i = first; i < first + count; ++i)
    values[2 * i + 1] = values[2 * i] * 0.5f;
  *reinterpret_cast<uint64_t *>(bindings[1]) = FloatMode::read();
}

class CpuTest : public testing::Test {
protected:
  void SetUp() override {
    if (std::string why = test::absence({"cpu", "cpu", true, {}}); !why.empty())
      GTEST_SKIP() << why;
    auto opened = hal::openDevice("cpu");
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = std::move(*opened);
  }

  Result<std::vector<std::unique_ptr<hal::Executable>>> load(std::vector<uint32_t> code) {
    hal::KernelSource source{.name = "halve", .code = code, .lanes = 1};
    return device->load({&source, 1});
  }

  std::unique_ptr<hal::Device> device;
};

TEST_F(CpuTest, kernelsFlushDenormalsAndTheCallerKeepsItsState) {
  auto kernels = load(test::cpuImage(halve));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  auto values = device->allocate("values", 8), state = device->allocate("state", 8);
  ASSERT_TRUE(values && state);
  hal::Argument arguments[] = {{values->get(), 0, 8}, {state->get(), 0, 8}};
  hal::Launch launch{kernels->front().get(), arguments};
  auto program = device->record({&launch, 1}, 1, false);
  ASSERT_TRUE(program.ok()) << program.message();
  const float smallest[] = {std::numeric_limits<float>::min(), 1};
  ASSERT_TRUE(device->write(**values, 0, std::as_bytes(std::span(smallest))).ok());

  std::fesetround(FE_UPWARD);
  std::feraiseexcept(FE_INEXACT);
  uint64_t before = FloatMode::read();
  ASSERT_TRUE((*program)->submit({}, std::array{hal::WorkgroupCount{1, 1, 1}}).ok());
  EXPECT_EQ(FloatMode::read(), before);
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);

  float result[2];
  uint64_t during = 0;
  ASSERT_TRUE(device->read(**values, 0, std::as_writable_bytes(std::span(result))).ok());
  ASSERT_TRUE(device->read(**state, 0, std::as_writable_bytes(std::span(&during, 1))).ok());
  EXPECT_EQ(result[1], 0.0f) << "half of the smallest normal number is denormal";
#if defined(__x86_64__)
  EXPECT_EQ(during & ~uint64_t(0x3f), 0x9f80u | 0x40u) << "but for the sticky flags";
#endif
}

TEST_F(CpuTest, gridsBeyond32BitsAreRefused) {
  auto kernels = load(test::cpuImage(halve));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  hal::Launch launch{kernels->front().get(), {}};
  auto program = device->record({&launch, 1}, 1, false);
  ASSERT_TRUE(program.ok()) << program.message();
  for (auto count : {hal::WorkgroupCount{65536, 65536, 1}, hal::WorkgroupCount{1u << 31, 1u << 31, 4}}) {
    Status status = (*program)->submit({}, std::array{count});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Unsupported);
    EXPECT_NE(status.message().find("runs 4294967295 at most"), std::string::npos) << status.message();
  }
  EXPECT_TRUE((*program)->submit({}, std::array{hal::WorkgroupCount{65536, 65536, 0}}).ok());
}

TEST_F(CpuTest, largeBuffersLieAtHugePages) {
  for (uint64_t bytes : {uint64_t(1), uint64_t(100'000), uint64_t(8) << 20, (uint64_t(9) << 20) + 1}) {
    auto buffer = device->allocate("a buffer", bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.message();
    EXPECT_EQ((*buffer)->address() % (bytes < 8 << 20 ? 64 : 2 << 20), 0u) << bytes;
  }
}

TEST_F(CpuTest, mediumBuffersShareHugePages) {
  constexpr uint64_t bytes = 900'000, huge = uint64_t(2) << 20;
  std::vector<std::unique_ptr<hal::Buffer>> buffers;
  std::set<uint64_t> pages;
  for (int i = 0; i < 40; ++i) {
    auto buffer = device->allocate("a weight", bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.message();
    pages.insert((*buffer)->address() / huge);
    pages.insert(((*buffer)->address() + bytes - 1) / huge);
    std::vector<std::byte> content(bytes, std::byte(1));
    ASSERT_TRUE(device->read(**buffer, 0, content).ok());
    EXPECT_EQ(std::ranges::count(content, std::byte(0)), int64_t(bytes)) << "buffer " << i << " is not zero";
    std::ranges::fill(content, std::byte(i));
    ASSERT_TRUE(device->write(**buffer, 0, content).ok());
    buffers.push_back(std::move(*buffer));
    if (i % 4 == 3) // frees these buffers' pages, and keeps their neighbours'
      buffers.erase(buffers.end() - 3, buffers.end() - 1);
  }
  EXPECT_LE(pages.size(), 40 * bytes / huge + 3);
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<std::byte> content(bytes);
    ASSERT_TRUE(device->read(*buffers[i], 0, content).ok());
    EXPECT_EQ(std::ranges::count(content, std::byte(i / 2 * 4 + i % 2 * 3)), int64_t(bytes)) << i;
  }
}

TEST_F(CpuTest, memoryThatTheMachineDoesNotHaveIsRefused) {
  uint64_t memory = device->info().memoryBytes;
  auto all = device->allocate("a variable", memory * 2);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().kind, ErrorKind::OutOfMemory);
  for (uint64_t bytes : {UINT64_MAX, UINT64_MAX - 100, uint64_t(1) << 63}) {
    auto buffer = device->allocate("a variable", bytes);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().kind, ErrorKind::OutOfMemory);
  }
  EXPECT_TRUE(device->allocate("a variable", 100).ok());
}

TEST_F(CpuTest, damagedImagesDoNotLoad) {
  auto message = [&](auto change) {
    std::vector<uint32_t> code = test::cpuImage(halve);
    change(code);
    auto loaded = load(code);
    return loaded.ok() ? "loaded" : loaded.message();
  };
  EXPECT_EQ(message([](auto &) {}), "loaded");
  EXPECT_EQ(message([](auto &code) { code[0] = 0; }),
            "kernel 'halve' is no image for a processor: its first word is another.");
  EXPECT_EQ(message([](auto &code) { code[2] = code[3]; }),
            str("kernel 'halve' has an entry point at byte ", test::cpuImage(halve)[3], ", outside its image of ",
                test::cpuImage(halve)[3], " bytes."));
  EXPECT_NE(message([](auto &code) { code[3] = UINT32_MAX; }).find("is damaged"), std::string::npos);
  EXPECT_NE(message([](auto &code) { code.resize(4); }).find("is damaged"), std::string::npos);
  EXPECT_NE(message([](auto &code) { code.clear(); }).find("has 0 words of code"), std::string::npos);
}

TEST_F(CpuTest, executablesOutliveEachOther) {
  std::vector<uint32_t> code = test::cpuImage(halve);
  std::vector<hal::KernelSource> sources(3, {.name = "halve", .code = code, .lanes = 1});
  auto loaded = device->load(sources);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  loaded->erase(loaded->begin(), loaded->begin() + 2);
  auto values = device->allocate("values", 8), state = device->allocate("state", 8);
  hal::Argument arguments[] = {{values->get(), 0, 8}, {state->get(), 0, 8}};
  hal::Launch launch{loaded->front().get(), arguments};
  auto program = device->record({&launch, 1}, 1, false);
  ASSERT_TRUE(program.ok()) << program.message();
  EXPECT_TRUE((*program)->submit({}, std::array{hal::WorkgroupCount{1, 1, 1}}).ok());
}

TEST_F(CpuTest, perfFindsTheKernelsOfAnAddress) {
  const std::filesystem::path path = str("/tmp/perf-", getpid(), ".map");
  test::spit(path, "1000 10 left by an earlier process\n");
  setenv("HEDDLE_PERF_MAP", "1", 1);
  auto first = load(test::cpuImage(halve)), second = load(test::cpuImage(halve));
  unsetenv("HEDDLE_PERF_MAP");
  auto third = load(test::cpuImage(halve));
  ASSERT_TRUE(first && second && third);
  std::istringstream lines(test::slurp(path));
  for (const auto *kernels : {&*first, &*second}) {
    uint64_t address = 0, bytes = 0;
    std::string name;
    lines >> std::hex >> address >> bytes >> name;
    auto entry = reinterpret_cast<uint64_t>(static_cast<const hal::cpu::CpuKernel &>(*kernels->front()).entry);
    EXPECT_LE(address, entry);
    EXPECT_GT(address + bytes, entry);
    EXPECT_EQ(bytes, test::cpuImage(halve)[3]);
    EXPECT_EQ(name, "halve");
  }
  std::string more;
  EXPECT_FALSE(lines >> more) << more;
  std::filesystem::remove(path);
}

std::shared_ptr<const Artifact> adder(std::vector<std::string> targets) {
  auto artifact = Artifact::fromBytes(test::buildAdder({.targets = std::move(targets)}), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  return *artifact;
}

TEST_F(CpuTest, theProcessorComesBeforeEmulatedGpus) {
  auto devices = hal::listDevices();
  ASSERT_TRUE(devices.ok()) << devices.message();
  for (size_t i = 1; i < devices->size(); ++i)
    EXPECT_GE(hal::preference((*devices)[i - 1]), hal::preference((*devices)[i]));
  uint32_t best = 0;
  for (const hal::DeviceInfo &info : *devices)
    if (info.id.starts_with("vulkan"))
      best = std::max(best, hal::preference(info));
  auto session = Session::open(adder({"vulkan:portable", test::kCpuTarget}));
  ASSERT_TRUE(session.ok()) << session.message();
  EXPECT_EQ((*session)->device().id.substr(0, 3), best > 1 ? "vul" : "cpu");
}

TEST_F(CpuTest, nativeCodeCanBeRefused) {
  for (std::string_view device : {"", "cpu", "cpu:0"}) {
    auto session = Session::open(adder({test::kCpuTarget}), {.device = std::string(device), .nativeCode = false});
    ASSERT_FALSE(session.ok());
    EXPECT_NE(session.message().find("code for a processor can do whatever this process can, and was refused"),
              std::string::npos)
        << session.message();
  }
  auto other = Session::open(adder({test::kCpuTarget, "vulkan:portable"}), {.nativeCode = false});
  ASSERT_TRUE(other.ok()) << other.message();
  EXPECT_EQ((*other)->target(), "vulkan:portable");
}

TEST_F(CpuTest, missingInstructionsAreNamed) {
  auto session = Session::open(adder({"cpu:another"}), {.device = "cpu"});
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.message().find("its targets are cpu:another (cpu:another: this build does not know the target). "
                                   "Compile it with --target=cpu:"),
            std::string::npos)
      << session.message();
#if defined(__x86_64__)
  auto arm = Session::open(adder({"cpu:aarch64"}));
  ASSERT_FALSE(arm.ok());
  EXPECT_NE(arm.message().find("(cpu:aarch64: it is for aarch64 processors)"), std::string::npos) << arm.message();
#endif
}

} // namespace
} // namespace heddle
