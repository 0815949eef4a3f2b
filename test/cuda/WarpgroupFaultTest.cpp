// Error messages for kernels that break the rules of wgmma.
#include "test/cuda/WarpgroupTest.h"

#include <cstdlib>

namespace heddle::test {
namespace {

class WgmmaFaultTest : public WarpgroupTest {
protected:
  // Replaces the first occurrence.
  void change(const std::string &from, const std::string &to) {
    size_t at = ptx.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    ptx.replace(at, from.size(), to);
  }
  void before(const std::string &text, const std::string &more) { change(text, more + "\n" + text); }
  void changeAll(const std::string &from, const std::string &to) {
    ASSERT_NE(ptx.find(from), std::string::npos) << from;
    for (size_t at = 0; (at = ptx.find(from, at)) != std::string::npos; at += to.size())
      ptx.replace(at, from.size(), to);
  }
  void expectFine() {
    std::string message;
    EXPECT_EQ(run(what, ptx, message), emulator::kSuccess) << message;
  }
  void expectFault(const std::string &says, int code = emulator::kErrorLaunchFailed) {
    std::string message;
    EXPECT_EQ(run(what, ptx, message), code) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
  }
  // Checks that a multiplication with these layouts fails with this message.
  void expectDescriptorFault(const SharedLayout &a, const SharedLayout &b, const std::string &says) {
    WarpgroupCase other = what;
    other.a = a;
    other.b = b;
    other.steps = what.steps = 1;
    ptx = program(other);
    expectFault(says);
  }
  int load(std::string &log) { return loadError(ptx, log); }

  const std::string kFence = "fence.proxy.async;", kBarrier = "bar.sync 0;", kOpen = "wgmma.fence.sync.aligned;",
                    kCommit = "wgmma.commit_group.sync.aligned;", kWait = "wgmma.wait_group.sync.aligned 0;";
  WarpgroupCase what{.a = {}, .b = {.base = 8 << 10}, .n = 64};
  std::string ptx = program(what);
};

// Memory.

TEST_F(WgmmaFaultTest, SharedMemoryThatNothingHasWritten) {
  change("setp.lt.u32 %p1, %r4, 49152;", "setp.lt.u32 %p1, %r4, 12288;");
  expectFault("read of 16 bytes at shared address 0x3000, which nothing has written", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, BeyondSharedMemory) {
  what.b.base = 44 << 10;
  ptx = program(what);
  what.b.base = 8 << 10;
  expectFault("read of 16 bytes at shared address 0xc000, which is out of bounds", emulator::kErrorIllegalAddress);
}

TEST_F(WgmmaFaultTest, NoProxyFence) {
  change(kFence, "");
  expectFault("was written by the thread of index 0, which has passed no fence.proxy.async since",
              emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, ProxyFenceOfOtherMemory) {
  change(kFence, "fence.proxy.async.global;");
  expectFault("which has passed no fence.proxy.async since", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, ProxyFenceBeforeTheWrites) {
  change(kFence, "");
  before("copy:", kFence);
  expectFault("which has passed no fence.proxy.async since", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, ProxyFenceOfOneThread) {
  change(kFence, "setp.eq.u32 %p1, %r0, 0;\n@%p1 fence.proxy.async;");
  expectFault("was written by the thread of index 1, which has passed no", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, ProxyFenceAfterTheBarrier) {
  change(kFence, "");
  before("ld.param.u64 %rd3", kFence);
  expectFault("no barrier since its fence.proxy.async", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, ProxyFenceOfSharedMemory) {
  change(kFence, "fence.proxy.async.shared::cta;");
  expectFine();
}
TEST_F(WgmmaFaultTest, CopiesNeedAProxyFenceAfterTheirWait) {
  const std::string wait = "cp.async.wait_all;\n";
  change("ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2];", "");
  change("st.shared.v4.u32 [%r3], {%r5, %r6, %r7, %r8};", "cp.async.cg.shared.global [%r3], [%rd2], 16;");
  std::string without = ptx;
  before(kFence, wait);
  expectFine();
  ptx = without;
  before(kBarrier, wait);
  expectFault("which has passed no fence.proxy.async since", emulator::kErrorIllegalAddress);
}

TEST_F(WgmmaFaultTest, OverwrittenBeforeTheWait) {
  before(kWait, "st.shared.u32 [%r1+64], %r0;");
  expectFault("write of 4 bytes at shared address 0x40, which the instruction at PTX line ",
              emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, OverwrittenWithTheSame) {
  before(kCommit, "ld.shared.u32 %r5, [%r1];\nst.shared.u32 [%r1], %r5;");
  expectFault("may still read", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, OverwrittenByACopy) {
  before(kWait, "cp.async.cg.shared.global [%r1+16], [%rd1], 16;");
  expectFault("'cp.async.cg.shared.global [%r1+16], [%rd1], 16'", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, OverwrittenThroughAGenericAddress) {
  before(kWait, "cvt.u64.u32 %rd10, %r1;\ncvta.shared.u64 %rd10, %rd10;\nst.u32 [%rd10], %r0;");
  expectFault("may still read", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, OverwrittenAfterAWaitForFewer) {
  const std::string group = kCommit + "\n" + kOpen + "\n";
  WarpgroupCase last = what;
  std::string second = multiplication(last, 3);
  size_t at = ptx.find(second);
  ASSERT_NE(at, std::string::npos);
  ptx.insert(at, group); // the fourth multiplication (bytes 96 to 127 of each row) is a group of its own
  std::string whole = ptx;
  before(kWait, "wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\nst.shared.u32 [%r1], %r0;");
  expectFine();
  ptx = whole;
  before(kWait, "wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\nst.shared.u32 [%r1+96], %r0;");
  expectFault("may still read", emulator::kErrorIllegalAddress);
}
TEST_F(WgmmaFaultTest, OverwrittenAfterTheWait) {
  change(kWait, kWait + "\nbar.sync 0;\nst.shared.u32 [%r1], %r0;");
  expectFine();
}
// The wait only covers the thread's own warp.
TEST_F(WgmmaFaultTest, RacesWithOtherWarps) {
  setenv("HEDDLE_EMULATOR_RACECHECK", "1", 1);
  expectFine();
  std::string right = ptx;
  change(kWait, kWait + "\nbar.sync 0;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [%r1+8192], %r0;");
  expectFine();
  ptx = right;
  change(kWait, kWait + "\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [%r1+8192], %r0;");
  expectFault("race at shared address", emulator::kErrorIllegalAddress);
  unsetenv("HEDDLE_EMULATOR_RACECHECK");
}
TEST_F(WgmmaFaultTest, RacesBetweenABarrierAndTheWait) {
  setenv("HEDDLE_EMULATOR_RACECHECK", "1", 1);
  before(kWait, "bar.sync 0;");
  change(kWait, kWait + "\nsetp.eq.u32 %p1, %r0, 127;\n@%p1 st.shared.u32 [%r1+8192], %r0;");
  std::string message;
  EXPECT_EQ(run(what, ptx, message), emulator::kErrorIllegalAddress) << message;
  unsetenv("HEDDLE_EMULATOR_RACECHECK");
}

// Order.

TEST_F(WgmmaFaultTest, NeverWaitedFor) {
  change(kWait, "");
  expectFault("the warp has ended without a wgmma.wait_group for it");
}
TEST_F(WgmmaFaultTest, NeverCommitted) {
  change(kCommit, "");
  expectFault("the warp has ended without a wgmma.commit_group for it");
}
TEST_F(WgmmaFaultTest, NoFence) {
  change(kOpen, "");
  expectFault("no wgmma.fence comes before");
}
TEST_F(WgmmaFaultTest, RegistersWrittenAfterTheFence) {
  std::string log, right = ptx;
  change(kOpen, kOpen + "\nmov.f32 %f3, 0f00000000;");
  EXPECT_EQ(load(log), emulator::kErrorInvalidPtx) << log;
  EXPECT_NE(log.find("writes its register %f3 after the last wgmma.fence"), std::string::npos) << log;
  ptx = right;
  change(kOpen, "mov.f32 %f3, 0f40A00000;\n" + kOpen);
  expectFine();
}
// PTX guarantees them, but ptxas does not keep them.
TEST_F(WgmmaFaultTest, RegistersOfTheLeftOperandThatALoopKeeps) {
  what.registersOfA = true;
  ptx = program(what);
  expectFine();
  std::string log, end = kWait + "\nsetp.eq.u32 %p1, %r1, 77;\n@%p1 bra again;";
  change(kWait, end);
  std::string straight = ptx;
  change(kOpen, "again:\n" + kOpen);
  EXPECT_EQ(load(log), emulator::kErrorInvalidPtx) << log;
  EXPECT_NE(log.find("its register %r20 of A is written before the loop around it"), std::string::npos) << log;
  ptx = straight;
  change("ld.param.u64 %rd3, [fragments];", "again:\nld.param.u64 %rd3, [fragments];");
  expectFine();
}

// Warpgroups.

TEST_F(WgmmaFaultTest, ThreeWarps) {
  what.threads = 96;
  ptx = program(what);
  expectFault("a warpgroup has four warps");
}
TEST_F(WgmmaFaultTest, SixWarps) {
  what.threads = 192;
  ptx = program(what);
  expectFault("there is none around warp 4 of 6");
}
TEST_F(WgmmaFaultTest, AWarpThatStaysAway) {
  before(kOpen, "setp.ge.u32 %p1, %r0, 96;\n@%p1 exit;");
  expectFault("the warp has ended without it, though others of the warpgroup came to it");
}
TEST_F(WgmmaFaultTest, AWarpThatIsNotWhole) {
  before(kOpen, "setp.eq.u32 %p1, %r0, 40;\n@%p1 exit;");
  expectFault("not every lane of the warp is there");
}
TEST_F(WgmmaFaultTest, WarpsAtDifferentInstructions) {
  before(kOpen, "setp.ge.u32 %p1, %r0, 96;\n@%p1 bra other;");
  change(kWait, kWait + "\nbra on;\nother:\n" + kOpen + "\n" + kCommit + "\n" + kWait + "\non:");
  expectFault("warps of the warpgroup meet at different instructions");
}
TEST_F(WgmmaFaultTest, WarpsWithDifferentDescriptors) {
  before(kOpen, "shr.u32 %r5, %r0, 5;\nand.b32 %r5, %r5, 2;\ncvt.u64.u32 %rd10, %r5;\nadd.s64 %rd4, %rd4, %rd10;");
  expectFault("its matrix descriptors or scale-d are not those of another warp");
}
TEST_F(WgmmaFaultTest, LanesWithDifferentDescriptors) {
  before(kOpen, "and.b32 %r5, %r0, 2;\ncvt.u64.u32 %rd10, %r5;\nadd.s64 %rd4, %rd4, %rd10;");
  expectFault("not those of the warp's lane 0");
}
TEST_F(WgmmaFaultTest, LanesThatDisagreeWhetherToAdd) {
  change("mov.u32 %r9, 0;", "and.b32 %r9, %r0, 1;");
  expectFault("not those of the warp's lane 0");
}

// Descriptors.

TEST_F(WgmmaFaultTest, BaseOffsets) {
  before(kOpen, "add.s64 %rd4, %rd4, 0x2000000000000;");
  expectFault("the matrix descriptor of A, 0x4002004000010000: a base offset is not known");
}
TEST_F(WgmmaFaultTest, BitsThatMeanNothing) {
  before(kOpen, "add.s64 %rd4, %rd4, 0x8000;");
  expectFault("it has bits that mean nothing");
}
TEST_F(WgmmaFaultTest, FirstWithinAnAtom) {
  expectDescriptorFault({.base = 128}, {},
                        "the matrix descriptor of A, 0x4000004000010008: the matrix begins at shared address 0x80, "
                        "within eight rows of 128 bytes");
}
TEST_F(WgmmaFaultTest, FirstWithinASmallAtom) {
  expectDescriptorFault({.row = 32, .stride = 256, .base = 32}, {}, "within eight rows of 32 bytes");
}
TEST_F(WgmmaFaultTest, SecondWithinAnAtom) {
  expectDescriptorFault({}, {.row = 64, .stride = 512, .base = 256}, "the matrix descriptor of B, 0x8000002000010010");
}
TEST_F(WgmmaFaultTest, KMajorPastTheEndOfARow) {
  expectDescriptorFault({.base = 112}, {}, "goes on past the end of its row of 128 bytes");
}
TEST_F(WgmmaFaultTest, MNMajorPastTheEndOfARow) {
  expectDescriptorFault({}, {.transposed = true, .leading = 8192, .base = 16}, "goes on past the end of its row");
}
TEST_F(WgmmaFaultTest, AStrideThatIsNoAtoms) {
  expectDescriptorFault({.stride = 1024 + 128}, {}, "not a multiple of the 1024 bytes");
}
TEST_F(WgmmaFaultTest, ALeadingOffsetThatIsNoAtoms) {
  what.n = 128;
  expectDescriptorFault({}, {.transposed = true, .leading = 8192 + 512}, "not a multiple of the 1024 bytes");
}

// Errors that are found when a module is loaded.

TEST_F(WgmmaFaultTest, Targets) {
  std::string log;
  changeAll("sm_90a", "sm_90");
  EXPECT_EQ(load(log), emulator::kErrorInvalidPtx);
  EXPECT_NE(log.find("wgmma needs .target sm_90a, not sm_90"), std::string::npos) << log;
  changeAll("sm_90", "sm_80");
  EXPECT_EQ(load(log), emulator::kErrorInvalidPtx);
  EXPECT_NE(log.find("wgmma needs .target sm_90a, not sm_80"), std::string::npos) << log;
}
TEST_F(WgmmaFaultTest, OlderDevices) {
  EXPECT_CUDA("cuDevicePrimaryCtxRelease_v2", 0);
  for (const char *device : {"80", "86", "89"}) {
    setenv("HEDDLE_EMULATOR_SM", device, 1);
    SetUp();
    unsetenv("HEDDLE_EMULATOR_SM");
    std::string log;
    EXPECT_EQ(load(log), emulator::kErrorNoBinaryForGpu);
    EXPECT_NE(log.find("the module is for sm_90a"), std::string::npos) << log;
    EXPECT_CUDA("cuDevicePrimaryCtxRelease_v2", 0);
  }
  SetUp();
}
TEST_F(WgmmaFaultTest, FormsThatAreNotKnown) {
  const std::string right = ptx;
  auto refused = [&](const std::string &from, const std::string &to, const std::string &says) {
    std::string log;
    ptx = right;
    change(from, to);
    EXPECT_EQ(load(log), emulator::kErrorInvalidPtx) << to;
    EXPECT_NE(log.find(says), std::string::npos) << log;
  };
  refused("m64n64k16", "m64n60k16", "unknown modifier .m64n60k16");
  refused("m64n64k16", "m64n72k16", "a vector of 36 registers is needed");
  refused("f32.bf16.bf16", "f16.f16.f16", "this form of wgmma is not known");
  refused("f32.bf16.bf16", "f32.bf16.f16", "this form of wgmma is not known");
  refused("f32.bf16.bf16", "f32.tf32.tf32", "the shape m64n64k16 is not for factors of tf32");
  refused("f32.bf16.bf16", "f32.f32.f32", "this form of wgmma is not known");
  refused(", p, 1, 1, 0, 0;", ", p, 1, 2, 0, 0;", "operand 6 must be 1 or -1");
  refused(", p, 1, 1, 0, 0;", ", p, 1, 1, 0, 2;", "operand 8 must be 0 or 1");
  refused(", p, 1, 1, 0, 0;", ", p, 1, 1, 0;", "8 operands are needed");
  refused(", p, 1, 1, 0, 0;", ", %r1, 1, 1, 0, 0;", "scale-d must be a predicate");
  refused(", %rd5,", ", {%r20, %r21},", "a vector of 4 registers is needed");
  refused("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned %r1;", "must be a constant");
  refused("wgmma.fence.sync.aligned;", "wgmma.fence;", "wgmma is .sync.aligned");
}

} // namespace
} // namespace heddle::test
