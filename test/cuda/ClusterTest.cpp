// Clusters of blocks: their barrier, each other's shared memory and mbarriers, and multicast copies.
#include "test/cuda/AsyncTest.h"

namespace heddle::test {
namespace {

const std::string kArrive = "barrier.cluster.arrive.release.aligned;\n",
                  kWait = "barrier.cluster.wait.acquire.aligned;\n";
const std::string kBoth = kArrive + kWait;

class ClusterTest : public AsyncTest {
protected:
  static std::string pair(const std::string &body) { return program(body, ".reqnctapercluster 2, 1, 1"); }
  // Runs clusters of two blocks.
  void expectFault(const std::string &body, const std::string &says, int code = emulator::kErrorLaunchFailed,
                   unsigned threads = 32) {
    expectTextFault(pair(body), says, code, threads, 2);
  }
  std::vector<uint32_t> outputOf(const std::string &text, unsigned threads, unsigned blocks, unsigned count) {
    std::string message;
    EXPECT_EQ(runText(text, threads, message, blocks), emulator::kSuccess) << message;
    return message.empty() ? download<uint32_t>(out, count) : std::vector<uint32_t>(count);
  }
  // Writes a register to out[32 * block + thread].
  static std::string resultOfBlock(const std::string &r) {
    return "mov.u32 %r28, %ctaid.x;\nmad.lo.u32 %r28, %r28, 32, %r0;\nmad.wide.u32 %rd29, %r28, 4, %rd2;\n"
           "st.global.u32 [%rd29], " +
           r + ";\n";
  }
  // %r8 is the block's rank, %r9 the other block's rank, and %r10 the address of `sh` in the other block.
  const std::string kOther = "mov.u32 %r8, %cluster_ctarank;\nxor.b32 %r9, %r8, 1;\nmov.u32 %r7, sh;\n"
                             "mapa.shared::cluster.u32 %r10, %r7, %r9;\n";
  // Every thread writes 100 * rank + tid to its own block.
  const std::string kWrite = kOther + "mad.lo.u32 %r5, %r8, 100, %r0;\nmad.lo.u32 %r6, %r0, 4, %r7;\n"
                                      "st.shared.u32 [%r6], %r5;\n";
  const std::string kRead = "mad.lo.u32 %r4, %r0, 4, %r10;\nld.shared::cluster.u32 %r3, [%r4];\n";
};

TEST_F(ClusterTest, Ranks) {
  const std::string body =
      "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, %cluster_nctarank;\nmov.u32 %r3, %clusterid.x;\n"
      "mov.u32 %r4, %nclusterid.x;\nmov.u32 %r5, %cluster_ctaid.x;\nmov.u32 %r6, %cluster_nctaid.x;\n"
      "mad.lo.u32 %r1, %r1, 10, %r2;\nmad.lo.u32 %r1, %r1, 10, %r3;\nmad.lo.u32 %r1, %r1, 10, %r4;\n"
      "mad.lo.u32 %r1, %r1, 10, %r5;\nmad.lo.u32 %r1, %r1, 10, %r6;\nmov.u32 %r2, %ctaid.x;\n"
      "mad.wide.u32 %rd3, %r2, 4, %rd2;\nst.global.u32 [%rd3], %r1;\n";
  EXPECT_EQ(outputOf(pair(body), 1, 6, 6), (std::vector<uint32_t>{20302, 120312, 21302, 121312, 22302, 122312}));
  EXPECT_EQ(outputOf(program(body), 1, 2, 2), (std::vector<uint32_t>{10201, 11201}));
}

TEST_F(ClusterTest, EachOthersSharedMemory) {
  checkRaces();
  auto have = outputOf(pair(kWrite + kBoth + kRead + kBoth + resultOfBlock("%r3")), 32, 4, 128);
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(have[i], 100 * (i / 32 % 2 == 0) + i % 32) << i;
}

TEST_F(ClusterTest, GenericAddresses) {
  const std::string body = kWrite + kBoth +
                           "mov.u64 %rd3, sh;\ncvta.shared.u64 %rd3, %rd3;\nmapa.u64 %rd4, %rd3, %r9;\n"
                           "getctarank.u64 %r11, %rd4;\ngetctarank.shared::cluster.u32 %r12, %r7;\n"
                           "ld.u32 %r3, [%rd4+8];\nmad.lo.u32 %r3, %r3, 10, %r11;\nmad.lo.u32 %r3, %r3, 10, %r12;\n" +
                           kBoth + resultOfBlock("%r3");
  auto have = outputOf(pair(body), 32, 2, 64);
  EXPECT_EQ(have[0], 10210u);
  EXPECT_EQ(have[32], 201u);
}

// Each block's threads arrive at the mbarrier of the other.
TEST_F(ClusterTest, RemoteArrivals) {
  checkRaces();
  const std::string body =
      init("32") + kWrite + kBoth +
      "mad.lo.u32 %r4, %r0, 4, %r10;\nadd.u32 %r5, %r5, 7;\nst.shared::cluster.u32 [%r4+1024], %r5;\n"
      "mov.u32 %r11, bar;\nmapa.shared::cluster.u32 %r11, %r11, %r9;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];\n"
      "a: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [bar], 0;\n@!%p9 bra a;\n"
      "ld.shared.u32 %r3, [%r6+1024];\n" +
      kBoth + resultOfBlock("%r3");
  auto have = outputOf(pair(body), 32, 2, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(have[i], 100 * (i < 32) + i % 32 + 7) << i;
}

// Each block loads half of the data into both.
TEST_F(ClusterTest, Multicast) {
  checkRaces();
  const std::string body =
      init("1") + kOther + "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n" + kBoth +
      "mad.wide.u32 %rd3, %r8, 64, %rd1;\nmad.lo.u32 %r11, %r8, 64, %r7;\nmov.u16 %rs1, 3;\n"
      "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r11], [%rd3], 64, "
      "[bar], %rs1;\n" +
      wait("a", "0") + "mad.lo.u32 %r6, %r0, 4, %r7;\nld.shared.u32 %r3, [%r6];\n" + kBoth + resultOfBlock("%r3");
  auto have = outputOf(pair(".reg .b16 %rs<2>;\n" + body), 32, 2, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(have[i], 1000 + i % 32) << i;
}

TEST_F(ClusterTest, SizesOfLaunches) {
  const std::string body = "mov.u32 %r1, %cluster_nctarank;\nst.global.u32 [%rd2], %r1;\n";
  out = upload(std::vector<uint32_t>(1));
  auto launchIn = [&](const std::string &text, unsigned blocks, uint32_t cluster) {
    void *arguments[] = {&out, &out, &map, nullptr};
    emulator::LaunchAttribute attributes[2]{};
    attributes[0].kind = emulator::kAttributeIgnore;
    attributes[1].kind = emulator::kAttributeClusterDimension;
    attributes[1].cluster[0] = cluster;
    attributes[1].cluster[1] = attributes[1].cluster[2] = 1;
    emulator::LaunchConfig config{blocks, 1, 1, 1, 1, 1, 0, nullptr, attributes, 2};
    return Api::get()("cuLaunchKernelEx", static_cast<const emulator::LaunchConfig *>(&config), kernel(text),
                      arguments + 0, static_cast<void **>(nullptr));
  };
  EXPECT_EQ(launchIn(program(body), 8, 4), emulator::kSuccess);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 4u);
  EXPECT_EQ(launchIn(pair(body), 8, 2), emulator::kSuccess);
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 2u);
  EXPECT_EQ(launchIn(program(body), 7, 2), emulator::kErrorInvalidValue);
  EXPECT_EQ(launchIn(program(body), 8, 0), emulator::kErrorInvalidValue);
  EXPECT_EQ(launchIn(program(body), 16, 16), emulator::kErrorInvalidClusterSize);
  EXPECT_EQ(launchIn(pair(body), 8, 4), emulator::kErrorInvalidClusterSize);
}

// Faults.

TEST_F(ClusterTest, BarrierThatNotAllReach) {
  expectFault(kOther + "setp.eq.u32 %p1, %r8, 1;\n@%p1 bra b;\n" + kBoth + "b:\n" + "@!%p1 ret;\n" + init("1") +
                  wait("a", "0"),
              "of the block of rank 1 lacks 1 of 1 arrivals");
  expectFault(kArrive + kArrive, "has arrived at the cluster's barrier already");
  expectFault(kWait, "waits for the cluster's barrier, but has not arrived there");
}
TEST_F(ClusterTest, BlocksThatHaveEnded) {
  expectFault(kWrite + kBoth +
                  "setp.eq.u32 %p1, %r8, 0;\n@%p1 ret;\nmov.u32 %r12, 0;\n"
                  "spin: nanosleep.u32 20;\nadd.u32 %r12, %r12, 1;\nsetp.lt.u32 %p2, %r12, 9;\n"
                  "@%p2 bra spin;\n" +
                  kRead,
              "the block of rank 0 has ended, and its shared memory with it", emulator::kErrorIllegalAddress);
}
TEST_F(ClusterTest, MissingBarriers) {
  const int code = emulator::kErrorIllegalAddress;
  expectFault(kWrite + kRead, "the block of rank 1 has not begun: no barrier of the cluster came before", code);
  checkRaces();
  expectFault(kWrite + "barrier.cluster.arrive.relaxed.aligned;\n" + kWait + kRead + kBoth, "race", code);
  expectFault(kWrite + kBoth + kRead + "st.shared.u32 [%r6], %r5;\n" + kBoth, "race", code);
}
TEST_F(ClusterTest, WrongBlocks) {
  const int code = emulator::kErrorIllegalAddress;
  expectFault(kWrite + "mapa.shared::cluster.u32 %r10, %r7, 2;\n" + kBoth + kRead,
              "belongs to a block of rank 2 of a cluster of 2", code);
  const std::string copy = "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
  expectFault(init("1") + kOther + kBoth + copy + " [%r10], [%rd1], 64, [bar];", "the mbarrier does not belong", code);
  expectFault(".reg .b16 %rs<2>;\nmov.u16 %rs1, 4;\n" + init("1") + kOther + kBoth + copy +
                  ".multicast::cluster [%r7], [%rd1], 64, [bar], %rs1;",
              "the mask 0x4 does not select blocks of a cluster of 2", code);
  // The other block expects nothing.
  expectFault(".reg .b16 %rs<2>;\nmov.u16 %rs1, 3;\n" + init("1") + kOther + kBoth + "setp.eq.u32 %p1, %r8, 0;\n" +
                  "and.pred %p0, %p0, %p1;\n@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n" + copy +
                  ".multicast::cluster [%r7], [%rd1], 64, [bar], %rs1;\n" + wait("a", "0"),
              "the mbarrier at shared address 0x0 of the block of rank 1 lacks 1 of 1 arrivals and has 64 bytes more");
}

} // namespace
} // namespace heddle::test
