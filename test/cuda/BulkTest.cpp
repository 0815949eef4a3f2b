// Bulk copies without tensor maps, and the faults of kernels that use them wrongly.
#include "test/cuda/AsyncTest.h"

namespace heddle::test {
namespace {

class BulkTest : public AsyncTest {
protected:
  // Thread 0 copies 256 bytes to `sh`.
  static std::string load(const std::string &expected = "256") {
    return init("1") + "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], " + expected + ";\n" + kLoad;
  }
  static constexpr char kLoad[] =
      "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%rd1], 256, [bar];\n";
  // Thread 0 copies with these operands. %r5 is 40.
  static std::string copyOf(const std::string &operands) {
    return "mov.u32 %r5, 40;\n" + init("1") +
           "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " + operands + ";";
  }
  // Every thread reads its word of the copy.
  const std::string kRead =
      "mov.u32 %r1, sh;\nmad.lo.u32 %r1, %r0, 4, %r1;\nld.shared.u32 %r2, [%r1];\n" + result("%r2");
  // Every thread writes its word, and thread 0 copies them to the output.
  const std::string kWrite = "mov.u32 %r1, sh;\nmad.lo.u32 %r1, %r0, 4, %r1;\nst.shared.u32 [%r1], %r0;\n";
  const std::string kFence = "fence.proxy.async.shared::cta;\n", kBarrier = "bar.sync 0;\n",
                    kStore = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [sh], 256;\n",
                    kCommit = "@%p0 cp.async.bulk.commit_group;\n", kWaitRead = "cp.async.bulk.wait_group.read 0;\n",
                    kWait = "cp.async.bulk.wait_group 0;\n";
};

TEST_F(BulkTest, LoadsCompleteOnTheirMbarrier) {
  checkRaces();
  auto have = outputOf(load() + wait("a", "0") + kRead, 64, 64);
  ASSERT_EQ(have.size(), 64u);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(have[i], 1000 + i);
}

// The waiting threads come first in the code, before the thread that copies. A single `test_wait` would not wait for it.
TEST_F(BulkTest, LoadsAfterTheWaitHasBegun) {
  std::string body = init("1") +
                     "setp.ge.u32 %p1, %r0, 32;\n@%p1 bra consume;\nnanosleep.u32 10;\n"
                     "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 256;\n" +
                     kLoad +
                     "ret;\nconsume:\nmov.u32 %r4, 0;\n"
                     "poll: add.u32 %r4, %r4, 1;\n"
                     "mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra poll;\n" +
                     kRead;
  auto have = outputOf(body, 64, 64);
  ASSERT_EQ(have.size(), 64u);
  EXPECT_EQ(have[32], 1032u);
  EXPECT_EQ(have[63], 1063u);
}

// A ring of two stages of 256 bytes: a producer warp, and a consumer warp that releases stages.
TEST_F(BulkTest, Ring) {
  checkRaces();
  const std::string ring = R"(
mbarrier.init.shared::cta.b64 [bar], 1;
mbarrier.init.shared::cta.b64 [bar+8], 1;
mbarrier.init.shared::cta.b64 [bar+16], 32;
mbarrier.init.shared::cta.b64 [bar+24], 32;
fence.mbarrier_init.release.cluster;
ready:
bar.sync 0;
mov.u32 %r10, 0;          // the step
mov.u32 %r11, 0;          // the stage
mov.u32 %r12, 0;          // the parity of the stage's use
mov.u32 %r13, 0;          // the sum
setp.ge.u32 %p1, %r0, 32;
next:
mov.u32 %r14, bar;
mad.lo.u32 %r14, %r11, 8, %r14; // full; 16 bytes on: empty
mov.u32 %r15, sh;
mad.lo.u32 %r15, %r11, 256, %r15;
@%p1 bra consume;
xor.b32 %r16, %r12, 1;
empty: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r14+16], %r16;
@!%p9 bra empty;
mad.wide.u32 %rd5, %r10, 256, %rd1;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [%r14], 256;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd5], 256, [%r14];
bra end;
consume:
full: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r14], %r12;
@!%p9 bra full;
sub.u32 %r17, %r0, 32;
mad.lo.u32 %r17, %r17, 8, %r15;
ld.shared.u32 %r18, [%r17];
add.u32 %r13, %r13, %r18;
mbarrier.arrive.shared::cta.b64 %rd3, [%r14+16];
end:
add.u32 %r10, %r10, 1;
xor.b32 %r11, %r11, 1;
setp.eq.u32 %p2, %r11, 0;
@%p2 xor.b32 %r12, %r12, 1;
setp.lt.u32 %p2, %r10, 7;
@%p2 bra next;
)" + result("%r13");
  std::string once = "@!%p0 bra ready;\n" + ring;
  auto have = outputOf(once, 64, 64);
  ASSERT_EQ(have.size(), 64u);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(have[32 + i], 7 * (1000 + 2 * i) + 64 * 21);
  // The producer does not wait for the consumer.
  size_t at = once.find("empty: "), end = once.find("bra empty;") + 10;
  expectFault(once.erase(at, end - at), "1 arrivals overflow the mbarrier at shared address 0x0");
}

TEST_F(BulkTest, StoresFromSharedMemory) {
  checkRaces();
  auto have = outputOf(kWrite + kFence + kBarrier + kStore + kCommit + kWaitRead + kBarrier + kWrite, 64, 64);
  ASSERT_EQ(have.size(), 64u);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(have[i], i);
}

// Only a whole wait makes the bytes visible.
TEST_F(BulkTest, StoresBecomeVisibleAtTheWait) {
  auto have = outputOf("st.shared.u32 [sh], 5;\nst.shared.u32 [sh+4], 6;\nst.shared.u64 [sh+8], %rd1;\n" + kFence +
                           "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [sh], 16;\n"
                           "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
                           "ld.global.u32 %r3, [%rd2];\ncp.async.bulk.wait_group 0;\nld.global.u32 %r4, [%rd2];\n"
                           "st.global.v2.u32 [%rd2+16], {%r3, %r4};",
                       1, 6);
  ASSERT_EQ(have.size(), 6u);
  EXPECT_EQ(have[4], 7u);
  EXPECT_EQ(have[5], 5u);
}

// Faults.

TEST_F(BulkTest, ReadBeforeThePhaseEnds) {
  expectFault(load() + kBarrier + kRead,
              "may still be writing: no thread has waited for the mbarrier at shared "
              "address 0x0",
              emulator::kErrorIllegalAddress);
  expectFault(load() + kBarrier + kWrite, "may still be writing", emulator::kErrorIllegalAddress);
  // One thread has waited; the other learns nothing from it.
  checkRaces();
  expectFault(load() + "@!%p0 bra b;\n" + wait("a", "0") + "b:\nshfl.sync.idx.b32 %r9, %r0, 0, 31, -1;\n" + kRead,
              "a bulk copy whose mbarrier this thread has not waited for", emulator::kErrorIllegalAddress, 32);
}
TEST_F(BulkTest, WrongByteCount) {
  expectFault(load("240") + wait("a", "0"), "lacks 0 of 1 arrivals and has 16 bytes more than it expects");
  expectFault(load("272") + wait("a", "0"), "lacks 0 of 1 arrivals and 16 bytes in phase 0");
  expectFault(init("1") + kLoad + wait("a", "0"), "lacks 1 of 1 arrivals and has 256 bytes more than it expects");
}
TEST_F(BulkTest, NobodyWaits) {
  expectFault(load(), "the block has ended, but no thread has waited for the mbarrier at shared address 0x0");
  expectFault(load() + kBarrier + "@%p0 mbarrier.inval.shared::cta.b64 [bar];", "counts a copy that is not done");
}
TEST_F(BulkTest, Alignment) {
  const int code = emulator::kErrorMisalignedAddress;
  expectFault(copyOf("[sh+8], [%rd1], 32, [bar]"), "shared address 0x408 is not aligned to 16 bytes", code);
  expectFault(copyOf("[sh], [%rd1+4], 32, [bar]"), "is not aligned to 16 bytes", code);
  expectFault(copyOf("[sh], [%rd1], %r5, [bar]"), "a bulk copy of 40 bytes", code);
  expectFault(copyOf("[sh], [%rd1], 0, [bar]"), "a bulk copy of 0 bytes", code);
}
TEST_F(BulkTest, Bounds) {
  const int code = emulator::kErrorIllegalAddress;
  expectFault(copyOf("[sh+16368], [%rd1], 32, [bar]"), "write of 16 bytes at shared address 0x4400, which is out",
              code);
  expectFault(copyOf("[sh], [%rd1+16368], 32, [bar]"), "read of 16 bytes at global address", code);
  expectFault(copyOf("[sh], [%rd1], 32, [bar+8]"), "no mbarrier is at shared address 0x8", code);
  expectFault(copyOf("[bar], [%rd1], 32, [bar]"), "which holds an mbarrier", code);
}
TEST_F(BulkTest, MissingFences) {
  const int code = emulator::kErrorIllegalAddress;
  std::string body = load() + wait("a", "0");
  size_t at = body.find("@%p0 fence.mbarrier_init");
  expectFault(body.erase(at, body.find('\n', at) - at),
              "the mbarrier at shared address 0x0 was initialised by the thread of index 0, which has passed neither "
              "fence.mbarrier_init nor fence.proxy.async since",
              code);
  expectFault(kWrite + kBarrier + load() + wait("a", "0"), "which has passed no fence.proxy.async since", code);
  expectFine(kWrite + kFence + kBarrier + load() + wait("a", "0"));
  expectFault(kWrite + kBarrier + kStore + kCommit + kWait, "which has passed no fence.proxy.async since", code);
  expectFault(kWrite + kFence + kStore + kCommit + kWait, "which nothing has written", code);
}
TEST_F(BulkTest, StoresThatNobodyWaitsFor) {
  const std::string store = kWrite + kFence + kBarrier + kStore;
  expectFault(store, "the thread has ended without a cp.async.bulk.commit_group for it");
  expectFault(store + kCommit, "the thread has ended without a cp.async.bulk.wait_group for it");
  expectFault(store + kCommit + "cp.async.bulk.wait_group.read 1;", "without a cp.async.bulk.wait_group for it");
  expectFault(store + kCommit + kBarrier + kWrite + kWait, "may still read", emulator::kErrorIllegalAddress);
}
TEST_F(BulkTest, FormsThatDoNotExist) {
  expectRefused("cp.async.bulk.shared::cluster.global [sh], [%rd1], 16, [bar];", "completes on an mbarrier");
  expectRefused("cp.async.bulk.global.shared::cta [%rd1], [sh], 16;", "completes in a group");
  expectRefused("cp.async.bulk.wait_group %r1;", "must be a constant");
}

} // namespace
} // namespace heddle::test
