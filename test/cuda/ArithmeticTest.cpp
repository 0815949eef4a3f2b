// Compares each instruction with its definition, on inputs that are likely to break it.
#include "test/cuda/EmulatorTest.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace heddle::test {
namespace {

using Row = std::array<uint64_t, 3>;

class ArithmeticTest : public EmulatorTest {
protected:
  void expectAll(const std::string &body, const std::string &result, const std::vector<Row> &rows,
                 const std::function<uint64_t(const Row &)> &expected) {
    std::vector<uint64_t> have = evaluate(body, result, rows);
    ASSERT_EQ(have.size(), rows.size());
    unsigned wrong = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(have[i], expected(rows[i]))
          << std::hex << body << " of 0x" << rows[i][0] << ", 0x" << rows[i][1] << ", 0x" << rows[i][2];
      wrong += have[i] != expected(rows[i]);
      if (wrong > 3)
        return;
    }
  }
};

std::vector<Row> integers() {
  const uint64_t corners[] = {0,
                              1,
                              2,
                              31,
                              32,
                              33,
                              0x7f,
                              0x80,
                              0xffff,
                              0x7fffffff,
                              0x80000000,
                              0xffffffff,
                              0xdeadbeef,
                              0x7fffffffffffffff,
                              0x8000000000000000,
                              ~uint64_t(0)};
  std::vector<Row> rows;
  std::mt19937_64 random(1);
  for (uint64_t a : corners)
    for (uint64_t b : corners)
      rows.push_back({a, b, corners[random() % std::size(corners)]});
  for (int i = 0; i < 200; ++i)
    rows.push_back({random(), random(), random()});
  return rows;
}

std::vector<Row> floats() {
  const float corners[] = {0.f,
                           -0.f,
                           1.f,
                           -1.f,
                           0.5f,
                           1.5f,
                           2.5f,
                           -2.5f,
                           3e38f,
                           -3e38f,
                           1e-40f,
                           -1e-40f,
                           1.1754944e-38f,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           65504.f,
                           65520.f,
                           1e-8f,
                           4294967296.f};
  std::vector<Row> rows;
  std::mt19937 random(2);
  auto bits = [](float value) { return uint64_t(std::bit_cast<uint32_t>(value)); };
  for (float a : corners)
    for (float b : corners)
      rows.push_back({bits(a), bits(b), bits(corners[random() % std::size(corners)])});
  std::uniform_real_distribution<float> uniform(-4, 4);
  for (int i = 0; i < 300; ++i)
    rows.push_back({bits(uniform(random)), bits(uniform(random)), bits(uniform(random))});
  return rows;
}

float f(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
// Treats all NaNs as equal.
uint64_t u(float value) { return std::isnan(value) ? 0x7fffffff : std::bit_cast<uint32_t>(value); }
int32_t s(uint64_t bits) { return static_cast<int32_t>(bits); }
uint32_t w(uint64_t bits) { return static_cast<uint32_t>(bits); }
int64_t l(uint64_t bits) { return static_cast<int64_t>(bits); }

TEST_F(ArithmeticTest, Integers32) {
  auto rows = integers();
  auto check = [&](const char *body, const std::function<uint32_t(uint32_t, uint32_t, uint32_t)> &expected) {
    expectAll(body, "%r0", rows, [&](const Row &row) { return uint64_t(expected(w(row[0]), w(row[1]), w(row[2]))); });
  };
  check("add.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return a + b; });
  check("sub.u32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return a - b; });
  check("add.sat.s32 %r0, %r1, %r2;",
        [](auto a, auto b, auto) { return uint32_t(std::clamp<int64_t>(int64_t(s(a)) + s(b), INT32_MIN, INT32_MAX)); });
  check("mul.lo.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return a * b; });
  check("mul.hi.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return uint32_t((int64_t(s(a)) * s(b)) >> 32); });
  check("mul.hi.u32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return uint32_t((uint64_t(a) * b) >> 32); });
  check("mad.lo.s32 %r0, %r1, %r2, %r3;", [](auto a, auto b, auto c) { return a * b + c; });
  check("mad.hi.u32 %r0, %r1, %r2, %r3;", [](auto a, auto b, auto c) { return uint32_t((uint64_t(a) * b) >> 32) + c; });
  check("or.b32 %r4, %r2, 1; div.u32 %r0, %r1, %r4;", [](auto a, auto b, auto) { return a / (b | 1); });
  check("or.b32 %r4, %r2, 1; div.s32 %r0, %r1, %r4;",
        [](auto a, auto b, auto) { return uint32_t(int64_t(s(a)) / s(b | 1)); });
  check("or.b32 %r4, %r2, 1; rem.u32 %r0, %r1, %r4;", [](auto a, auto b, auto) { return a % (b | 1); });
  check("or.b32 %r4, %r2, 1; rem.s32 %r0, %r1, %r4;",
        [](auto a, auto b, auto) { return uint32_t(int64_t(s(a)) % s(b | 1)); });
  check("min.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return uint32_t(std::min(s(a), s(b))); });
  check("max.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return uint32_t(std::max(s(a), s(b))); });
  check("min.u32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return std::min(a, b); });
  check("max.relu.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return uint32_t(std::max({s(a), s(b), 0})); });
  check("min.relu.s32 %r0, %r1, %r2;",
        [](auto a, auto b, auto) { return uint32_t(std::max(std::min(s(a), s(b)), 0)); });
  check("max.u32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return std::max(a, b); });
  check("abs.s32 %r0, %r1;", [](auto a, auto, auto) { return s(a) < 0 ? -a : a; });
  check("neg.s32 %r0, %r1;", [](auto a, auto, auto) { return -a; });
  check("and.b32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return a & b; });
  check("or.b32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return a | b; });
  check("xor.b32 %r0, %r1, -1;", [](auto a, auto, auto) { return ~a; });
  check("not.b32 %r0, %r1;", [](auto a, auto, auto) { return ~a; });
  check("cnot.b32 %r0, %r1;", [](auto a, auto, auto) { return uint32_t(a == 0); });
  check("shl.b32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return b > 31 ? 0 : a << b; });
  check("shr.u32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return b > 31 ? 0 : a >> b; });
  check("shr.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return uint32_t(s(a) >> std::min(b, 31u)); });
  check("shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
        [](auto a, auto b, auto c) { return c % 32 ? b << c % 32 | a >> (32 - c % 32) : b; });
  check("shf.r.wrap.b32 %r0, %r1, %r2, %r3;",
        [](auto a, auto b, auto c) { return c % 32 ? b << (32 - c % 32) | a >> c % 32 : a; });
  check("shf.l.clamp.b32 %r0, %r1, %r2, %r3;", [](auto a, auto b, auto c) {
    return c >= 32 ? a : c ? b << c | a >> (32 - c) : b;
  });
  check("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", [](auto a, auto b, auto c) {
    return c >= 32 ? b : c ? b << (32 - c) | a >> c : a;
  });
  check("popc.b32 %r0, %r1;", [](auto a, auto, auto) { return uint32_t(std::popcount(a)); });
  check("clz.b32 %r0, %r1;", [](auto a, auto, auto) { return uint32_t(std::countl_zero(a)); });
  check("bfind.u32 %r0, %r1;", [](auto a, auto, auto) { return uint32_t(31 - std::countl_zero(a)); });
  check("brev.b32 %r0, %r1;", [](auto a, auto, auto) {
    uint32_t result = 0;
    for (int i = 0; i < 32; ++i)
      result |= (a >> i & 1) << (31 - i);
    return result;
  });
  // (a & b)
  // (~a & c), and the odd parity.
  check("lop3.b32 %r0, %r1, %r2, %r3, 0xCA;", [](auto a, auto b, auto c) { return (a & b) | (~a & c); });
  check("lop3.b32 %r0, %r1, %r2, %r3, 150;", [](auto a, auto b, auto c) { return a ^ b ^ c; });
  check("sad.u32 %r0, %r1, %r2, %r3;", [](auto a, auto b, auto c) { return c + (a < b ? b - a : a - b); });
  check("selp.b32 %r0, %r1, %r2, %p0;", [](auto, auto b, auto) { return b; });
  check("slct.u32.s32 %r0, %r1, %r2, %r3;", [](auto a, auto b, auto c) { return s(c) >= 0 ? a : b; });
  check("set.lt.u32.s32 %r0, %r1, %r2;", [](auto a, auto b, auto) { return s(a) < s(b) ? ~0u : 0u; });
  check("add.u16x2 %r0, %r1, %r2;",
        [](auto a, auto b, auto) { return uint32_t(uint16_t(a + b)) | ((a >> 16) + (b >> 16)) << 16; });
}

TEST_F(ArithmeticTest, Integers64And16) {
  auto rows = integers();
  using u128 = unsigned __int128;
  using s128 = __int128;
  auto check = [&](const char *body, const std::function<uint64_t(uint64_t, uint64_t, uint64_t)> &expected) {
    expectAll(body, "%rd0", rows, [&](const Row &row) { return expected(row[0], row[1], row[2]); });
  };
  check("add.s64 %rd0, %rd1, %rd2;", [](auto a, auto b, auto) { return a + b; });
  check("mul.lo.s64 %rd0, %rd1, %rd2;", [](auto a, auto b, auto) { return a * b; });
  check("mul.hi.s64 %rd0, %rd1, %rd2;", [](auto a, auto b, auto) { return uint64_t((s128(l(a)) * l(b)) >> 64); });
  check("mul.hi.u64 %rd0, %rd1, %rd2;", [](auto a, auto b, auto) { return uint64_t((u128(a) * b) >> 64); });
  check("mul.wide.s32 %rd0, %r1, %r2;", [](auto a, auto b, auto) { return uint64_t(int64_t(s(a)) * s(b)); });
  check("mul.wide.u32 %rd0, %r1, %r2;", [](auto a, auto b, auto) { return uint64_t(w(a)) * w(b); });
  check("mad.wide.s32 %rd0, %r1, %r2, %rd3;",
        [](auto a, auto b, auto c) { return uint64_t(int64_t(s(a)) * s(b)) + c; });
  check("or.b64 %rd4, %rd2, 1; div.u64 %rd0, %rd1, %rd4;", [](auto a, auto b, auto) { return a / (b | 1); });
  check("or.b64 %rd4, %rd2, 1; div.s64 %rd0, %rd1, %rd4;",
        [](auto a, auto b, auto) { return uint64_t(s128(l(a)) / l(b | 1)); });
  check("or.b64 %rd4, %rd2, 1; rem.s64 %rd0, %rd1, %rd4;",
        [](auto a, auto b, auto) { return uint64_t(s128(l(a)) % l(b | 1)); });
  check("shl.b64 %rd0, %rd1, %r2;", [](auto a, auto b, auto) { return w(b) > 63 ? 0 : a << w(b); });
  check("shr.s64 %rd0, %rd1, %r2;", [](auto a, auto b, auto) { return uint64_t(l(a) >> std::min(w(b), 63u)); });
  // 128-bit arithmetic with carries.
  check("add.cc.u64 %rd4, %rd1, %rd2; addc.u64 %rd0, %rd3, 0;", [](auto a, auto b, auto c) { return c + (a + b < a); });
  check("sub.cc.u64 %rd4, %rd1, %rd2; subc.u64 %rd0, %rd3, 0;", [](auto a, auto b, auto c) { return c - (a < b); });
  check("mad.lo.cc.u64 %rd4, %rd1, %rd2, %rd3; madc.hi.u64 %rd0, %rd1, %rd2, 0;",
        [](auto a, auto b, auto c) { return uint64_t((u128(a) * b + c) >> 64); });
  check("mov.b64 {%r4, %r5}, %rd1; mov.b64 %rd0, {%r5, %r4};", [](auto a, auto, auto) { return a << 32 | a >> 32; });
  check("mov.b128 %rq1, {%rd1, %rd2}; mov.b128 {%rd4, %rd0}, %rq1;", [](auto, auto b, auto) { return b; });
  check("cvt.s64.s32 %rd0, %r1;", [](auto a, auto, auto) { return uint64_t(int64_t(s(a))); });
  check("cvt.u64.u32 %rd0, %r1;", [](auto a, auto, auto) { return uint64_t(w(a)); });
  check("cvt.s64.s8 %rd0, %rd1;", [](auto a, auto, auto) { return uint64_t(int64_t(int8_t(a))); });
  check("cvt.sat.u32.s64 %rd0, %rd1;",
        [](auto a, auto, auto) { return uint64_t(std::clamp<int64_t>(l(a), 0, UINT32_MAX)); });
  auto check16 = [&](const char *body, const std::function<uint16_t(uint16_t, uint16_t)> &expected) {
    expectAll(body, "%rs0", rows,
              [&](const Row &row) { return uint64_t(expected(uint16_t(row[0]), uint16_t(row[1]))); });
  };
  check16("add.s16 %rs0, %rs1, %rs2;", [](auto a, auto b) { return uint16_t(a + b); });
  check16("mul.lo.s16 %rs0, %rs1, %rs2;", [](auto a, auto b) { return uint16_t(uint32_t(a) * b); });
  check16("shr.s16 %rs0, %rs1, 3;", [](auto a, auto) { return uint16_t(int16_t(a) >> 3); });
  check16("max.s16 %rs0, %rs1, %rs2;", [](auto a, auto b) { return uint16_t(std::max(int16_t(a), int16_t(b))); });
}

// Expected values follow the tables in the PTX ISA's description of these instructions.
TEST_F(ArithmeticTest, BitFields) {
  auto one = [&](const char *body, Row row) { return evaluate(body, "%rd0", {row})[0]; };
  const char *bfeU = "bfe.u32 %r0, %r1, %r2, %r3; cvt.u64.u32 %rd0, %r0;";
  const char *bfeS = "bfe.s32 %r0, %r1, %r2, %r3; cvt.u64.u32 %rd0, %r0;";
  EXPECT_EQ(one(bfeU, {0xabcd1234, 8, 12}), 0xd12u);
  EXPECT_EQ(one(bfeU, {0xabcd1234, 24, 16}), 0xabu);
  EXPECT_EQ(one(bfeU, {0xabcd1234, 4, 0}), 0u);
  EXPECT_EQ(one(bfeU, {0xabcd1234, 40, 4}), 0u);
  EXPECT_EQ(one(bfeS, {0xabcd1234, 8, 12}), 0xfffffd12u);
  EXPECT_EQ(one(bfeS, {0xabcd1234, 24, 16}), 0xffffffabu);
  EXPECT_EQ(one(bfeS, {0xabcd1234, 40, 4}), 0xffffffffu);
  EXPECT_EQ(one("bfe.u64 %rd0, %rd1, %r2, %r3;", {0x123456789abcdef0, 20, 36}), 0x3456789abu);
  const char *bfi = "mov.u32 %r4, 0xffffffff; bfi.b32 %r0, %r1, %r4, %r2, %r3; cvt.u64.u32 %rd0, %r0;";
  EXPECT_EQ(one(bfi, {0x5, 4, 8}), 0xfffff05fu);
  EXPECT_EQ(one(bfi, {0x5, 28, 8}), 0x5fffffffu);
  EXPECT_EQ(one(bfi, {0x5, 4, 0}), 0xffffffffu);
  const char *prmt = "prmt.b32 %r0, %r1, %r2, %r3; cvt.u64.u32 %rd0, %r0;";
  EXPECT_EQ(one(prmt, {0x33221100, 0x77665544, 0x3210}), 0x33221100u);
  EXPECT_EQ(one(prmt, {0x33221100, 0x77665544, 0x5410}), 0x55441100u);
  EXPECT_EQ(one(prmt, {0x33221180, 0x77665544, 0x7698}), 0x776600ffu);
  EXPECT_EQ(one("prmt.b32.f4e %r0, %r1, %r2, %r3; cvt.u64.u32 %rd0, %r0;", {0x33221100, 0x77665544, 1}), 0x44332211u);
}

TEST_F(ArithmeticTest, Floats32) {
  auto rows = floats();
  auto check = [&](const std::string &body, const std::function<float(float, float, float)> &expected) {
    // A NaN may have any bits.
    expectAll(body + " setp.nan.f32 %p1, %f0, %f0; mov.b32 %r0, %f0; @%p1 mov.u32 %r0, 0x7fffffff;", "%r0", rows,
              [&](const Row &row) { return u(expected(f(row[0]), f(row[1]), f(row[2]))); });
  };
  auto flush = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; };
  auto saturate = [](float x) { return x >= 1 ? 1.f : x > 0 ? x : 0.f; };
  check("add.f32 %f0, %f1, %f2;", [](auto a, auto b, auto) { return a + b; });
  check("add.rn.f32 %f0, %f1, 0f3F800000;", [](auto a, auto, auto) { return a + 1; });
  check("add.f32 %f0, %f1, 1.5;", [](auto a, auto, auto) { return a + 1.5f; });
  check("sub.ftz.f32 %f0, %f1, %f2;", [&](auto a, auto b, auto) { return flush(flush(a) - flush(b)); });
  check("mul.f32 %f0, %f1, %f2;", [](auto a, auto b, auto) { return a * b; });
  check("mul.sat.f32 %f0, %f1, %f2;", [&](auto a, auto b, auto) { return saturate(a * b); });
  check("mul.ftz.f32 %f0, %f1, %f2;", [&](auto a, auto b, auto) { return flush(flush(a) * flush(b)); });
  check("fma.rn.f32 %f0, %f1, %f2, %f3;", [](auto a, auto b, auto c) { return std::fma(a, b, c); });
  check("div.rn.f32 %f0, %f1, %f2;", [](auto a, auto b, auto) { return a / b; });
  check("rcp.rn.f32 %f0, %f1;", [](auto a, auto, auto) { return 1 / a; });
  check("sqrt.rn.f32 %f0, %f1;", [](auto a, auto, auto) { return std::sqrt(a); });
  check("neg.f32 %f0, %f1;", [](auto a, auto, auto) { return -a; });
  check("abs.f32 %f0, %f1;", [](auto a, auto, auto) { return std::fabs(a); });
  check("abs.ftz.f32 %f0, %f1;", [&](auto a, auto, auto) { return flush(std::fabs(a)); });
  check("copysign.f32 %f0, %f1, %f2;", [](auto a, auto b, auto) { return std::copysign(b, a); });
  auto least = [](float a, float b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
  };
  auto most = [](float a, float b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
  };
  const float none = std::numeric_limits<float>::quiet_NaN();
  check("min.f32 %f0, %f1, %f2;", [&](auto a, auto b, auto) { return least(a, b); });
  check("max.f32 %f0, %f1, %f2;", [&](auto a, auto b, auto) { return most(a, b); });
  check("max.NaN.f32 %f0, %f1, %f2;",
        [&](auto a, auto b, auto) { return std::isnan(a) || std::isnan(b) ? none : most(a, b); });
  check("min.NaN.f32 %f0, %f1, %f2;",
        [&](auto a, auto b, auto) { return std::isnan(a) || std::isnan(b) ? none : least(a, b); });
  check("selp.f32 %f0, %f1, %f2, %p0;", [](auto, auto b, auto) { return b; });
  check("cvt.rni.f32.f32 %f0, %f1;", [](auto a, auto, auto) { return std::nearbyint(a); });
  check("cvt.rzi.f32.f32 %f0, %f1;", [](auto a, auto, auto) { return std::trunc(a); });
  check("cvt.rmi.f32.f32 %f0, %f1;", [](auto a, auto, auto) { return std::floor(a); });
  check("cvt.rpi.f32.f32 %f0, %f1;", [](auto a, auto, auto) { return std::ceil(a); });
  check("cvt.sat.f32.f32 %f0, %f1;", [&](auto a, auto, auto) { return saturate(a); });
  check("cvt.f64.f32 %fd4, %f1; cvt.rn.f32.f64 %f0, %fd4;", [](auto a, auto, auto) { return a; });
}

// The sum or product in double tells on which side of the f32 numbers the exact result lies.
TEST_F(ArithmeticTest, DirectedRounding) {
  auto rows = floats();
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const Row &row) {
                              auto usual = [](float x) { return std::fabs(x) > 1e-3f && std::fabs(x) < 1e3f; };
                              return !usual(f(row[0])) || !usual(f(row[1]));
                            }),
             rows.end());
  auto round = [](double exact, int mode) {
    if (exact == 0)
      return mode == 1 ? -0.f : 0.f; // the sum of opposite numbers; none of the products here is zero
    auto nearest = static_cast<float>(exact);
    float up = nearest < exact ? std::nextafter(nearest, INFINITY) : nearest;
    float down = nearest > exact ? std::nextafter(nearest, -INFINITY) : nearest;
    return mode == 0 ? (exact < 0 ? up : down) : mode == 1 ? down : up;
  };
  const char *names[] = {"rz", "rm", "rp"};
  for (int mode = 0; mode < 3; ++mode) {
    std::string name = names[mode];
    expectAll("add." + name + ".f32 %f0, %f1, %f2;", "%f0", rows,
              [&](const Row &row) { return u(round(double(f(row[0])) + f(row[1]), mode)); });
    expectAll("mul." + name + ".f32 %f0, %f1, %f2;", "%f0", rows,
              [&](const Row &row) { return u(round(double(f(row[0])) * f(row[1]), mode)); });
    expectAll("fma." + name + ".f32 %f0, %f1, %f2, 0f3F800000;", "%f0", rows,
              [&](const Row &row) { return u(round(double(f(row[0])) * f(row[1]) + 1, mode)); });
    expectAll("cvt." + name + ".f32.s64 %f0, %rd1;", "%f0", {{(1ull << 60) + 1}, {uint64_t(-(1ll << 60) - 1)}, {5}},
              [&](const Row &row) {
                bool negative = l(row[0]) < 0;
                if (row[0] == 5)
                  return u(5);
                float exact = negative ? -0x1p60f : 0x1p60f;
                bool away = negative ? mode == 1 : mode == 2;
                return u(away ? std::nextafter(exact, negative ? -INFINITY : INFINITY) : exact);
              });
  }
}

// PTX documents an error of at most 2^-22 of the result for ex2.approx. The test also checks that some results are
// inexact.
TEST_F(ArithmeticTest, PowersOfTwoAreApproximate) {
  auto rows = floats();
  std::vector<uint64_t> have = evaluate("ex2.approx.f32 %f0, %f1;", "%f0", rows);
  unsigned inexact = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    float x = f(rows[i][0]);
    double wanted = std::exp2(double(x));
    auto nearest = static_cast<float>(wanted);
    if (std::isnan(nearest)) {
      EXPECT_TRUE(std::isnan(f(have[i]))) << x;
      continue;
    }
    if (x == 0 || std::isinf(x)) {
      EXPECT_EQ(f(have[i]), nearest) << x;
      continue;
    }
    if (std::isinf(nearest)) {
      EXPECT_GE(f(have[i]), std::numeric_limits<float>::max()) << x;
      continue;
    }
    // The last digit of a denormal exceeds the allowed error.
    double most = std::max(wanted * 0x1p-22, 0x1p-149);
    EXPECT_LE(std::fabs(f(have[i]) - wanted), most) << "2^" << x;
    inexact += f(have[i]) != nearest;
  }
  EXPECT_GT(inexact, 0u);
}

TEST_F(ArithmeticTest, ApproximationsAreWithinAUnit) {
  auto rows = floats();
  auto check = [&](const std::string &body, double (*exact)(double)) {
    std::vector<uint64_t> have = evaluate(body, "%f0", rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      double wanted = exact(f(rows[i][0]));
      auto nearest = static_cast<float>(wanted);
      if (std::isnan(nearest)) {
        EXPECT_TRUE(std::isnan(f(have[i]))) << body << f(rows[i][0]);
        continue;
      }
      EXPECT_TRUE(f(have[i]) == nearest || f(have[i]) == std::nextafter(nearest, INFINITY) ||
                  f(have[i]) == std::nextafter(nearest, -INFINITY))
          << body << " of " << f(rows[i][0]) << ": " << f(have[i]) << ", not " << nearest;
    }
  };
  check("lg2.approx.f32 %f0, %f1;", [](double x) { return std::log(x) / std::log(2.0); });
  check("rcp.approx.f32 %f0, %f1;", [](double x) { return 1 / x; });
  check("sqrt.approx.f32 %f0, %f1;", [](double x) { return std::sqrt(x); });
  check("rsqrt.approx.f32 %f0, %f1;", [](double x) { return 1 / std::sqrt(x); });
  check("sin.approx.f32 %f0, %f1;", [](double x) { return std::sin(x); });
  check("cos.approx.f32 %f0, %f1;", [](double x) { return std::cos(x); });
  check("tanh.approx.f32 %f0, %f1;", [](double x) { return std::tanh(x); });
  check("div.full.f32 %f0, %f1, 0f40400000;", [](double x) { return x / 3; });
}

TEST_F(ArithmeticTest, Comparisons) {
  auto rows = floats();
  auto real = [&](const char *name, const std::function<bool(float, float)> &expected) {
    expectAll(std::string("setp.") + name + ".f32 %p0, %f1, %f2;", "%p0", rows,
              [&](const Row &row) { return uint64_t(expected(f(row[0]), f(row[1]))); });
  };
  auto none = [](float a, float b) { return std::isnan(a) || std::isnan(b); };
  real("eq", [](float a, float b) { return a == b; });
  real("ne", [&](float a, float b) { return !none(a, b) && a != b; });
  real("lt", [](float a, float b) { return a < b; });
  real("ge", [](float a, float b) { return a >= b; });
  real("equ", [&](float a, float b) { return none(a, b) || a == b; });
  real("neu", [&](float a, float b) { return a != b; });
  real("ltu", [&](float a, float b) { return none(a, b) || a < b; });
  real("gtu", [&](float a, float b) { return none(a, b) || a > b; });
  real("num", [&](float a, float b) { return !none(a, b); });
  real("nan", [&](float a, float b) { return none(a, b); });
  auto whole = integers();
  auto integer = [&](const char *name, const std::function<bool(uint32_t, uint32_t)> &expected) {
    expectAll(std::string("setp.") + name + " %p0, %r1, %r2;", "%p0", whole,
              [&](const Row &row) { return uint64_t(expected(w(row[0]), w(row[1]))); });
  };
  integer("lt.s32", [](uint32_t a, uint32_t b) { return s(a) < s(b); });
  integer("lt.u32", [](uint32_t a, uint32_t b) { return a < b; });
  integer("hi.u32", [](uint32_t a, uint32_t b) { return a > b; });
  integer("ls.u32", [](uint32_t a, uint32_t b) { return a <= b; });
  integer("ne.b32", [](uint32_t a, uint32_t b) { return a != b; });
  expectAll("setp.gt.s32 %p1, %r3, 0; setp.lt.and.s32 %p2|%p0, %r1, %r2, %p1;", "%p0", whole,
            [](const Row &row) { return uint64_t(!(s(row[0]) < s(row[1])) && s(row[2]) > 0); });
  expectAll("setp.gt.s32 %p1, %r3, 0; setp.lt.xor.s32 %p0, %r1, %r2, !%p1;", "%p0", whole,
            [](const Row &row) { return uint64_t((s(row[0]) < s(row[1])) != !(s(row[2]) > 0)); });
  expectAll("setp.lt.u32 %p1, %r1, %r2; setp.lt.u32 %p2, %r2, %r3; and.pred %p3, %p1, %p2; not.pred %p0, %p3;", "%p0",
            whole, [](const Row &row) { return uint64_t(!(w(row[0]) < w(row[1]) && w(row[1]) < w(row[2]))); });
}

// Enumerates the format's values in order, to find the nearest.
struct Format {
  int exponentBits, mantissaBits;
  float value(uint32_t bits) const {
    int bias = (1 << (exponentBits - 1)) - 1;
    auto exponent = static_cast<int>(bits >> mantissaBits & ((1u << exponentBits) - 1));
    auto mantissa = static_cast<float>(bits & ((1u << mantissaBits) - 1));
    float magnitude = exponent ? std::ldexp(1 + std::ldexp(mantissa, -mantissaBits), exponent - bias)
                               : std::ldexp(mantissa, 1 - bias - mantissaBits);
    return bits >> (exponentBits + mantissaBits) ? -magnitude : magnitude;
  }
  uint32_t infinity() const { return ((1u << exponentBits) - 1) << mantissaBits; }
  // Rounds to nearest, ties to even, as the standard defines it: the overflow threshold is half a unit above the
  // largest.
  uint16_t nearest(double x) const {
    if (std::isnan(x))
      return 0x7fff;
    uint32_t low = 0, high = infinity(), sign = std::signbit(x) ? 0x8000 : 0;
    double magnitude = std::fabs(x);
    while (low + 1 < high) {
      uint32_t middle = (low + high) / 2;
      (value(middle) <= magnitude ? low : high) = middle;
    }
    double below = value(low);
    double above = high == infinity() ? std::ldexp(1.0, 1 << (exponentBits - 1)) : double(value(high));
    double tie = (below + above) / 2;
    bool up = magnitude > tie || (magnitude == tie && (low & 1));
    return static_cast<uint16_t>(sign | (up ? high : low));
  }
};
const Format kHalf{5, 10}, kBrain{8, 7};

std::vector<Row> narrow() {
  std::vector<Row> rows = floats();
  std::mt19937 random(3);
  while (rows.size() < 1000) {
    // Numbers near the midpoint of two f16 neighbours, and of two bf16 neighbours.
    uint32_t half = random() % 0x7bff;
    float middle = (kHalf.value(half) + kHalf.value(half + 1)) / 2;
    float near = std::nextafter(middle, random() % 2 ? INFINITY : -INFINITY);
    uint32_t brain = (random() & 0x7fff0000) | 0x8000;
    rows.push_back({std::bit_cast<uint32_t>(random() % 2 ? middle : near), brain + random() % 3 - 1, random()});
  }
  return rows;
}

TEST_F(ArithmeticTest, ConversionsTo16Bits) {
  auto rows = narrow();
  expectAll("cvt.rn.f16.f32 %rs0, %f1;", "%rs0", rows, [](const Row &row) { return kHalf.nearest(f(row[0])); });
  expectAll("cvt.rn.bf16.f32 %rs0, %f2;", "%rs0", rows, [](const Row &row) { return kBrain.nearest(f(row[1])); });
  expectAll("cvt.rn.bf16x2.f32 %r0, %f1, %f2;", "%r0", rows,
            [](const Row &row) { return uint64_t(kBrain.nearest(f(row[0]))) << 16 | kBrain.nearest(f(row[1])); });
  expectAll("cvt.rn.f16x2.f32 %r0, %f1, %f2;", "%r0", rows,
            [](const Row &row) { return uint64_t(kHalf.nearest(f(row[0]))) << 16 | kHalf.nearest(f(row[1])); });
  expectAll("cvt.rn.relu.bf16.f32 %rs0, %f1;", "%rs0", rows,
            [](const Row &row) { return f(row[0]) < 0 ? 0 : kBrain.nearest(f(row[0]) == 0 ? 0.f : f(row[0])); });
  expectAll("cvt.rz.f16.f32 %rs0, %f1;", "%rs0", rows, [](const Row &row) {
    float x = f(row[0]);
    uint32_t nearest = kHalf.nearest(x);
    bool away = !std::isnan(x) && !std::isinf(x) &&
                ((nearest & 0x7fff) == kHalf.infinity() || kHalf.value(nearest & 0x7fff) > std::fabs(x));
    return uint64_t(away ? nearest - 1 : nearest);
  });
  expectAll("cvt.rn.f16.s32 %rs0, %r3;", "%rs0", rows, [](const Row &row) { return kHalf.nearest(s(row[2])); });
  expectAll("cvt.rna.tf32.f32 %r0, %f1;", "%r0", rows, [](const Row &row) {
    float x = f(row[0]);
    return std::isnan(x) || std::isinf(x) ? w(row[0]) : (w(row[0]) + 0x1000) & 0xffffe000;
  });
}

TEST_F(ArithmeticTest, ConversionsFrom16BitsAreExact) {
  for (uint32_t from = 0; from < 65536; from += 1024) {
    std::vector<Row> rows;
    for (uint32_t i = 0; i < 1024; ++i)
      rows.push_back({from + i, 0, 0});
    auto exact = [](const Format &format) {
      return [&format](const Row &row) {
        uint32_t bits = w(row[0]), magnitude = bits & 0x7fff;
        if (magnitude > format.infinity())
          return uint64_t(0x7fffffff);
        return magnitude == format.infinity() ? u(bits >> 15 ? -INFINITY : INFINITY) : u(format.value(bits));
      };
    };
    const char *same = "mov.b32 %r0, %f0; setp.nan.f32 %p1, %f0, %f0; @%p1 mov.u32 %r0, 0x7fffffff;";
    expectAll(std::string("cvt.f32.f16 %f0, %rs1;") + same, "%r0", rows, exact(kHalf));
    expectAll(std::string("cvt.f32.bf16 %f0, %rs1;") + same, "%r0", rows, exact(kBrain));
  }
}

TEST_F(ArithmeticTest, Arithmetic16) {
  std::vector<Row> rows;
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    // The numbers have moderate exponents, so that f64 holds every result exactly.
    auto half = [&] { return uint32_t((random() & 0x83ff) | (8 + random() % 16) << 10); };
    auto brain = [&] { return uint32_t((random() & 0x807f) | (120 + random() % 16) << 7); };
    rows.push_back({half() | half() << 16, brain() | brain() << 16, half() | half() << 16});
  }
  auto h = [](uint64_t bits) { return double(kHalf.value(bits & 0xffff)); };
  auto b = [](uint64_t bits) { return double(kBrain.value(bits & 0xffff)); };
  expectAll("mov.b32 {%rs4, %rs5}, %r1; add.f16 %rs0, %rs4, %rs5;", "%rs0", rows,
            [&](const Row &row) { return kHalf.nearest(h(row[0]) + h(row[0] >> 16)); });
  expectAll("fma.rn.f16 %rs0, %rs1, %rs3, %rs3;", "%rs0", rows,
            [&](const Row &row) { return kHalf.nearest(h(row[0]) * h(row[2]) + h(row[2])); });
  expectAll("mul.f16x2 %r0, %r1, %r3;", "%r0", rows, [&](const Row &row) {
    return uint64_t(kHalf.nearest(h(row[0] >> 16) * h(row[2] >> 16))) << 16 | kHalf.nearest(h(row[0]) * h(row[2]));
  });
  expectAll("mov.b32 {%rs4, %rs5}, %r2; fma.rn.bf16 %rs0, %rs4, %rs5, %rs5;", "%rs0", rows,
            [&](const Row &row) { return kBrain.nearest(b(row[1]) * b(row[1] >> 16) + b(row[1] >> 16)); });
  expectAll("shr.u32 %r4, %r2, 16; shl.b32 %r5, %r2, 16; or.b32 %r4, %r4, %r5; fma.rn.bf16x2 %r0, %r2, %r4, %r2;",
            "%r0", rows, [&](const Row &row) {
              double low = b(row[1]), high = b(row[1] >> 16);
              return uint64_t(kBrain.nearest(low * high + high)) << 16 | kBrain.nearest(low * high + low);
            });
  expectAll("neg.bf16 %rs0, %rs2;", "%rs0", rows, [](const Row &row) { return (row[1] ^ 0x8000) & 0xffff; });
  expectAll("max.f16x2 %r0, %r1, %r3;", "%r0", rows, [&](const Row &row) {
    auto larger = [&](uint64_t x, uint64_t y) { return (h(x) > h(y) ? x : y) & 0xffff; };
    return larger(row[0] >> 16, row[2] >> 16) << 16 | larger(row[0], row[2]);
  });
  expectAll("setp.gt.f16 %p0, %rs1, %rs3;", "%p0", rows,
            [&](const Row &row) { return uint64_t(h(row[0]) > h(row[2])); });
}

TEST_F(ArithmeticTest, ConversionsBetweenIntegersAndFloats) {
  auto rows = floats();
  auto clamp = [](double x, double low, double high) { return std::isnan(x) ? 0 : std::clamp(x, low, high); };
  expectAll("cvt.rzi.s32.f32 %r0, %f1;", "%r0", rows, [&](const Row &row) {
    return uint64_t(uint32_t(int64_t(clamp(std::trunc(f(row[0])), INT32_MIN, INT32_MAX))));
  });
  expectAll("cvt.rni.s32.f32 %r0, %f1;", "%r0", rows, [&](const Row &row) {
    return uint64_t(uint32_t(int64_t(clamp(std::nearbyint(f(row[0])), INT32_MIN, INT32_MAX))));
  });
  expectAll("cvt.rmi.u32.f32 %r0, %f1;", "%r0", rows,
            [&](const Row &row) { return uint64_t(clamp(std::floor(f(row[0])), 0, UINT32_MAX)); });
  expectAll("cvt.rn.f32.s32 %f0, %r1;", "%f0", integers(), [](const Row &row) { return u(float(s(row[0]))); });
  expectAll("cvt.rn.f32.u64 %f0, %rd1;", "%f0", integers(), [](const Row &row) { return u(float(row[0])); });
  expectAll("cvt.rn.f64.s64 %fd0, %rd1;", "%fd0", integers(),
            [](const Row &row) { return std::bit_cast<uint64_t>(double(l(row[0]))); });
  expectAll("cvt.rn.f64.u32 %fd4, %r1; fma.rn.f64 %fd0, %fd4, %fd4, %fd4;", "%fd0", integers(), [](const Row &row) {
    auto x = double(w(row[0]));
    return std::bit_cast<uint64_t>(std::fma(x, x, x));
  });
}

} // namespace
} // namespace heddle::test
