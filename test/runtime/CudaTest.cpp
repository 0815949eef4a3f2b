// CUDA only: architectures, a launch's shared memory, binaries, the driver's compiler, kernels that fail.
#include "runtime/session/SessionState.h"
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace heddle {
namespace {

// Choosing a target needs no device, only its description.
hal::DeviceInfo gpu(uint32_t computeCapability, uint32_t sharedKiB = 99) {
  hal::DeviceInfo info;
  info.id = "cuda:0";
  info.name = "a GPU";
  info.driver = str("compute capability ", computeCapability / 10, ".", computeCapability % 10);
  info.type = hal::DeviceType::DiscreteGpu;
  info.subgroupSize = info.maxSubgroupSize = 32;
  info.maxLanes = 1024;
  info.maxSharedBytes = sharedKiB << 10;
  info.computeCapability = computeCapability;
  return info;
}

std::string chosen(std::vector<std::string> targets, const hal::DeviceInfo &device, std::string_view wanted = "") {
  auto artifact = Artifact::fromBytes(test::buildAdder({.targets = std::move(targets)}), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  auto target = chooseTarget(**artifact, wanted, device);
  return target.ok() ? std::string(view((*target)->name())) : target.message();
}

void expectPart(const std::string &message, std::string_view part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(CudaTargetTest, theNewestThatRunsIsChosen) {
  const std::vector<std::string> all = {"vulkan:portable", "cuda:sm_80", "cuda:sm_90a", "cuda:sm_90", "cuda:sm_120"};
  EXPECT_EQ(chosen(all, gpu(80)), "cuda:sm_80");
  EXPECT_EQ(chosen(all, gpu(86)), "cuda:sm_80");
  EXPECT_EQ(chosen(all, gpu(89)), "cuda:sm_80");
  EXPECT_EQ(chosen(all, gpu(90)), "cuda:sm_90a");
  EXPECT_EQ(chosen(all, gpu(100)), "cuda:sm_90") << "sm_90a is for 9.0 alone";
  EXPECT_EQ(chosen(all, gpu(120)), "cuda:sm_120");
  EXPECT_EQ(chosen(all, gpu(90), "cuda:sm_80"), "cuda:sm_80");
  EXPECT_EQ(chosen({"cuda:sm_80", "cuda:sm_90a"}, gpu(120)), "cuda:sm_80");
}

TEST(CudaTargetTest, muchSharedMemoryIsNotLeftUnused) {
  const std::vector<std::string> old = {"cuda:sm_80", "cuda:sm_86", "cuda:sm_89"};
  EXPECT_EQ(chosen(old, gpu(90, 227)), "cuda:sm_80");
  EXPECT_EQ(chosen(old, gpu(100, 227)), "cuda:sm_80");
  EXPECT_EQ(chosen(old, gpu(86)), "cuda:sm_86");
  EXPECT_EQ(chosen(old, gpu(120)), "cuda:sm_89");
  EXPECT_EQ(chosen({"cuda:sm_86", "cuda:sm_89"}, gpu(90, 227)), "cuda:sm_89") << "better than nothing";
  EXPECT_EQ(chosen({"cuda:sm_80", "cuda:sm_100", "cuda:sm_120"}, gpu(103, 227)), "cuda:sm_100");
}

TEST(CudaTargetTest, whatDoesNotRunIsRefused) {
  expectPart(chosen({"vulkan:portable", "cuda:sm_80", "cuda:sm_90a"}, gpu(75)),
             "has no code for 'cuda:0' (a GPU, compute capability 7.5): its targets are vulkan:portable, cuda:sm_80, "
             "cuda:sm_90a. Compile it with --target=vulkan:portable, or use another --device.");
  expectPart(chosen({"cuda:sm_90a"}, gpu(100)), "has no code for 'cuda:0'");
  expectPart(chosen({"vulkan:software"}, gpu(90)), "Compile it with --target=cuda:sm_90a");
  expectPart(chosen({"vulkan:software"}, gpu(80, 163)), "Compile it with --target=cuda:sm_80");
  expectPart(chosen({"vulkan:software"}, gpu(86)), "Compile it with --target=cuda:sm_86");
  expectPart(chosen({"vulkan:software"}, gpu(89)), "Compile it with --target=cuda:sm_89");
  expectPart(chosen({"vulkan:software"}, gpu(100, 227)), "Compile it with --target=cuda:sm_100");
  expectPart(chosen({"vulkan:software"}, gpu(120)), "Compile it with --target=cuda:sm_120");
  expectPart(chosen({"cuda:sm_80", "cuda:sm_90a"}, gpu(80), "cuda:sm_90a"), "no target 'cuda:sm_90a' that 'cuda:0'");
  expectPart(chosen({"cuda:sm_next"}, gpu(90)), "has no code for 'cuda:0'");
}

TEST(CudaTargetTest, sharedMemoryRulesATargetOut) {
  std::vector<std::byte> bytes = test::buildAdder({.targets = {"cuda:sm_80"}, .sealed = false});
  std::unique_ptr<schema::ModuleT> module(schema::GetModule(bytes.data())->UnPack());
  module->targets[0]->kernels[0]->shared_bytes = 160 << 10;
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModuleBuffer(builder, schema::Module::Pack(builder, module.get()));
  const auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  auto artifact = Artifact::fromBytes({begin, begin + builder.GetSize()}, "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  auto target = chooseTarget(**artifact, "", gpu(86));
  ASSERT_FALSE(target.ok());
  expectPart(target.message(),
             "(cuda:sm_80: kernel 'add' needs 160.0 KiB of shared memory, and 'a GPU' gives a workgroup "
             "99.0 KiB at most)");
}

class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    if (std::string why = test::absence({"cuda", "cuda", true, {}}); !why.empty())
      GTEST_SKIP() << why;
    auto opened = hal::openDevice("cuda");
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = std::move(*opened);
  }

  Result<std::vector<std::unique_ptr<hal::Executable>>> load(std::string_view name, const std::vector<uint32_t> &code,
                                                             std::span<const uint8_t> binary = {}) {
    hal::KernelSource source;
    source.name = name;
    source.code = code;
    source.binary = binary;
    source.lanes = 64;
    source.subgroup = 32;
    source.sharedBytes = name == "reverse" ? 64 << 10 : 0;
    return device->load({&source, 1});
  }

  std::unique_ptr<hal::Device> device;
};

TEST_F(CudaTest, isDescribed) {
  const hal::DeviceInfo &info = device->info();
  EXPECT_EQ(info.id.substr(0, 5), "cuda:");
  EXPECT_GE(info.computeCapability, 80u);
  EXPECT_GT(info.processors, 0u);
  if (info.name == "Heddle emulator") {
    EXPECT_EQ(info.processors, 4u);
  }
  EXPECT_GE(info.maxLanes, 1024u);
  EXPECT_GT(info.maxSharedBytes, 48u << 10);
  EXPECT_GE(info.maxWorkgroups[0], 0x7fffffffu);
  EXPECT_NE(info.driver.find("compute capability"), std::string::npos) << info.driver;
}

TEST_F(CudaTest, launchesHaveTheSharedMemoryThatTheyAskFor) {
  auto kernels = load("reverse", test::testPtx("reverse"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  auto memory = device->allocate("two vectors", 512);
  ASSERT_TRUE(memory.ok()) << memory.message();
  const hal::Argument arguments[] = {{memory->get(), 0, 256}, {memory->get(), 256, 256}};
  const hal::Launch launch{kernels->front().get(), arguments, 0, false};
  auto program = device->record({&launch, 1}, 1, false);
  ASSERT_TRUE(program.ok()) << program.message();
  std::vector<int32_t> values(64), back(64);
  std::iota(values.begin(), values.end(), 5);
  const hal::Upload upload{memory->get(), 0, std::as_bytes(std::span(values))};
  ASSERT_TRUE((*program)->submit({&upload, 1}, std::array{hal::WorkgroupCount{1, 1, 1}}).ok());
  ASSERT_TRUE(device->read(**memory, 256, std::as_writable_bytes(std::span(back))).ok());
  std::ranges::reverse(values);
  EXPECT_EQ(back, values);
}

TEST_F(CudaTest, badCodeIsReportedWithTheKernelsName) {
  auto kernels = load("crooked", test::ptxWords(".version 7.0\n.target sm_80\n.address_size 64\n"
                                                ".visible .entry main()\n{\n  nonsense.f32 %r1, %r2;\n}\n"));
  ASSERT_FALSE(kernels.ok());
  expectPart(kernels.message(), "compiling kernel 'crooked' failed on");
  expectPart(kernels.message(), "CUDA_ERROR_INVALID_PTX");
  expectPart(kernels.message(), "The driver's compiler says: ");
}

TEST_F(CudaTest, binariesThatTheDriverRefusesGiveWayToThePtx) {
  const uint8_t elf[64] = {0x7f, 'E', 'L', 'F'};
  auto kernels = load("add", test::testPtx("add"), elf);
  EXPECT_TRUE(kernels.ok()) << kernels.message();
  kernels =
      load("crooked", test::ptxWords(".version 7.0\n.target sm_80\n.address_size 64\n.entry main() { bad; }\n"), elf);
  ASSERT_FALSE(kernels.ok());
  expectPart(kernels.message(), "Its binary cannot be used either");
}

// The kind of error does not matter, except for lack of memory: then compiling the PTX would need even more.
TEST_F(CudaTest, aBinaryIsRefusedForManyReasons) {
  if (device->info().name != "Heddle emulator")
    GTEST_SKIP() << "only the emulated driver can be told what it says of binaries";
  const uint8_t elf[64] = {0x7f, 'E', 'L', 'F'};
  constexpr int outOfMemory = 2, unsupportedPtxVersion = 222, invalidSource = 300, notSupported = 801;
  for (int error : {unsupportedPtxVersion, invalidSource, notSupported}) {
    setenv("HEDDLE_EMULATOR_CUBIN_ERROR", std::to_string(error).c_str(), 1);
    auto kernels = load("add", test::testPtx("add"), elf);
    EXPECT_TRUE(kernels.ok()) << error << ": " << kernels.message();
  }
  setenv("HEDDLE_EMULATOR_CUBIN_ERROR", std::to_string(outOfMemory).c_str(), 1);
  auto kernels = load("add", test::testPtx("add"), elf);
  unsetenv("HEDDLE_EMULATOR_CUBIN_ERROR");
  ASSERT_FALSE(kernels.ok());
  expectPart(kernels.message(), "loading kernel 'add' failed on");
  expectPart(kernels.message(), "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(CudaTest, anEntryHasTheNameThatTheKernelSays) {
  hal::KernelSource source;
  source.name = "add";
  source.entry = "heddle_add";
  std::string ptx(reinterpret_cast<const char *>(test::testPtx("add").data()));
  ptx.replace(ptx.find("main"), 4, source.entry);
  std::vector<uint32_t> code = test::ptxWords(ptx);
  source.code = code;
  source.lanes = 64;
  auto kernels = device->load({&source, 1});
  EXPECT_TRUE(kernels.ok()) << kernels.message();
  source.entry = "main";
  kernels = device->load({&source, 1});
  ASSERT_FALSE(kernels.ok());
  expectPart(kernels.message(), "finding the entry of kernel 'add'");
}

TEST_F(CudaTest, theFirstOfManyErrorsIsReported) {
  std::vector<uint32_t> good = test::testPtx("add"), bad = test::ptxWords("nothing");
  std::vector<hal::KernelSource> sources(20);
  std::vector<std::string> names;
  for (size_t i = 0; i < sources.size(); ++i)
    names.push_back(str("kernel_", i));
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i].name = names[i];
    sources[i].code = i == 7 || i == 13 ? bad : good;
    sources[i].lanes = 64;
  }
  auto kernels = device->load(sources);
  ASSERT_FALSE(kernels.ok());
  expectPart(kernels.message(), "'kernel_7'");
  sources[7].code = sources[13].code = good;
  kernels = device->load(sources);
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  EXPECT_EQ(kernels->size(), sources.size());
}

// A failed kernel breaks CUDA for the whole process, so it runs in a process of its own.
void faultAndExit(const char *blocking) {
  setenv("CUDA_LAUNCH_BLOCKING", blocking, 1);
  auto device = hal::openDevice("cuda");
  if (!device)
    std::_Exit(2);
  std::vector<uint32_t> add = test::testPtx("add"), fault = test::testPtx("fault");
  std::vector<hal::KernelSource> sources(2);
  sources[0].name = "add", sources[0].code = add, sources[0].lanes = 32;
  sources[1].name = "fault", sources[1].code = fault, sources[1].lanes = 32;
  auto kernels = (*device)->load(sources);
  auto memory = (*device)->allocate("zeros", 64); // a size of 0, so that `add` adds nothing
  if (!kernels || !memory)
    std::_Exit(3);
  const hal::Argument zeros{memory->get(), 0, 16}, arguments[] = {zeros, zeros, zeros, zeros};
  const hal::Launch launches[] = {{(*kernels)[0].get(), arguments, 0, false}, {(*kernels)[1].get(), {}, 0, true}};
  auto program = (*device)->record(launches, 1, false);
  if (!program)
    std::_Exit(4);
  Status status = (*program)->submit({}, std::array{hal::WorkgroupCount{1, 1, 1}});
  if (status.ok())
    status = (*device)->wait();
  std::fprintf(stderr, "first: %s\n", status.ok() ? "nothing" : status.message().c_str());
  if (status.ok() || status.error().kind != ErrorKind::DeviceLost)
    std::_Exit(5);
  status = (*device)->wait();
  std::fprintf(stderr, "then: %s\n", status.ok() ? "nothing" : status.message().c_str());
  std::_Exit(status.ok() ? 6 : 0);
}

class CudaDeathTest : public CudaTest {};

TEST_F(CudaDeathTest, failedKernelsAreToldOnceAndClearly) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      faultAndExit("0"), testing::ExitedWithCode(0),
      "first: one of 2 launches, from kernel 'add' to kernel 'fault', failed on '.*' \\(CUDA_ERROR_ILLEGAL_ADDRESS.*"
      "CUDA_LAUNCH_BLOCKING=1.*\n"
      "then: waiting for the device failed: '.*' stopped before \\(CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EXIT(faultAndExit("1"), testing::ExitedWithCode(0),
              "first: kernel 'fault' failed on '.*' \\(CUDA_ERROR_ILLEGAL");
}

} // namespace
} // namespace heddle
