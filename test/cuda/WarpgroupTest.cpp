// Compares wgmma with plain loops, for every layout of its operands.
#include "test/cuda/WarpgroupTest.h"

namespace heddle::test {
namespace {

class WgmmaTest : public WarpgroupTest {
protected:
  void check(const WarpgroupCase &what) {
    SCOPED_TRACE("n " + std::to_string(what.n) + ", rows of " + std::to_string(what.a.row) + " and " +
                 std::to_string(what.b.row) + " bytes");
    std::string message;
    ASSERT_EQ(run(what, program(what), message), emulator::kSuccess) << message;
    auto have = download<float>(out, size_t(what.threads) * what.n / 2);
    unsigned depth = what.depth();
    for (unsigned thread = 0; thread < what.threads; ++thread)
      for (unsigned i = 0; i < what.n / 2; ++i) {
        unsigned lane = thread % 32, row = thread / 32 % 4 * 16 + lane / 4 + 8 * (i / 2 % 2);
        unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        int sum = 0;
        for (unsigned k = 0; k < depth; ++k)
          sum += a[row * depth + k] * b[column * depth + k];
        sum = sum * what.scaleA * what.scaleB + (what.adds ? 5 : 0);
        ASSERT_EQ(have[thread * (what.n / 2) + i], float(sum)) << "row " << row << ", column " << column;
      }
  }
};

constexpr unsigned kB = 16 << 10; // where B begins

TEST_F(WgmmaTest, BothKMajor) {
  for (unsigned n : {8u, 24u, 64u, 128u, 256u})
    check({.a = {}, .b = {.base = 8 << 10}, .n = n});
}
TEST_F(WgmmaTest, AddsToWhatWasThere) { check({.a = {}, .b = {.base = kB}, .n = 40, .adds = true}); }
TEST_F(WgmmaTest, F16) { check({.a = {}, .b = {.base = kB}, .n = 128, .type = "f16", .adds = true}); }
TEST_F(WgmmaTest, TF32) {
  check({.a = {}, .b = {.base = kB}, .n = 128, .type = "tf32", .adds = true});
  check({.a = {.row = 64, .stride = 512},
         .b = {.row = 64, .stride = 512, .base = kB},
         .n = 40,
         .steps = 2,
         .type = "tf32"});
  check({.a = {}, .b = {.base = kB}, .n = 64, .type = "tf32", .registersOfA = true});
}
TEST_F(WgmmaTest, SubtractsProducts) {
  check({.a = {}, .b = {.base = kB}, .n = 16, .adds = true, .scaleA = -1});
  check({.a = {}, .b = {.base = kB}, .n = 16, .scaleB = -1});
  check({.a = {}, .b = {.base = kB}, .n = 16, .scaleA = -1, .scaleB = -1});
}
TEST_F(WgmmaTest, TwoWarpgroups) { check({.a = {}, .b = {.base = kB}, .n = 64, .threads = 256}); }

TEST_F(WgmmaTest, SmallerSwizzlesKMajor) {
  check({.a = {.row = 64, .stride = 512}, .b = {.row = 64, .stride = 512, .base = kB}, .n = 96, .steps = 2});
  check({.a = {.row = 32, .stride = 256}, .b = {.row = 32, .stride = 256, .base = kB}, .n = 96, .steps = 1});
  // Atoms need not be adjacent.
  check({.a = {.row = 64, .stride = 1024}, .b = {.stride = 2048, .base = kB}, .n = 32, .steps = 2});
}
TEST_F(WgmmaTest, NotSwizzledKMajor) {
  check({.a = {.row = 16, .leading = 128, .stride = 512},
         .b = {.row = 16, .leading = 1024 + 16, .stride = 128, .base = kB + 16},
         .n = 64,
         .steps = 2});
}

TEST_F(WgmmaTest, FirstMNMajor) { check({.a = {.transposed = true}, .b = {.base = kB}, .n = 64}); }
TEST_F(WgmmaTest, SecondMNMajorInPanels) {
  check({.a = {}, .b = {.transposed = true, .leading = 8192, .base = kB}, .n = 64});
  check({.a = {}, .b = {.transposed = true, .leading = 8192, .base = kB}, .n = 192});
  check({.a = {}, .b = {.transposed = true, .leading = 8192, .base = kB}, .n = 200});
  // Panels are beside each other instead of below each other.
  check({.a = {}, .b = {.transposed = true, .leading = 1024, .stride = 3072, .base = kB}, .n = 192});
}
TEST_F(WgmmaTest, BothMNMajor) {
  check({.a = {.transposed = true}, .b = {.transposed = true, .leading = 8192, .base = kB}, .n = 128});
}
TEST_F(WgmmaTest, SmallerSwizzlesMNMajor) {
  check({.a = {.transposed = true, .row = 64, .leading = 4096, .stride = 512},
         .b = {.transposed = true, .row = 64, .leading = 4096, .stride = 512, .base = kB},
         .n = 96});
  check({.a = {.transposed = true, .row = 32, .leading = 2048, .stride = 256},
         .b = {.transposed = true, .row = 32, .leading = 2048, .stride = 256, .base = kB},
         .n = 40});
}
TEST_F(WgmmaTest, NotSwizzledMNMajor) {
  check({.a = {.transposed = true, .row = 16, .leading = 1024, .stride = 128},
         .b = {.transposed = true, .row = 16, .leading = 128, .stride = 1024 + 128, .base = kB},
         .n = 24,
         .steps = 2});
}
// Columns 32 to 63 of a panel.
TEST_F(WgmmaTest, PartOfAPanel) {
  WarpgroupCase what{.a = {}, .b = {.transposed = true, .base = kB}, .n = 64};
  std::string message;
  fill(what);
  WarpgroupCase part = what;
  part.n = 32;
  part.b.base += 64;
  uint64_t in = upload(image), registers = upload(fragments), half = allocate(128 * 16 * 4);
  ASSERT_EQ(launchFaulty(message, kernel(program(part)), {}, {128}, 0, in, registers, half), emulator::kSuccess)
      << message;
  auto have = download<float>(half, 128 * 16);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 16; ++i) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
      unsigned column = 32 + i / 4 * 8 + thread % 4 * 2 + i % 2;
      int sum = 0;
      for (unsigned k = 0; k < 64; ++k)
        sum += a[row * 64 + k] * b[column * 64 + k];
      ASSERT_EQ(have[thread * 16 + i], float(sum));
    }
}

TEST_F(WgmmaTest, FirstInRegisters) {
  check({.a = {}, .b = {.base = kB}, .n = 64, .registersOfA = true});
  check({.a = {}, .b = {.transposed = true, .leading = 8192, .base = kB}, .n = 128, .registersOfA = true});
  check({.a = {}, .b = {.base = kB}, .n = 8, .type = "f16", .registersOfA = true, .adds = true, .scaleA = -1});
}

} // namespace
} // namespace heddle::test
