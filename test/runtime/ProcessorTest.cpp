// Processor features, and the number of threads that suits a process.
#include "runtime/hal/cpu/Processor.h"
#include "runtime/core/ProcessorCount.h"
#include "test/runtime/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace heddle::hal::cpu {
namespace {

TEST(ProcessorTest, targetsNeedTheirInstructionSets) {
  Processor amx{.name = "a processor", .architecture = "x86-64"};
  EXPECT_EQ(amx.bestTarget(), "cpu:x86-64-v4-amx");
  EXPECT_GT(amx.suitability("cpu:x86-64-v4-amx"), amx.suitability("cpu:x86-64-v4-vnni"));

  Processor vnni{.name = "a processor", .architecture = "x86-64", .missingForAmx = "AMX-TILE, AMX-BF16"};
  EXPECT_EQ(vnni.bestTarget(), "cpu:x86-64-v4-vnni");
  EXPECT_EQ(vnni.obstacle("cpu:x86-64-v4-amx"), "the processor lacks AMX-TILE, AMX-BF16");
  EXPECT_GT(vnni.suitability("cpu:x86-64-v4-vnni"), vnni.suitability("cpu:x86-64-v4"));

  Processor v4{.name = "a processor",
               .architecture = "x86-64",
               .missingForVnni = "AVX512VNNI",
               .missingForAmx = "AVX512VNNI, AMX-TILE, AMX-BF16"};
  EXPECT_EQ(v4.bestTarget(), "cpu:x86-64-v4");
  EXPECT_EQ(v4.obstacle("cpu:x86-64-v4-vnni"), "the processor lacks AVX512VNNI");
  EXPECT_GT(v4.suitability("cpu:x86-64-v4"), v4.suitability("cpu:x86-64-v3"));
  EXPECT_GT(v4.suitability("cpu:x86-64-v3"), 0u);
  EXPECT_EQ(v4.suitability("cpu:aarch64"), 0u);
  EXPECT_EQ(v4.suitability("cpu:x86-64-v5"), 0u);

  Processor v3{.name = "a processor",
               .architecture = "x86-64",
               .missingForV4 = "AVX512F, AVX512BW",
               .missingForVnni = "AVX512F, AVX512BW",
               .missingForAmx = "AVX512F, AVX512BW"};
  EXPECT_EQ(v3.bestTarget(), "cpu:x86-64-v3");
  EXPECT_EQ(v3.suitability("cpu:x86-64-v4"), 0u);
  EXPECT_EQ(v3.obstacle("cpu:x86-64-v4"), "the processor lacks AVX512F, AVX512BW");
  EXPECT_EQ(v3.obstacle("cpu:x86-64-v3"), "");

  Processor old{.name = "a processor",
                .architecture = "x86-64",
                .missingForV3 = "AVX2",
                .missingForV4 = "AVX2",
                .missingForVnni = "AVX2",
                .missingForAmx = "AVX2"};
  EXPECT_EQ(old.bestTarget(), "");

  Processor arm{.name = "a processor", .architecture = "aarch64"};
  EXPECT_EQ(arm.bestTarget(), "cpu:aarch64");
  EXPECT_EQ(arm.obstacle("cpu:x86-64-v3"), "it is for x86-64 processors");
}

TEST(ProcessorTest, thisMachineHasAName) {
  EXPECT_FALSE(Processor::get().name.empty());
  EXPECT_GE(usableProcessors(), 1u);
}

// A fake machine's files that describe its processors.
class ProcessorCountTest : public testing::Test {
protected:
  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = folder.path() / path.substr(1);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  unsigned allowed() const { return processorQuota(folder.path().string()).processors; }
  std::string group() const { return processorQuota(folder.path().string()).group; }

  test::TemporaryFolder folder;
};

TEST_F(ProcessorCountTest, nothingIsNoLimit) {
  EXPECT_EQ(allowed(), 0u);
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(allowed(), 0u);
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(allowed(), 0u);
  write("/sys/fs/cgroup/cpu.max", "nonsense\n");
  EXPECT_EQ(allowed(), 0u);
}

TEST_F(ProcessorCountTest, versionTwo) {
  write("/proc/self/cgroup", "0::/a.slice/b.scope\n");
  write("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "250000 100000\n");
  EXPECT_EQ(allowed(), 3u) << "two and a half, rounded up";
  write("/sys/fs/cgroup/a.slice/cpu.max", "100000 100000\n");
  EXPECT_EQ(allowed(), 1u) << "the group around it allows less";
  write("/sys/fs/cgroup/a.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(allowed(), 3u);
  write("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "5000 100000\n");
  EXPECT_EQ(allowed(), 1u);
  EXPECT_EQ(usableProcessors(folder.path().string()), 1u);
}

TEST_F(ProcessorCountTest, versionOne) {
  write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n3:cpuset:/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(allowed(), 0u);
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(allowed(), 2u);
}

// Two processes of one group have the same quota, and those of two groups only if a group around both sets it.
TEST_F(ProcessorCountTest, groupsHaveNames) {
  write("/proc/self/cgroup", "0::/pod/a\n");
  EXPECT_EQ(group(), "");
  write("/sys/fs/cgroup/pod/a/cpu.max", "200000 100000\n");
  write("/sys/fs/cgroup/pod/b/cpu.max", "200000 100000\n");
  std::string a = group();
  EXPECT_NE(a, "");
  EXPECT_EQ(group(), a);
  write("/proc/self/cgroup", "0::/pod/b\n");
  EXPECT_NE(group(), a);
  write("/sys/fs/cgroup/pod/cpu.max", "100000 100000\n");
  std::string pod = group();
  EXPECT_NE(pod, a);
  write("/proc/self/cgroup", "0::/pod/a\n");
  EXPECT_EQ(group(), pod);
  // A container's own group may be called "/" within it.
  std::filesystem::rename(folder.path() / "sys/fs/cgroup", folder.path() / "outside");
  std::filesystem::create_directory_symlink(folder.path() / "outside/pod", folder.path() / "sys/fs/cgroup");
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(group(), pod);
}

TEST_F(ProcessorCountTest, threadsOfACoreCountOnce) {
  for (int i = 0; i < 512; ++i) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/physical_package_id", "0\n");
    write("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/core_id", "7\n");
  }
  EXPECT_EQ(usableProcessors(folder.path().string()), 1u);
}

} // namespace
} // namespace heddle::hal::cpu
