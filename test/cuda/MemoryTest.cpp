// Errors that the emulator finds: bad addresses, races, barriers that some threads never reach.
#include "test/cuda/EmulatorTest.h"

#include <algorithm>
#include <cstdlib>

namespace heddle::test {
namespace {

class MemoryTest : public EmulatorTest {
protected:
  // Returns a kernel k(a, n): the body gets the pointer in %rd1, the number in %r1, and %tid.
  std::string around(const std::string &body) {
    return header() + R"(
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u64 a, .param .u32 n)
{
  .reg .b32 %tid, %r<20>;
  .reg .b64 %rd<20>;
  .reg .pred %p<8>;
  .shared .align 16 .b8 sh[128];
  .local .align 8 .b8 loc[16];
  mov.u32 %tid, %tid.x;
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r1, [n];
)" + body + "\n  ret;\n}\n";
  }
  void expectFault(const std::string &body, int code, const std::string &says, unsigned threads = 32, uint32_t n = 0,
                   unsigned dynamicBytes = 0) {
    std::string message;
    uint64_t a = upload(std::vector<uint32_t>(32, 7));
    EXPECT_EQ(launchFaulty(message, kernel(around(body)), {}, {threads}, dynamicBytes, a, n), code) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_NE(message.find("kernel k, PTX line "), std::string::npos) << message;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
  }
  void expectFine(const std::string &body, unsigned threads = 32, uint32_t n = 0, unsigned dynamicBytes = 0) {
    uint64_t a = upload(std::vector<uint32_t>(32, 7));
    EXPECT_EQ(launch(kernel(around(body)), {}, {threads}, dynamicBytes, a, n), emulator::kSuccess);
  }
};

// Launches that declare what they access: four of eight numbers.
class DeclaredTest : public MemoryTest {
protected:
  static constexpr uint64_t kRead = 1, kWritten = 2;

  void declare(uint64_t access) {
    emulator::DeclaredAccess range{numbers + 16, 16, access};
    EXPECT_CUDA("heddleDeclareAccess", static_cast<const emulator::DeclaredAccess *>(&range), size_t(1));
  }
  int run(const std::string &body, uint64_t access) {
    numbers = upload(std::vector<uint32_t>(8, 7));
    void *k = kernel(around(body));
    declare(access);
    return launchFaulty(message, k, {}, {1}, 0, numbers + 16, 1u);
  }
  void expectFaultOf(const std::string &access) {
    EXPECT_NE(message.find(access + " of 4 bytes at global address 0x"), std::string::npos) << message;
    EXPECT_NE(message.find("which the launch does not say that it does"), std::string::npos) << message;
  }

  uint64_t numbers = 0;
  std::string message;
};

const char *const kIndexed = "mad.wide.u32 %rd2, %tid, 4, %rd1;\n";

TEST_F(MemoryTest, GlobalReadBeyondAnAllocation) {
  expectFault(std::string(kIndexed) + "ld.global.u32 %r2, [%rd2];", emulator::kErrorIllegalAddress,
              "'ld.global.u32 %r2, [%rd2]', thread (32,0,0) of block (0,0,0): read of 4 bytes at global address 0x",
              64);
}
TEST_F(MemoryTest, GlobalReadBeforeAnAllocation) {
  expectFault("ld.global.u32 %r2, [%rd1-4];", emulator::kErrorIllegalAddress, "which is out of bounds", 1);
}
TEST_F(MemoryTest, GlobalWriteBeyondAnAllocation) {
  expectFault("st.global.u32 [%rd1+128], %r1;", emulator::kErrorIllegalAddress, "write of 4 bytes", 1);
}
TEST_F(MemoryTest, GlobalAtomicBeyondAnAllocation) {
  expectFault("red.global.add.u32 [%rd1+128], %r1;", emulator::kErrorIllegalAddress, "atomic of 4 bytes", 1);
}
TEST_F(MemoryTest, VectorThatEndsBeyond) {
  expectFault("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+128];", emulator::kErrorIllegalAddress, "read of 16 bytes", 1);
}
TEST_F(MemoryTest, NullPointer) {
  expectFault("mov.u64 %rd1, 0; ld.global.u32 %r2, [%rd1];", emulator::kErrorIllegalAddress, "global address 0x0,", 1);
}
TEST_F(MemoryTest, GenericReadBeyond) {
  expectFault("ld.u32 %r2, [%rd1+128];", emulator::kErrorIllegalAddress, "out of bounds", 1);
}
TEST_F(MemoryTest, Misaligned) {
  expectFault("ld.global.u32 %r2, [%rd1+2];", emulator::kErrorMisalignedAddress, "misaligned", 1);
}
TEST_F(MemoryTest, MisalignedVector) {
  expectFault("ld.global.v2.u32 {%r2, %r3}, [%rd1+4];", emulator::kErrorMisalignedAddress, "read of 8 bytes", 1);
}
TEST_F(MemoryTest, MisalignedShared) {
  expectFault("st.shared.u32 [sh+2], %r1;", emulator::kErrorMisalignedAddress, "shared address 0x2", 1);
}
TEST_F(MemoryTest, SharedBeyondStatic) {
  expectFault("st.shared.u32 [sh+128], %r1;", emulator::kErrorIllegalAddress, "shared address 0x80", 1);
}
TEST_F(MemoryTest, SharedBeyondDynamic) {
  expectFine("st.shared.u32 [dyn+60], %r1;", 1, 0, 64);
  expectFault("st.shared.u32 [dyn+64], %r1;", emulator::kErrorIllegalAddress, "shared address 0xc0", 1, 0, 64);
}
TEST_F(MemoryTest, SharedThroughGenericAddress) {
  const char *to = "cvta.shared.u64 %rd3, 0; st.u32 [%rd3+124], %r1; ld.shared.u32 %r2, [sh+124];";
  expectFine(std::string("st.shared.u32 [sh], %r1;") + to, 1);
  expectFault("mov.u64 %rd3, sh; cvta.shared.u64 %rd3, %rd3; st.u32 [%rd3+128], %r1;", emulator::kErrorIllegalAddress,
              "write of 4 bytes at shared address 0x80", 1);
}
TEST_F(MemoryTest, LocalBeyond) {
  expectFine("mov.u64 %rd3, loc; st.local.u64 [%rd3+8], %rd1;", 1);
  expectFault("mov.u64 %rd3, loc; st.local.u64 [%rd3+16], %rd1;", emulator::kErrorIllegalAddress, "local address", 1);
}
TEST_F(MemoryTest, UninitialisedShared) {
  expectFault("st.shared.u32 [sh], %r1; ld.shared.u64 %rd3, [sh];", emulator::kErrorIllegalAddress,
              "nothing has written", 1);
}
TEST_F(MemoryTest, UninitialisedGlobal) {
  std::string message;
  uint64_t a = allocate(64);
  EXPECT_EQ(launchFaulty(message, kernel(around("st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1+4];")), {}, {}, 0,
                         a, 0u),
            emulator::kErrorIllegalAddress);
  EXPECT_NE(message.find("nothing has written"), std::string::npos) << message;
}
TEST_F(DeclaredTest, WhatIsDeclaredIsFine) {
  EXPECT_EQ(run("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1]; ld.u32 %r2, [%rd1+12];", kRead), 0) << message;
  EXPECT_EQ(run("st.global.v4.u32 [%rd1], {%r1, %r1, %r1, %r1}; st.u32 [%rd1+12], %r1;", kWritten), 0) << message;
  EXPECT_EQ(run("red.global.add.u32 [%rd1], %r1;", kRead | kWritten), 0) << message;
  EXPECT_EQ(run("cp.async.ca.shared.global [sh], [%rd1], 4; cp.async.wait_all;", kRead), 0) << message;
}
TEST_F(DeclaredTest, WhatTheLaunchWroteItMayRead) {
  EXPECT_EQ(run("st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1];", kWritten), 0) << message;
  EXPECT_EQ(run("st.u32 [%rd1], %r1; ld.u32 %r2, [%rd1];", kWritten), 0) << message;
  // Another launch must not read it.
  void *k = kernel(around("ld.global.u32 %r2, [%rd1];"));
  declare(kWritten);
  EXPECT_EQ(launchFaulty(message, k, {}, {1}, 0, numbers + 16, 1u), emulator::kErrorIllegalAddress);
  expectFaultOf("read");
}
TEST_F(DeclaredTest, ReadBehind) {
  EXPECT_EQ(run("ld.global.u32 %r2, [%rd1-4];", kRead), emulator::kErrorIllegalAddress);
  expectFaultOf("read");
}
TEST_F(DeclaredTest, GenericRead) {
  EXPECT_EQ(run("ld.u32 %r2, [%rd1-4];", kRead), emulator::kErrorIllegalAddress);
  expectFaultOf("read");
}
TEST_F(DeclaredTest, CopyFromBehind) {
  EXPECT_EQ(run("cp.async.ca.shared.global [sh], [%rd1-4], 4;", kRead), emulator::kErrorIllegalAddress);
  expectFaultOf("read");
}
TEST_F(DeclaredTest, ReadOfWhatIsWrittenOnly) {
  EXPECT_EQ(run("st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1+4];", kWritten), emulator::kErrorIllegalAddress);
  expectFaultOf("read");
}
TEST_F(DeclaredTest, WriteOfWhatIsReadOnly) {
  EXPECT_EQ(run("st.global.u32 [%rd1], %r1;", kRead), emulator::kErrorIllegalAddress);
  expectFaultOf("write");
}
TEST_F(DeclaredTest, GenericWrite) {
  EXPECT_EQ(run("st.u32 [%rd1], %r1;", kRead), emulator::kErrorIllegalAddress);
  expectFaultOf("write");
}
TEST_F(DeclaredTest, AtomicOfWhatIsWrittenOnly) {
  EXPECT_EQ(run("red.global.add.u32 [%rd1], %r1;", kWritten), emulator::kErrorIllegalAddress);
  expectFaultOf("atomic");
}

TEST_F(MemoryTest, FreedMemory) {
  unsigned long long a = 0;
  EXPECT_CUDA("cuMemAlloc_v2", &a, size_t(64));
  EXPECT_CUDA("cuMemsetD8Async", uint64_t(a), static_cast<unsigned char>(0), size_t(64), static_cast<void *>(nullptr));
  void *k = kernel(around("ld.global.u32 %r2, [%rd1];"));
  EXPECT_EQ(launch(k, {}, {}, 0, a, 0u), emulator::kSuccess);
  EXPECT_CUDA("cuMemFree_v2", uint64_t(a));
  std::string message;
  EXPECT_EQ(launchFaulty(message, k, {}, {}, 0, a, 0u), emulator::kErrorIllegalAddress);
}
TEST_F(MemoryTest, AFaultStaysUntilTheContextGoes) {
  expectFault("trap;", emulator::kErrorLaunchFailed, "trap", 1);
  unsigned long long address = 0;
  EXPECT_EQ(Api::get()("cuMemAlloc_v2", &address, size_t(4)), emulator::kErrorLaunchFailed);
}
TEST_F(MemoryTest, FaultInOneOfManyBlocksAfterABarrier) {
  std::string message;
  uint64_t a = upload(std::vector<uint32_t>(32, 7));
  void *k =
      kernel(around("mov.u32 %r2, %ctaid.x; bar.sync 0; mad.wide.u32 %rd2, %r2, 4, %rd1; ld.global.u32 %r3, [%rd2];"));
  EXPECT_EQ(launchFaulty(message, k, {33}, {64}, 0, a, 0u), emulator::kErrorIllegalAddress);
  EXPECT_NE(message.find("of block (32,0,0)"), std::string::npos) << message;
}
TEST_F(MemoryTest, CopyChecksBothEnds) {
  expectFault("cp.async.ca.shared.global [sh], [%rd1+128], 4;", emulator::kErrorIllegalAddress,
              "read of 4 bytes at global", 1);
}
TEST_F(MemoryTest, CopyBeyondShared) {
  expectFault("cp.async.cg.shared.global [sh+128], [%rd1], 16;", emulator::kErrorIllegalAddress,
              "write of 16 bytes at shared", 1);
}
TEST_F(MemoryTest, CopyThatIsNotWaitedFor) {
  const std::string copy = "cp.async.ca.shared.global [sh], [%rd1], 4; cp.async.commit_group;";
  expectFine(copy + "cp.async.wait_group 0; ld.shared.u32 %r2, [sh];", 1);
  expectFault(copy + "cp.async.wait_group 1; ld.shared.u32 %r2, [sh];", emulator::kErrorIllegalAddress,
              "nothing has written", 1);
}

// Barriers.

TEST_F(MemoryTest, BarrierThatHalfOfTheThreadsSkip) {
  expectFault("setp.lt.u32 %p1, %tid, 16; @!%p1 bra end; bar.sync 0; end:", emulator::kErrorLaunchFailed,
              "deadlock: 16 threads wait here, 0 elsewhere, 16 of 32 have ended");
}
TEST_F(MemoryTest, LanesAtDifferentBarriers) {
  expectFault("setp.lt.u32 %p1, %tid, 16; @!%p1 bra other; bar.sync 0; bra end; other: bar.sync 0; end:",
              emulator::kErrorLaunchFailed, "barrier divergence");
}
TEST_F(MemoryTest, WarpsAtDifferentBarriers) {
  expectFault("setp.lt.u32 %p1, %tid, 32; @%p1 bar.sync 1; @!%p1 bar.sync 2;", emulator::kErrorLaunchFailed,
              "deadlock: 32 threads wait here, 32 elsewhere", 64);
}
TEST_F(MemoryTest, LanesAtDifferentShuffles) {
  expectFault("setp.lt.u32 %p1, %tid, 16; @%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; @!%p1 vote.sync.any.pred %p2, "
              "%p1, -1;",
              emulator::kErrorLaunchFailed, "lanes of the warp meet at different instructions");
}
TEST_F(MemoryTest, LaneOutsideOfItsMask) {
  expectFault("shfl.sync.bfly.b32 %r2, %r1, 1, 31, 1;", emulator::kErrorLaunchFailed, "not in its own mask");
}
TEST_F(MemoryTest, MatrixWithoutAllLanes) {
  expectFault(
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r2,%r3,%r4,%r5}, {%r6,%r7}, {%r8}, {%r2,%r3,%r4,%r5};",
      emulator::kErrorLaunchFailed, "not every lane", 16);
}

// Races.

class RaceTest : public MemoryTest {
protected:
  void SetUp() override {
    setenv("HEDDLE_EMULATOR_RACECHECK", "1", 1);
    MemoryTest::SetUp();
  }
  void TearDown() override {
    MemoryTest::TearDown();
    unsetenv("HEDDLE_EMULATOR_RACECHECK");
  }
};

const std::string kOwn = "shl.b32 %r2, %tid, 2; and.b32 %r2, %r2, 127; mov.u32 %r3, sh; add.u32 %r3, %r3, %r2;";
const std::string kWriteOwn = kOwn + "st.shared.u32 [%r3], %tid;";

TEST_F(RaceTest, ReadOfAnothersBytesNeedsABarrier) {
  const std::string read = "xor.b32 %r4, %r3, 4; ld.shared.u32 %r5, [%r4];";
  expectFine(kWriteOwn + "bar.sync 0;" + read);
  expectFine(kWriteOwn + "bar.warp.sync -1;" + read);
  // The threads happen to run in an order that writes first, so only the race check finds the error.
  expectFault(kWriteOwn + "vote.sync.any.pred %p1, %p2, -1;" + read, emulator::kErrorIllegalAddress,
              "race at shared address");
}
TEST_F(RaceTest, WarpSyncDoesNotOrderWarps) {
  const std::string other = "bar.sync 0; setp.lt.u32 %p1, %tid, 32; @%p1 st.shared.u32 [%r3], %tid; bar.warp.sync -1; ";
  expectFine(kOwn + other + "bar.sync 0; ld.shared.u32 %r5, [%r3];", 64);
  expectFault(kOwn + "setp.lt.u32 %p1, %tid, 32; @%p1 st.shared.u32 [%r3], %tid; bar.warp.sync -1; @!%p1 ld.shared.u32 "
                     "%r5, [%r3];",
              emulator::kErrorIllegalAddress, "race", 64);
}
TEST_F(RaceTest, OverwritingWhatOthersStillRead) {
  const std::string first = kWriteOwn + "bar.sync 0; xor.b32 %r4, %r3, 4; ld.shared.u32 %r5, [%r4];";
  expectFine(first + "bar.sync 0; st.shared.u32 [%r3], %tid;");
  expectFault(first + "st.shared.u32 [%r3], %tid;", emulator::kErrorIllegalAddress, "race");
}
TEST_F(RaceTest, TwoWritesOfTheSameBytes) {
  expectFault("st.shared.u32 [sh], %tid;", emulator::kErrorIllegalAddress, "race");
}
TEST_F(RaceTest, NeighbouringBytesAreNoRace) {
  expectFine("mov.u32 %r3, sh; add.u32 %r3, %r3, %tid; st.shared.u8 [%r3], %tid;");
}
TEST_F(RaceTest, AtomicsAreNoRace) {
  expectFine("setp.eq.u32 %p1, %tid, 0; @%p1 st.shared.u32 [sh], 0; bar.sync 0; atom.shared.add.u32 %r5, [sh], 1;");
}
TEST_F(RaceTest, NamedBarriersOrderTheirThreads) {
  // The first warp produces and arrives; the second warp waits and consumes.
  const std::string produce = kOwn + "setp.lt.u32 %p1, %tid, 32; @%p1 st.shared.u32 [%r3], %tid;";
  const std::string consume = "@!%p1 ld.shared.u32 %r5, [%r3];";
  expectFine(produce + "@%p1 bar.arrive 1, 64; @!%p1 bar.sync 1, 64;" + consume, 64);
  expectFault(produce + "@%p1 bar.arrive 1, 64; @!%p1 bar.sync 1, 64; @%p1 st.shared.u32 [%r3], %tid;" + consume,
              emulator::kErrorIllegalAddress, "race", 64);
}
TEST_F(RaceTest, CopiesAreWritesOfTheirThread) {
  const std::string copy = kOwn + kIndexed + "cp.async.ca.shared.global [%r3], [%rd2], 4; cp.async.wait_all;";
  const std::string read = "xor.b32 %r4, %r3, 4; ld.shared.u32 %r5, [%r4];";
  expectFine(copy + "bar.sync 0;" + read);
  expectFault(copy + "vote.sync.any.pred %p1, %p2, -1;" + read, emulator::kErrorIllegalAddress, "race");
}

} // namespace
} // namespace heddle::test
