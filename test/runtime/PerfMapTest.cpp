// The file that names kernels for perf, if the disk has no room for some of its lines.
#include "runtime/hal/cpu/PerfMap.h"
#include "runtime/core/Log.h"
#include "runtime/core/Status.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace heddle::hal::cpu {
namespace {

TEST(PerfMapTest, aFullDiskLosesNoEarlierKernel) {
  const std::string path = str("/tmp/perf-", getpid(), ".map");
  std::string warnings;
  setLogSink([&](LogLevel, std::string_view message) { warnings += message; });
  setenv("HEDDLE_PERF_MAP", "1", 1);
  auto add = [](std::string_view name) {
    const MappedKernel kernel{name, 0x1000, 16};
    addToPerfMap({&kernel, 1});
  };
  add("first");
  EXPECT_EQ(warnings, "");
  // The disk is full after 20 bytes: "1000 10 first\n" has 14.
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small{20, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  add("second");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_NE(warnings.find("File too large"), warnings.npos) << warnings;
  add("third");
  unsetenv("HEDDLE_PERF_MAP");
  setLogSink({});
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  EXPECT_EQ(text.str(), "1000 10 first\n1000 10 third\n");
}

} // namespace
} // namespace heddle::hal::cpu
