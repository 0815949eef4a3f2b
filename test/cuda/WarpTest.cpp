// Operations of several threads, compared with the definitions of the PTX ISA.
#include "test/cuda/EmulatorTest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace heddle::test {
namespace {

class WarpTest : public EmulatorTest {
protected:
  static std::vector<Row> lanes(unsigned count = 32) {
    std::vector<Row> rows;
    for (unsigned i = 0; i < count; ++i)
      rows.push_back({100 + i, i, i * 7 % 32});
    return rows;
  }
};

TEST_F(WarpTest, Shuffles) {
  // Checks which lane's value each lane gets; lane i has the value 100 + i.
  auto check = [&](const std::string &arguments, unsigned (*from)(unsigned), bool (*inside)(unsigned)) {
    auto have = evaluate("shfl.sync." + arguments + ", -1; selp.u32 %r4, 1000, 0, %p1; add.u32 %r0, %r0, %r4;", "%r0",
                         lanes(64));
    for (unsigned i = 0; i < 64; ++i) {
      unsigned lane = i % 32, base = i - lane;
      unsigned wanted = inside(lane) ? 1100 + base + from(lane) : 100 + i;
      EXPECT_EQ(have[i], wanted) << arguments << " in lane " << i;
    }
  };
  check("bfly.b32 %r0|%p1, %r1, 16, 31", [](unsigned i) { return i ^ 16; }, [](unsigned) { return true; });
  check("bfly.b32 %r0|%p1, %r1, 3, 31", [](unsigned i) { return i ^ 3; }, [](unsigned) { return true; });
  check("down.b32 %r0|%p1, %r1, 5, 31", [](unsigned i) { return i + 5; }, [](unsigned i) { return i + 5 < 32; });
  check("up.b32 %r0|%p1, %r1, 5, 0", [](unsigned i) { return i - 5; }, [](unsigned i) { return i >= 5; });
  check("idx.b32 %r0|%p1, %r1, 9, 31", [](unsigned) { return 9u; }, [](unsigned) { return true; });
  check("idx.b32 %r0|%p1, %r1, %r3, 31", [](unsigned i) { return i * 7 % 32; }, [](unsigned) { return true; });
  // Segments of eight lanes: the mask is in bits 8 to 12.
  check("down.b32 %r0|%p1, %r1, 3, 0x181f", [](unsigned i) { return i + 3; }, [](unsigned i) { return i % 8 < 5; });
  check("up.b32 %r0|%p1, %r1, 3, 0x1800", [](unsigned i) { return i - 3; }, [](unsigned i) { return i % 8 >= 3; });
  check("idx.b32 %r0|%p1, %r1, 2, 0x181f", [](unsigned i) { return i / 8 * 8 + 2; }, [](unsigned) { return true; });
}

TEST_F(WarpTest, ShufflesOfDivergedHalves) {
  auto have = evaluate("setp.lt.u32 %p1, %tid, 16; @!%p1 bra high; shfl.sync.idx.b32 %r0, %r1, 3, 31, 0xffff; bra end; "
                       "high: shfl.sync.idx.b32 %r0, %r1, 20, 31, 0xffff0000; end:",
                       "%r0", lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(have[i], i < 16 ? 103u : 120u);
}

TEST_F(WarpTest, VotesAndReductions) {
  const std::string odd = "and.b32 %r4, %tid, 1; setp.ne.u32 %p1, %r4, 0; ";
  auto same = [&](const std::string &body, const std::string &result, uint64_t wanted, unsigned threads = 32) {
    for (uint64_t have : evaluate(body, result, lanes(threads)))
      EXPECT_EQ(have, wanted) << body;
  };
  same(odd + "vote.sync.ballot.b32 %r0, %p1, -1;", "%r0", 0xaaaaaaaa);
  same(odd + "vote.sync.ballot.b32 %r0, !%p1, -1;", "%r0", 0x55555555);
  same(odd + "vote.sync.any.pred %p0, %p1, -1;", "%p0", 1);
  same(odd + "vote.sync.all.pred %p0, %p1, -1;", "%p0", 0);
  same(odd + "vote.sync.uni.pred %p0, %p1, -1;", "%p0", 0);
  same("redux.sync.add.s32 %r0, %r1, -1;", "%r0", 32 * 100 + 31 * 16);
  same("redux.sync.max.u32 %r0, %r1, -1;", "%r0", 131);
  same("sub.s32 %r4, %r2, 16; redux.sync.min.s32 %r0, %r4, -1;", "%r0", uint32_t(-16));
  same("redux.sync.or.b32 %r0, %r2, -1;", "%r0", 31);
  same("activemask.b32 %r0;", "%r0", 0xffffffff);
  same("activemask.b32 %r0;", "%r0", 0x3f, 6);
  // A partial warp has only as many lanes as threads.
  same("setp.eq.u32 %p1, 0, 0; vote.sync.ballot.b32 %r0, %p1, -1;", "%r0", 0x3f, 6);
  auto matched = evaluate("shr.u32 %r4, %r2, 3; match.any.sync.b32 %r0, %r4, -1;", "%r0", lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(matched[i], 0xffu << (i / 8 * 8));
  auto leaders =
      evaluate("setp.lt.u32 %p1, %tid, 8; @%p1 bra end; elect.sync %r0|%p0, 0xffffff00; end:", "%r0", lanes());
  for (unsigned i = 8; i < 32; ++i)
    EXPECT_EQ(leaders[i], 8u);
  auto elected = evaluate("elect.sync %r0|%p0, -1;", "%p0", lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(elected[i], i == 0);
  // Divergence: each half sees only itself.
  auto halves = evaluate("setp.lt.u32 %p1, %tid, 16; @%p1 bra low; activemask.b32 %r0; bra end; low: activemask.b32 "
                         "%r0; end:",
                         "%r0", lanes());
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(halves[i], i < 16 ? 0xffffu : 0xffff0000u);
}

TEST_F(WarpTest, BarriersReduce) {
  const std::string odd = "and.b32 %r4, %tid, 1; setp.ne.u32 %p1, %r4, 0; ";
  for (uint64_t have : evaluate(odd + "bar.red.popc.u32 %r0, 0, %p1;", "%r0", lanes(96)))
    EXPECT_EQ(have, 48u);
  for (uint64_t have : evaluate(odd + "barrier.cta.red.or.aligned.pred %p0, 0, %p1;", "%p0", lanes(96)))
    EXPECT_EQ(have, 1u);
  for (uint64_t have : evaluate(odd + "bar.red.and.pred %p0, 0, %p1;", "%p0", lanes(96)))
    EXPECT_EQ(have, 0u);
}

TEST_F(WarpTest, SpecialRegisters) {
  void *k = kernel(header() + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %ctaid.x;  mov.u32 %r2, %ctaid.y;  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, %tid.x;    mov.u32 %r5, %tid.y;    mov.u32 %r6, %tid.z;
  mov.u32 %r7, %ntid.x;   mov.u32 %r8, %ntid.y;   mov.u32 %r9, %laneid;
  mad.lo.u32 %r10, %r2, %r3, %r1;     // block
  mul.lo.u32 %r10, %r10, 48;
  mad.lo.u32 %r11, %r6, %r8, %r5;
  mad.lo.u32 %r11, %r11, %r7, %r4;    // thread
  add.u32 %r10, %r10, %r11;
  ld.param.u64 %rd1, [out];
  mad.wide.u32 %rd1, %r10, 16, %rd1;
  mov.u32 %r3, %warpid;
  mov.u32 %r1, %lanemask_lt;
  mov.u32 %r2, %nctaid.y;
  st.global.v4.u32 [%rd1], {%r9, %r3, %r1, %r2};
  ret;
}
)");
  uint64_t out = allocate(16 * 6 * 48);
  ASSERT_EQ(launch(k, {3, 2}, {4, 6, 2}, 0, out), emulator::kSuccess);
  auto have = download<uint32_t>(out, 4 * 6 * 48);
  for (unsigned i = 0; i < 6 * 48; ++i) {
    EXPECT_EQ(have[4 * i], i % 48 % 32);
    EXPECT_EQ(have[4 * i + 1], i % 48 / 32);
    EXPECT_EQ(have[4 * i + 2], (1u << i % 48 % 32) - 1);
    EXPECT_EQ(have[4 * i + 3], 2u);
  }
}

TEST_F(WarpTest, AtomicsOfManyBlocks) {
  void *k = kernel(header() + R"(
.visible .entry k(.param .u64 a)
{
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  .reg .pred %p<4>;
  .shared .align 4 .b32 sum;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 64, %r1;
  ld.param.u64 %rd1, [a];
  red.global.add.u32 [%rd1], 1;
  atom.global.max.u32 %r4, [%rd1+4], %r3;
  neg.s32 %r5, %r3;
  red.global.min.s32 [%rd1+8], %r5;
  red.global.add.f32 [%rd1+12], 0f3F000000;
  atom.global.inc.u32 %r4, [%rd1+16], 9;
  mov.u32 %r6, 0x3f803f80;
  red.global.add.noftz.bf16x2 [%rd1+20], %r6;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.u32 [sum], 0;
  bar.sync 0;
  atom.shared.add.u32 %r4, [sum], %r1;
  bar.sync 0;
  ld.shared.u32 %r7, [sum];
  @%p1 red.global.add.u32 [%rd1+24], %r7;
again:
  ld.volatile.global.u32 %r8, [%rd1+28];
  add.u32 %r9, %r8, 2;
  atom.global.cas.b32 %r10, [%rd1+28], %r8, %r9;
  setp.ne.u32 %p2, %r10, %r8;
  @%p2 bra again;
  ret;
}
)");
  // 20 blocks of 64 threads. The bf16 pair stops growing at 256, where 1 is half a unit of the last place.
  uint64_t a = upload(std::vector<uint32_t>{0, 0, 0, 0, 0, 0, 0, 0});
  ASSERT_EQ(launch(k, {20}, {64}, 0, a), emulator::kSuccess);
  EXPECT_EQ(download<uint32_t>(a, 8),
            (std::vector<uint32_t>{1280, 1279, uint32_t(-1279), std::bit_cast<uint32_t>(640.f), 0, 0x43804380,
                                   20 * 63 * 32, 2560}));
}

TEST_F(WarpTest, MatricesAreLoadedAndStored) {
  std::mt19937 random(1);
  std::vector<uint16_t> matrices(4 * 64);
  for (uint16_t &element : matrices)
    element = static_cast<uint16_t>(random());
  for (unsigned count : {1u, 2u, 4u})
    for (bool transposed : {false, true}) {
      std::string registers = count == 1 ? "{%r1}" : count == 2 ? "{%r1,%r2}" : "{%r1,%r2,%r3,%r4}";
      std::string shape = ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "");
      // Rows are 48 bytes apart. Lane 8i + r gives the address of row r of matrix i. stmatrix writes back what was
      // loaded.
      void *k = kernel(header(90) + R"(
.visible .entry k(.param .u64 in, .param .u64 fragments, .param .u64 back)
{
  .reg .b32 %r<12>, %tid;
  .reg .b64 %rd<8>;
  .shared .align 16 .b8 a[1536];
  .shared .align 16 .b8 b[512];
  mov.u32 %tid, %tid.x;
  ld.param.u64 %rd1, [in];
  mad.wide.u32 %rd1, %tid, 16, %rd1;
  ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1];
  mov.u32 %r5, a;
  mad.lo.u32 %r5, %tid, 48, %r5;
  st.shared.v4.u32 [%r5], {%r1,%r2,%r3,%r4};
  bar.sync 0;
  ldmatrix)" + shape + ".shared.b16 " +
                       registers + R"(, [%r5];
  ld.param.u64 %rd2, [fragments];
  mad.wide.u32 %rd2, %tid, 16, %rd2;
  st.global.v4.u32 [%rd2], {%r1,%r2,%r3,%r4};
  mov.u32 %r6, b;
  mad.lo.u32 %r6, %tid, 16, %r6;
  mov.u32 %r11, 0;
  st.shared.v4.u32 [%r6], {%r11,%r11,%r11,%r11};
  bar.sync 0;
  stmatrix)" + shape + ".shared.b16 [%r6], " +
                       registers + R"(;
  bar.sync 0;
  ld.shared.v4.u32 {%r7,%r8,%r9,%r10}, [%r6];
  ld.param.u64 %rd3, [back];
  mad.wide.u32 %rd3, %tid, 16, %rd3;
  st.global.v4.u32 [%rd3], {%r7,%r8,%r9,%r10};
  ret;
}
)");
      uint64_t in = upload(matrices), fragments = allocate(512), back = allocate(512);
      ASSERT_EQ(launch(k, {}, {32}, 0, in, fragments, back), emulator::kSuccess);
      auto have = download<uint16_t>(fragments, 256), returned = download<uint16_t>(back, 256);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned matrix = 0; matrix < count; ++matrix)
          for (unsigned half = 0; half < 2; ++half) {
            unsigned row = lane / 4, column = lane % 4 * 2 + half;
            unsigned at = transposed ? column * 8 + row : row * 8 + column;
            EXPECT_EQ(have[lane * 8 + matrix * 2 + half], matrices[matrix * 64 + at]);
          }
      for (unsigned i = 0; i < count * 64; ++i)
        EXPECT_EQ(returned[i], matrices[i]);
    }
}

// Fragment layouts, case by case, as in the figures of the PTX ISA.

struct Fragment {
  unsigned row, column;
};
// 16x8 with 32-bit elements: c0 and c1 are in row lane / 4, c2 and c3 eight rows below.
Fragment sums(unsigned lane, unsigned i) { return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)}; }
// 16x16 and 16x8 with 16-bit elements, a0 to a7.
Fragment a16(unsigned lane, unsigned i) {
  unsigned row = i < 2 || (i >= 4 && i < 6) ? lane / 4 : lane / 4 + 8;
  return {row, i < 4 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8};
}
Fragment b16(unsigned lane, unsigned i) {
  return {i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8, lane / 4};
}
// tf32: a0 to a3, and b0 and b1.
Fragment a32(unsigned lane, unsigned i) {
  return {i == 0 || i == 2 ? lane / 4 : lane / 4 + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
Fragment b32(unsigned lane, unsigned i) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane / 4}; }

class MmaTest : public WarpTest {
protected:
  // Small integers: every product and sum is exact in all formats.
  std::mt19937 random{7};
  float small() { return static_cast<float>(static_cast<int>(random() % 9) - 4); }

  static uint32_t encode(const std::string &type, float value) {
    auto bits = std::bit_cast<uint32_t>(value);
    if (type == "tf32")
      return bits;
    if (type == "bf16")
      return bits >> 16;
    if (value == 0)
      return 0;
    int exponent = 0;
    float mantissa = std::frexp(std::fabs(value), &exponent);
    return (value < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(exponent - 1 + 15) << 10 |
           (static_cast<uint32_t>(mantissa * 2048) & 1023);
  }

  // Computes D = A B + C. A lane has two registers of f16 sums, or four of f32 sums.
  std::vector<uint32_t> multiply(const std::string &type, unsigned depth, const std::string &sumType) {
    bool tensor = type == "tf32", halfSums = sumType == "f16";
    unsigned perRegister = tensor ? 1 : 2;
    unsigned as = depth / 2 / perRegister, bs = as / 2, cs = halfSums ? 2 : 4;
    std::vector<uint32_t> in(32 * 12);
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t *registers = &in[lane * 12];
      for (unsigned i = 0; i < as * perRegister; ++i) {
        Fragment at = tensor ? a32(lane, i) : a16(lane, i);
        registers[i / perRegister] |= encode(type, a[at.row][at.column]) << (16 * (i % perRegister));
      }
      for (unsigned i = 0; i < bs * perRegister; ++i) {
        Fragment at = tensor ? b32(lane, i) : b16(lane, i);
        registers[4 + i / perRegister] |= encode(type, b[at.row][at.column]) << (16 * (i % perRegister));
      }
      for (unsigned i = 0; i < 4; ++i) {
        Fragment at = sums(lane, i);
        if (halfSums)
          registers[6 + i / 2] |= encode("f16", c[at.row][at.column]) << (16 * (i % 2));
        else
          registers[6 + i] = std::bit_cast<uint32_t>(c[at.row][at.column]);
      }
    }
    auto list = [](unsigned first, unsigned count) {
      std::string text = "{";
      for (unsigned i = 0; i < count; ++i)
        text += (i ? ",%r" : "%r") + std::to_string(first + i);
      return text + "}";
    };
    std::string ptx = header() + ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<20>;\n.reg .b64 "
                                 "%rd<4>;\nmov.u32 %r0, %tid.x;\nld.param.u64 %rd1, [in];\nmad.wide.u32 %rd1, %r0, "
                                 "48, %rd1;\nld.param.u64 %rd2, [out];\nmad.wide.u32 %rd2, %r0, 16, %rd2;\n";
    for (unsigned i = 0; i < 12; ++i)
      ptx += "ld.global.u32 %r" + std::to_string(i + 1) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    ptx += "mma.sync.aligned.m16n8k" + std::to_string(depth) + ".row.col." + sumType + "." + type + "." + type + "." +
           sumType + " " + list(13, cs) + ", " + list(1, as) + ", " + list(5, bs) + ", " + list(7, cs) + ";\n";
    ptx += "st.global.v4.u32 [%rd2], {%r13,%r14,%r15,%r16};\nret;\n}\n";
    uint64_t input = upload(in), out = allocate(512);
    EXPECT_EQ(launch(kernel(ptx), {}, {32}, 0, input, out), emulator::kSuccess);
    return download<uint32_t>(out, 128);
  }

  void check(const std::string &type, unsigned depth, const std::string &sumType = "f32") {
    SCOPED_TRACE(type + " m16n8k" + std::to_string(depth) + " " + sumType);
    for (auto &row : a)
      for (float &x : row)
        x = small();
    for (auto &row : b)
      for (float &x : row)
        x = small();
    for (auto &row : c)
      for (float &x : row)
        x = small();
    std::vector<uint32_t> have = multiply(type, depth, sumType);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 4; ++i) {
        Fragment at = sums(lane, i);
        float wanted = c[at.row][at.column];
        for (unsigned k = 0; k < depth; ++k)
          wanted += a[at.row][k] * b[k][at.column];
        if (sumType == "f16")
          EXPECT_EQ(have[lane * 4 + i / 2] >> (16 * (i % 2)) & 0xffff, encode("f16", wanted)) << lane << " " << i;
        else
          EXPECT_EQ(std::bit_cast<float>(have[lane * 4 + i]), wanted) << lane << " " << i;
      }
  }

  // Returns the first element of a sum of a few numbers, each multiplied by 1.
  float sum(const std::string &type, float start, const std::vector<float> &numbers) {
    for (unsigned k = 0; k < 16; ++k) {
      a[0][k] = k < numbers.size() ? numbers[k] : 0;
      b[k][0] = 1;
    }
    c[0][0] = start;
    return std::bit_cast<float>(multiply(type, type == "tf32" ? 8 : 16, "f32")[0]);
  }

  float a[16][16] = {}, b[16][8] = {}, c[16][8] = {};
};

TEST_F(MmaTest, F16) {
  check("f16", 16);
  check("f16", 8);
}
TEST_F(MmaTest, F16WithF16Sums) {
  check("f16", 16, "f16");
  check("f16", 8, "f16");
}
TEST_F(MmaTest, BF16) {
  check("bf16", 16);
  check("bf16", 8);
}
TEST_F(MmaTest, TF32) {
  check("tf32", 8);
  check("tf32", 4);
}

// A tensor core adds eight products (four in tf32) and the previous sum at once. The largest of them keeps 25 bits, and
// smaller ones lose the bits below its last one. The sum is then truncated to f32's 24 bits. f32 arithmetic in any order
// gives other results.
TEST_F(MmaTest, SumsAreTruncated) {
  for (const char *type : {"f16", "bf16", "tf32"}) {
    SCOPED_TRACE(type);
    for (float sign : {1.f, -1.f}) {
      float half = 1.5f * sign, one = sign;
      EXPECT_EQ(sum(type, sign * 0x1p24f, {half, half, half, half}), sign * (0x1p24f + 4));
      EXPECT_EQ(sum(type, sign * 0x1p26f, {half, half, half, half}), sign * 0x1p26f);
      EXPECT_EQ(sum(type, sign * 0x1p24f, {one, one, one}), sign * (0x1p24f + 2));
    }
    // Bits are truncated towards zero, for either sign.
    EXPECT_EQ(sum(type, 0x1p25f, {-1.5f, 1.5f}), 0x1p25f);
    EXPECT_EQ(sum(type, 0x1p25f, {-1.5f, -1.5f}), 0x1p25f);
  }
  // Products after the eighth (in tf32, after the fourth) are added to a sum that is rounded to f32.
  std::vector<float> numbers(8, 1);
  numbers.push_back(3);
  EXPECT_EQ(sum("bf16", 0x1p24f, numbers), 0x1p24f + 10);
  EXPECT_EQ(sum("tf32", 0x1p24f, {1, 0, 0, 0, 1}), 0x1p24f);
}

TEST_F(MmaTest, NumbersThatAreNotFinite) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(sum("bf16", 1, {inf, 2}), inf);
  EXPECT_EQ(sum("bf16", -inf, {1, 2}), -inf);
  EXPECT_TRUE(std::isnan(sum("bf16", -inf, {inf})));
  EXPECT_TRUE(std::isnan(sum("bf16", 1, {nan, 2})));
  EXPECT_EQ(sum("bf16", 0x1.fep127f, {0x1p127f, 0x1p127f}), inf);
  EXPECT_EQ(sum("bf16", -0.f, {}), 0.f);
}

TEST_F(WarpTest, CopiesMoveAtTheWaitAndFillWithZeros) {
  void *k = kernel(header() + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  .reg .pred %p<2>;
  .shared .align 16 .b8 a[48];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, 9;
  st.shared.u32 [a], %r1;
  cp.async.ca.shared.global [a], [%rd1], 4;
  cp.async.commit_group;
  mov.u32 %r2, 6;
  cp.async.cg.shared.global [a+16], [%rd1], 16, %r2;
  cp.async.commit_group;
  ld.shared.u32 %r3, [a];             // 9: not yet copied
  cp.async.wait_group 1;
  ld.shared.u32 %r4, [a];             // in[0]
  cp.async.wait_group 0;
  ld.shared.v2.u32 {%r5, %r6}, [a+16]; // in[0], the lower half of in[1]
  ld.shared.u32 %r7, [a+28];           // 0
  setp.eq.u32 %p1, %r1, 9;
  cp.async.ca.shared.global [a+32], [0], 4, %p1;
  cp.async.wait_all;
  ld.shared.u32 %r8, [a+32];           // 0: the source is ignored
  st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
  st.global.v2.u32 [%rd2+16], {%r7, %r8};
  ret;
}
)");
  uint64_t in = upload(std::vector<uint32_t>{0x11111111, 0x22222222, 0x33333333, 0x44444444}), out = allocate(24);
  ASSERT_EQ(launch(k, {}, {}, 0, in, out), emulator::kSuccess);
  EXPECT_EQ(download<uint32_t>(out, 6), (std::vector<uint32_t>{9, 0x11111111, 0x11111111, 0x2222, 0, 0}));
}

} // namespace
} // namespace heddle::test
