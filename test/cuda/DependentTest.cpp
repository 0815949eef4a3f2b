// Programmatic dependent launches: a kernel begins while the previous one still runs.
#include "test/cuda/AsyncTest.h"

namespace heddle::test {
namespace {

class DependentTest : public AsyncTest {
protected:
  enum : uint64_t { kReads = 1, kWrites = 2 };

  int launchDeclared(const std::string &body, uint64_t from, uint64_t to, int programmatic) {
    const emulator::DeclaredAccess access[] = {{from, 64, kReads}, {to, 64, kWrites}};
    Api::get()("heddleDeclareAccess", static_cast<const emulator::DeclaredAccess *>(access), size_t(2));
    emulator::LaunchAttribute attribute{};
    attribute.kind = emulator::kAttributeProgrammaticSerialization;
    attribute.programmatic = programmatic;
    emulator::LaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, &attribute, 1};
    void *arguments[] = {&from, &to, &map, nullptr};
    int result = Api::get()("cuLaunchKernelEx", static_cast<const emulator::LaunchConfig *>(&config),
                            kernel(program(body)), static_cast<void **>(arguments), static_cast<void **>(nullptr));
    return result ? result : Api::get()("cuCtxSynchronize");
  }
  // The first kernel copies a word from `a` to `b`. Returns the error of the second kernel.
  int second(const std::string &body, uint64_t from, uint64_t to, int programmatic, std::string &message) {
    EXPECT_EQ(launchDeclared(kCopy + "griddepcontrol.launch_dependents;", a, b, 0), emulator::kSuccess);
    ::testing::internal::CaptureStderr();
    int result = launchDeclared(body, from, to, programmatic);
    message = ::testing::internal::GetCapturedStderr();
    return result;
  }
  void prepare() {
    a = upload(std::vector<uint32_t>(16, 5));
    b = upload(std::vector<uint32_t>(16, 6));
    c = upload(std::vector<uint32_t>(16, 7));
  }

  const std::string kCopy = "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd2], %r1;\n",
                    kWait = "griddepcontrol.wait;\n";
  const std::string kEarly = "which the kernel before may still use: the thread has not passed griddepcontrol.wait";
  uint64_t a = 0, b = 0, c = 0;
};

TEST_F(DependentTest, Waits) {
  prepare();
  std::string message;
  EXPECT_EQ(second(kWait + kCopy, b, c, 1, message), emulator::kSuccess) << message;
  EXPECT_EQ(download<uint32_t>(c, 1)[0], 5u);
  // Memory that the first kernel only reads, or does not use at all, needs no wait.
  EXPECT_EQ(second("ld.global.u32 %r1, [%rd1];\n" + kWait + "st.global.u32 [%rd2], %r1;\n", a, b, 1, message), 0)
      << message;
  EXPECT_EQ(second(kCopy, a, c, 1, message), emulator::kSuccess) << message;
  // Without the attribute, the second kernel begins afterwards.
  EXPECT_EQ(second(kCopy, b, c, 0, message), emulator::kSuccess) << message;
}

TEST_F(DependentTest, MissingWaits) {
  std::string message;
  for (int i = 0; i < 2; ++i) {
    prepare();
    // Reads what the first kernel writes, or writes what it reads.
    EXPECT_EQ(second(kCopy + kWait, i ? c : b, i ? a : c, 1, message), emulator::kErrorIllegalAddress);
    EXPECT_NE(message.find((i ? "write of 4 bytes" : "read of 4 bytes")), std::string::npos) << message;
    EXPECT_NE(message.find(kEarly), std::string::npos) << message;
    restart();
  }
}

} // namespace
} // namespace heddle::test
