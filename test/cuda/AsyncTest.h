// Kernels with mbarriers and asynchronous copies.
#pragma once

#include "test/cuda/EmulatorTest.h"

#include <cstdlib>

namespace heddle::test {

class AsyncTest : public EmulatorTest {
protected:
  void TearDown() override {
    unsetenv("HEDDLE_EMULATOR_RACECHECK");
    EmulatorTest::TearDown();
  }

  static constexpr unsigned kOut = 256; // words

  // A kernel around `body`. Thread 0 has %p0, %r0 is the thread's index, and %rd1 and %rd2 are the parameters. Shared
  // memory has four mbarriers `bar` at address 0 and 16 KiB `sh` at address 1024. `directives` are the kernel's own.
  static std::string program(const std::string &body, const std::string &directives = "") {
    return ".version 8.6\n.target sm_90a\n.address_size 64\n"
           ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) " +
           directives + R"(
{
  .reg .b32 %r<30>;
  .reg .b64 %rd<30>;
  .reg .pred %p<10>;
  .shared .align 8 .b64 bar[4];
  .shared .align 1024 .b8 sh[16384];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  setp.eq.u32 %p0, %r0, 0;
)" + body + "\n  ret;\n}\n";
  }
  // Initialises `bar` for this many arrivals, in thread 0, and waits for it.
  static std::string init(const std::string &arrivals) {
    return "@%p0 mbarrier.init.shared::cta.b64 [bar], " + arrivals +
           ";\n@%p0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n";
  }
  // Waits until the phase of this parity has ended. Every label may occur once.
  static std::string wait(const std::string &label, const std::string &parity, const std::string &barrier = "bar") {
    return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p9, [" + barrier + "], " + parity + ";\n@!%p9 bra " +
           label + ";\n";
  }
  // Writes 32-bit register number `r` to out[tid].
  static std::string result(const std::string &r) {
    return "mad.wide.u32 %rd29, %r0, 4, %rd2;\nst.global.u32 [%rd29], " + r + ";\n";
  }

  int runText(const std::string &text, unsigned threads, std::string &message, unsigned blocks = 1) {
    std::vector<uint32_t> input(4096);
    for (uint32_t i = 0; i < input.size(); ++i)
      input[i] = 1000 + i;
    in = upload(input);
    out = upload(std::vector<uint32_t>(kOut, 7));
    return launchFaulty(message, kernel(text), {blocks}, {threads}, 0, in, out, map);
  }
  int run(const std::string &body, unsigned threads, std::string &message) {
    return runText(program(body), threads, message);
  }
  // The first words of the output of a kernel that must not fail.
  std::vector<uint32_t> outputOf(const std::string &body, unsigned threads, unsigned count) {
    std::string message;
    EXPECT_EQ(run(body, threads, message), emulator::kSuccess) << message;
    return message.empty() ? download<uint32_t>(out, count) : std::vector<uint32_t>();
  }
  void expectFine(const std::string &body, unsigned threads = 64) {
    std::string message;
    EXPECT_EQ(run(body, threads, message), emulator::kSuccess) << message;
  }
  // Checks that the kernel fails with a message that says this.
  void expectFault(const std::string &body, const std::string &says, int code = emulator::kErrorLaunchFailed,
                   unsigned threads = 64) {
    expectTextFault(program(body), says, code, threads);
  }
  void expectTextFault(const std::string &text, const std::string &says, int code = emulator::kErrorLaunchFailed,
                       unsigned threads = 64, unsigned blocks = 1) {
    std::string message;
    EXPECT_EQ(runText(text, threads, message, blocks), code) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
    restart();
  }
  // A fault ends a context: the rest of the test needs a new one.
  void restart() {
    EmulatorTest::TearDown();
    EmulatorTest::SetUp();
  }
  void expectRefused(const std::string &body, const std::string &says) {
    std::string log;
    EXPECT_EQ(loadError(program(body), log), emulator::kErrorInvalidPtx);
    EXPECT_NE(log.find(says), std::string::npos) << log;
  }
  static void checkRaces() { setenv("HEDDLE_EMULATOR_RACECHECK", "1", 1); }

  uint64_t in = 0, out = 0;
  struct alignas(64) Map {
    uint64_t words[16];
  } map{};
};

} // namespace heddle::test
