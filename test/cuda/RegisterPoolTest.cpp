// setmaxnreg.
#include "test/cuda/AsyncTest.h"

namespace heddle::test {
namespace {

class RegisterPoolTest : public AsyncTest {
protected:
  // One producer warpgroup, and two consumer warpgroups. A thread may have 168 registers: 64,512 in all.
  static std::string body(const std::string &producer, const std::string &consumer) {
    return "setp.ge.u32 %p1, %r0, 128;\n@%p1 bra consume;\nsetmaxnreg." + producer + ";\nret;\nconsume:\nsetmaxnreg." +
           consumer + ";\nmov.u32 %r1, 9;\nsetp.eq.u32 %p2, %r0, 128;\n" + "@%p2 st.global.u32 [%rd2], %r1;";
  }
  const std::string kDirectives = ".maxntid 384 .minnctapersm 1";

  void expectPoolFault(const std::string &text, const std::string &says) {
    expectTextFault(program(text, kDirectives), says, emulator::kErrorLaunchFailed, 384);
  }
};

TEST_F(RegisterPoolTest, ConsumersGetWhatTheProducerReleases) {
  std::string message;
  EXPECT_EQ(runText(program(body("dec.sync.aligned.u32 40", "inc.sync.aligned.u32 232"), kDirectives), 384, message), 0)
      << message;
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 9u);
}

TEST_F(RegisterPoolTest, MoreThanThePoolHas) {
  expectPoolFault(body("dec.sync.aligned.u32 40", "inc.sync.aligned.u32 240"), "deadlock: ");
  expectPoolFault(body("dec.sync.aligned.u32 48", "inc.sync.aligned.u32 232"), "registers are free");
}
TEST_F(RegisterPoolTest, WrongDirection) {
  const std::string says = "the warp has 168 registers in each lane already";
  expectPoolFault(body("dec.sync.aligned.u32 176", "inc.sync.aligned.u32 232"), says);
  expectPoolFault(body("dec.sync.aligned.u32 40", "inc.sync.aligned.u32 160"), says);
}
TEST_F(RegisterPoolTest, WholeWarpgroups) {
  expectPoolFault("setp.ge.u32 %p1, %r0, 64;\n@%p1 ret;\nsetmaxnreg.dec.sync.aligned.u32 40;",
                  "the warp has ended without it, though others of the warpgroup came to it");
  expectPoolFault("@%p0 ret;\nsetmaxnreg.dec.sync.aligned.u32 40;", "not every lane of the warp is there");
}
TEST_F(RegisterPoolTest, FormsThatDoNotExist) {
  auto refused = [&](const std::string &text, const std::string &directives, const std::string &says) {
    std::string log;
    EXPECT_EQ(loadError(program(text, directives), log), emulator::kErrorInvalidPtx);
    EXPECT_NE(log.find(says), std::string::npos) << log;
  };
  const std::string multiple = "must be a multiple of 8 from 24 to 256";
  refused("setmaxnreg.dec.sync.aligned.u32 44;", kDirectives, multiple);
  refused("setmaxnreg.dec.sync.aligned.u32 16;", kDirectives, multiple);
  refused("setmaxnreg.inc.sync.aligned.u32 264;", kDirectives, multiple);
  refused("setmaxnreg.dec.sync.aligned.u32 40;", ".maxntid 384", "ptxas ignores setmaxnreg");
}

} // namespace
} // namespace heddle::test
