// Phases of mbarriers, and the faults of kernels that use them wrongly.
#include "test/cuda/AsyncTest.h"

namespace heddle::test {
namespace {

class MbarrierTest : public AsyncTest {
protected:
  // Stores 1 in bit `bit` of %r20 if %p1 holds.
  static std::string note(const std::string &bit) {
    return "selp.u32 %r21, 1, 0, %p1;\nshl.b32 %r21, %r21, " + bit + ";\nor.b32 %r20, %r20, %r21;\n";
  }
  const std::string kInit3 = "mbarrier.init.shared::cta.b64 [bar], 3;\nmov.u32 %r20, 0;\n";
  const std::string kArrive = "mbarrier.arrive.shared::cta.b64 %rd3, [bar];\n";
};

TEST_F(MbarrierTest, StatesAndPendingCounts) {
  auto have = outputOf(kInit3 + kArrive +
                           "mbarrier.pending_count.b64 %r1, %rd3;\n"
                           "mbarrier.arrive.release.cta.shared::cta.b64 %rd4, [bar], 2;\n"
                           "mbarrier.pending_count.b64 %r2, %rd4;\n"
                           "mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [bar], 2;\n"
                           "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd3;\n" +
                           note("0") + "mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [bar], %rd4;\n" +
                           note("1") + "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd5;\n" + note("2") +
                           "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n" + note("3") +
                           "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 1;\n" + note("4") +
                           "st.global.v2.u32 [%rd2], {%r1, %r2};\nst.global.u32 [%rd2+8], %r20;",
                       1, 3);
  EXPECT_EQ(have, (std::vector<uint32_t>{3, 2, 0b01011}));
}

TEST_F(MbarrierTest, GenericAddresses) {
  auto have = outputOf("mov.u64 %rd4, bar;\ncvta.shared.u64 %rd4, %rd4;\nmbarrier.init.b64 [%rd4+8], 1;\n"
                       "mbarrier.arrive.b64 %rd5, [%rd4+8];\nmbarrier.try_wait.b64 %p1, [%rd4+8], %rd5;\n"
                       "mbarrier.inval.b64 [%rd4+8];\nselp.u32 %r1, 5, 6, %p1;\nst.global.u32 [%rd2], %r1;",
                       1, 1);
  EXPECT_EQ(have, (std::vector<uint32_t>{5}));
}

// Every phase needs all threads, and the sum of each phase is read in the next.
TEST_F(MbarrierTest, OrdersPhases) {
  checkRaces();
  const std::string own = "mov.u32 %r1, sh;\nmad.lo.u32 %r2, %r0, 4, %r1;\nxor.b32 %r3, %r2, 128;\n";
  const std::string exchange = own + init("64") + "st.shared.u32 [%r2], %r0;\n" + kArrive + wait("a", "0") +
                               "ld.shared.u32 %r4, [%r3];\n" + kArrive + wait("b", "1") +
                               "add.u32 %r4, %r4, 100;\nst.shared.u32 [%r2], %r4;\n" + kArrive + wait("c", "0") +
                               "ld.shared.u32 %r5, [%r3];\n" + result("%r5");
  auto have = outputOf(exchange, 64, 64);
  ASSERT_EQ(have.size(), 64u);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(have[i], 100 + i);
}

TEST_F(MbarrierTest, CountsBytes) {
  auto have =
      outputOf(kInit3 +
                   "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 64;\n"
                   "mbarrier.arrive.shared::cta.b64 %rd3, [bar], 2;\n"
                   "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 100;\n"
                   "mbarrier.arrive.expect_tx.shared::cta.b64 %rd4, [bar], 48;\n"
                   "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd4;\n" +
                   note("0") + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 12;\n" +
                   "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd4;\n" + note("1") + "st.global.u32 [%rd2], %r20;",
               1, 1);
  EXPECT_EQ(have, (std::vector<uint32_t>{2}));
}

TEST_F(MbarrierTest, DroppedThreadsAreNotExpected) {
  auto have = outputOf(kInit3 +
                           "mbarrier.arrive_drop.shared::cta.b64 %rd3, [bar];\n"
                           "mbarrier.arrive.shared::cta.b64 %rd3, [bar], 2;\n"
                           "mbarrier.arrive.shared::cta.b64 %rd3, [bar];\nmbarrier.pending_count.b64 %r1, %rd3;\n"
                           "mbarrier.arrive.shared::cta.b64 %rd3, [bar];\n"
                           "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd3;\n" +
                           note("4") + "add.u32 %r1, %r1, %r20;\nst.global.u32 [%rd2], %r1;",
                       1, 1);
  EXPECT_EQ(have, (std::vector<uint32_t>{18}));
}

// Faults.

TEST_F(MbarrierTest, MissingArrival) {
  std::string body = init("64") + "@!%p0 " + kArrive + wait("a", "0");
  expectFault(body, "kernel k, PTX line");
  expectFault(body, "the mbarrier at shared address 0x0 lacks 1 of 64 arrivals and 0 bytes in phase 0");
  expectFault(body, "it keeps lanes 0xffffffff of warp 0, 0xffffffff of warp 1 waiting");
  std::string one = init("64") + kArrive + "setp.eq.u32 %p1, %r0, 35;\n@!%p1 ret;\n" + wait("a", "0") + wait("b", "1");
  expectFault(one, "lacks 64 of 64 arrivals and 0 bytes in phase 1; it keeps lanes 0x8 of warp 1 waiting");
  std::string poll = init("64") + "a: mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra a;";
  expectFault(poll, "deadlock: 65536 tests of the mbarrier at shared address 0x0, which lacks 64 of 64 arrivals");
}
TEST_F(MbarrierTest, WrongNumberOfBytes) {
  auto body = [&](const std::string &bytes) {
    return init("1") + "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], " + bytes +
           ";\n@%p0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64;\n" + wait("a", "0");
  };
  expectFine(body("64"));
  expectFault(body("80"), "lacks 0 of 1 arrivals and 16 bytes in phase 0");
  expectFault(body("48"), "lacks 0 of 1 arrivals and has 16 bytes more than it expects in phase 0");
}
TEST_F(MbarrierTest, NotInitialised) {
  const std::string says = "no mbarrier is at shared address 0x8";
  expectFault(init("1") + "mbarrier.arrive.shared::cta.b64 %rd3, [bar+8];", says, emulator::kErrorIllegalAddress);
  expectFault(init("1") + wait("a", "0", "bar+8"), says, emulator::kErrorIllegalAddress);
  expectFault(kInit3 + "mbarrier.inval.shared::cta.b64 [bar];\n" + wait("a", "0"), "or it was invalidated",
              emulator::kErrorIllegalAddress, 1);
}
TEST_F(MbarrierTest, Overflows) {
  expectFault(kInit3 + "mbarrier.arrive.shared::cta.b64 %rd3, [bar], 4;",
              "4 arrivals overflow the mbarrier at shared address 0x0, which lacks 3 of 3 arrivals", 719, 1);
  expectFault("mbarrier.init.shared::cta.b64 [bar], 1048576;", "an mbarrier counts from 1 to 1048575 arrivals", 719, 1);
  expectFault("mbarrier.init.shared::cta.b64 [bar], 0;", "an mbarrier counts from 1 to 1048575 arrivals", 719, 1);
  const std::string expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n";
  expectFault(kInit3 + expect + expect, "overflows the transaction count", 719, 1);
  expectFault(kInit3 + "mbarrier.arrive.noComplete.shared::cta.b64 %rd3, [bar], 3;", "completes the phase", 719, 1);
}
TEST_F(MbarrierTest, MemoryOfTheObject) {
  expectFault(kInit3 + "ld.shared.u32 %r1, [bar+4];", "read of 4 bytes at shared address 0x4, which holds an mbarrier",
              emulator::kErrorIllegalAddress, 1);
  expectFault(kInit3 + "st.shared.u64 [bar], %rd1;", "which holds an mbarrier", emulator::kErrorIllegalAddress, 1);
  expectFault(kInit3 + kInit3, "holds an mbarrier, which mbarrier.inval has not ended", 719, 1);
  expectFault("mbarrier.init.shared::cta.b64 [bar+4], 3;", "which is misaligned", emulator::kErrorMisalignedAddress, 1);
  expectFine(kInit3 + "mbarrier.inval.shared::cta.b64 [bar];\nst.shared.u64 [bar], %rd1;", 1);
}
TEST_F(MbarrierTest, StatesOfEarlierPhases) {
  const std::string phase = "mbarrier.arrive.shared::cta.b64 %rd4, [bar], 3;\n";
  expectFault(kInit3 + kArrive + "mbarrier.arrive.shared::cta.b64 %rd4, [bar], 2;\n" + phase +
                  "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd3;",
              "the state belongs to phase 0 of the mbarrier at shared address 0x0, which is in phase 2", 719, 1);
  expectFault(kInit3 + "mov.u32 %r5, 2;\n" + wait("a", "%r5"), "a phase's parity is 0 or 1, not 2", 719, 1);
}
TEST_F(MbarrierTest, InvalidatedWhileThreadsWait) {
  expectFault(init("2") + "@!%p0 bra a;\nnanosleep.u32 100;\nmbarrier.inval.shared::cta.b64 [bar];\nret;\n" +
                  wait("a", "0"),
              "keeps threads waiting");
}
TEST_F(MbarrierTest, WhatThePhaseDoesNotOrder) {
  checkRaces();
  const std::string zero = "mov.u32 %r1, sh;\nmad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u32 [%r2], 0;\n";
  const std::string produce = zero + init("32") +
                              "setp.lt.u32 %p1, %r0, 32;\nmov.u32 %r1, sh;\nand.b32 %r2, %r0, 31;\n"
                              "mad.lo.u32 %r2, %r2, 4, %r1;\n@%p1 st.shared.u32 [%r2], %r0;\n";
  const std::string arrive = "@%p1 mbarrier.arrive.shared::cta.b64 %rd3, [bar];\n";
  const std::string consume = "@%p1 ret;\n" + wait("a", "0") + "ld.shared.u32 %r4, [%r2];";
  expectFine(produce + arrive + consume);
  expectFault(produce + "@%p1 mbarrier.arrive.relaxed.cta.shared::cta.b64 %rd3, [bar];\n" + consume, "race",
              emulator::kErrorIllegalAddress);
  expectFault(produce + arrive + "@%p1 ret;\nld.shared.u32 %r4, [%r2];", "race", emulator::kErrorIllegalAddress);
  expectFault("@%p0 mbarrier.init.shared::cta.b64 [bar], 64;\n" + kArrive, "race", emulator::kErrorIllegalAddress);
}
TEST_F(MbarrierTest, FormsThatDoNotExist) {
  expectRefused("mbarrier.arrive.release.cluster.shared::cluster.b64 %rd3, [bar];", "has no result");
  expectRefused("mbarrier.init.shared::cta.b64 [bar];", "an operand is missing");
  std::string log, old = program(wait("a", "0"));
  old.replace(old.find("sm_90a"), 6, "sm_80");
  EXPECT_EQ(loadError(old, log), emulator::kErrorInvalidPtx);
  EXPECT_NE(log.find("needs .target sm_90, not sm_80"), std::string::npos) << log;
}

} // namespace
} // namespace heddle::test
