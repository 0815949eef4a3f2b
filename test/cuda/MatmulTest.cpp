// A whole tensor-core kernel, and the error messages when one of its waits or barriers is missing.
#include "test/cuda/EmulatorTest.h"

#include <bit>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace heddle::test {
namespace {

class MatmulTest : public EmulatorTest {
protected:
  static constexpr unsigned kM = 64, kN = 96, kK = 160;

  void SetUp() override {
    setenv("HEDDLE_EMULATOR_RACECHECK", "1", 1);
    EmulatorTest::SetUp();
    std::ifstream file(HEDDLE_TEST_PTX "/matmul.ptx");
    std::stringstream all;
    all << file.rdbuf();
    ptx = all.str();
    std::mt19937 random(5);
    for (auto *matrix : {&a, &b})
      for (size_t i = 0; i < size_t(matrix == &a ? kM : kN) * kK; ++i)
        matrix->push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(float(int(random() % 17)) - 8) >> 16));
  }
  void TearDown() override {
    EmulatorTest::TearDown();
    unsetenv("HEDDLE_EMULATOR_RACECHECK");
  }

  // Replaces the n-th occurrence.
  void change(const std::string &from, const std::string &to, int n = 0) {
    size_t at = ptx.find(from);
    for (; n > 0; --n)
      at = ptx.find(from, at + 1);
    ASSERT_NE(at, std::string::npos);
    ptx.replace(at, from.size(), to);
  }
  int run(std::string &message) {
    uint64_t deviceA = upload(a), deviceB = upload(b);
    c = allocate(size_t(kM) * kN * 4);
    return launchFaulty(message, kernel(ptx, "matmul"), {kN / 32, kM / 32}, {128}, 0, deviceA, deviceB, c, kN, kK);
  }
  bool right() {
    auto have = download<float>(c, size_t(kM) * kN);
    auto value = [](uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); };
    for (unsigned row = 0; row < kM; ++row)
      for (unsigned column = 0; column < kN; ++column) {
        float sum = 0;
        for (unsigned k = 0; k < kK; ++k)
          sum += value(a[row * kK + k]) * value(b[k * kN + column]);
        if (have[row * kN + column] != sum)
          return false;
      }
    return true;
  }

  std::string ptx;
  std::vector<uint16_t> a, b;
  uint64_t c = 0;
};

TEST_F(MatmulTest, IsRight) {
  std::string message;
  ASSERT_EQ(run(message), emulator::kSuccess) << message;
  EXPECT_TRUE(right());
}
TEST_F(MatmulTest, WithoutItsWait) {
  change("cp.async.wait_group 1;", "");
  std::string message;
  EXPECT_EQ(run(message), emulator::kErrorIllegalAddress);
  EXPECT_NE(message.find("ldmatrix"), std::string::npos) << message;
  EXPECT_NE(message.find("nothing has written"), std::string::npos) << message;
}
TEST_F(MatmulTest, WithoutTheBarrierBeforeReading) {
  change("bar.sync 0;", "", 0);
  std::string message;
  EXPECT_EQ(run(message), emulator::kErrorIllegalAddress) << message;
}
TEST_F(MatmulTest, WithoutTheBarrierBeforeOverwriting) {
  change("bar.sync 0;", "", 1);
  std::string message;
  EXPECT_EQ(run(message), emulator::kErrorIllegalAddress);
  EXPECT_NE(message.find("race at shared address"), std::string::npos) << message;
}
TEST_F(MatmulTest, WithAWaitThatIsOneStepShort) {
  change("cp.async.wait_group 1;", "cp.async.wait_group 2;");
  std::string message;
  EXPECT_EQ(run(message), emulator::kErrorIllegalAddress);
}
TEST_F(MatmulTest, OneColumnBlockTooFar) {
  std::string message;
  uint64_t deviceA = upload(a), deviceB = upload(b);
  c = allocate(size_t(kM) * kN * 4);
  EXPECT_EQ(launchFaulty(message, kernel(ptx, "matmul"), {kN / 32 + 1, kM / 32}, {128}, 0, deviceA, deviceB, c, kN, kK),
            emulator::kErrorIllegalAddress);
  EXPECT_NE(message.find("cp.async"), std::string::npos) << message;
}

} // namespace
} // namespace heddle::test
