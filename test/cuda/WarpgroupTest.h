// A kernel of one or several warpgroups that multiplies two matrices of small integers with wgmma.
#pragma once

#include "test/cuda/EmulatorTest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace heddle::test {

// The layout of an operand in shared memory, as in the PTX ISA: eight rows of `row` bytes form an atom. A row consists
// of 16-byte pieces, which are swizzled by the row's number. `transposed` means MN-major.
struct SharedLayout {
  bool transposed = false;
  unsigned row = 128;    // bytes; 16: not swizzled
  unsigned leading = 16; // bytes
  unsigned stride = 1024;
  unsigned base = 0; // bytes from the beginning of shared memory

  // Returns the byte offset of element (mn, k), which has `bytes`. In K-major layouts, k stays within one row.
  unsigned at(unsigned mn, unsigned k, unsigned bytes) const {
    unsigned along = transposed ? mn : k, across = transposed ? k : mn;
    unsigned piece = along * bytes / 16, pieces = row / 16;
    unsigned inRow = (piece % pieces ^ across % 8 * row / 128) * 16 + along * bytes % 16;
    unsigned far = row == 16 && transposed ? stride : leading, atom = row == 16 && transposed ? leading : stride;
    return base + across / 8 * atom + across % 8 * row + piece / pieces * far + inRow;
  }
  // Returns the descriptor of step `step` along k.
  uint64_t descriptor(unsigned step) const {
    unsigned atK = row == 16 ? 2 * leading * step : transposed ? 2 * stride * step : 32 * step;
    uint64_t kind = row == 16 ? 0 : row == 128 ? 1 : row == 64 ? 2 : 3;
    return (base + atK) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | kind << 62;
  }
};

struct WarpgroupCase {
  SharedLayout a, b;
  unsigned n = 64, steps = 4; // `steps` of 32 bytes along k
  std::string type = "bf16";
  bool registersOfA = false;
  bool adds = false; // accumulates onto existing sums, all 5
  int scaleA = 1, scaleB = 1;
  unsigned threads = 128;

  unsigned bytes() const { return type == "tf32" ? 4 : 2; } // of an element
  unsigned depthOfStep() const { return 32 / bytes(); }
  unsigned depth() const { return steps * depthOfStep(); }
};

class WarpgroupTest : public EmulatorTest {
protected:
  static constexpr unsigned kBytes = 48 << 10;

  static uint32_t encode(const std::string &type, int value) {
    auto real = static_cast<float>(value);
    if (type == "tf32")
      return std::bit_cast<uint32_t>(real) | 0x1fff; // wgmma ignores these bits
    if (type == "bf16")
      return static_cast<uint16_t>(std::bit_cast<uint32_t>(real) >> 16);
    if (value == 0)
      return 0;
    int exponent = 0;
    float mantissa = std::frexp(std::fabs(real), &exponent);
    return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | (int(mantissa * 2048) & 1023));
  }

  // Fills the operands, and the rest of shared memory with NaN.
  void fill(const WarpgroupCase &what) {
    unsigned depth = what.depth(), bytes = what.bytes();
    for (auto *matrix : {&a, &b}) {
      matrix->resize(size_t(matrix == &a ? 64 : what.n) * depth);
      for (int &value : *matrix)
        value = static_cast<int>(random() % 9) - 4;
    }
    image.assign(kBytes / 2, 0x7fff);
    auto put = [&](unsigned at, int value) {
      uint32_t bits = encode(what.type, value);
      std::memcpy(reinterpret_cast<char *>(image.data()) + at, &bits, bytes);
    };
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned m = 0; m < 64 && !what.registersOfA; ++m)
        put(what.a.at(m, k, bytes), a[m * depth + k]);
      for (unsigned n = 0; n < what.n; ++n)
        put(what.b.at(n, k, bytes), b[n * depth + k]);
    }
    // Fragments are laid out as for mma.m16n8k16, or m16n8k8 for tf32, for each warp's 16 rows.
    unsigned together = 4 / bytes; // elements of a register
    fragments.assign(size_t(what.threads) * what.steps * 4, 0);
    for (unsigned thread = 0; thread < what.threads; ++thread)
      for (unsigned i = 0; i < what.steps * 4 * together; ++i) {
        unsigned lane = thread % 32, r = i / together % 4;
        unsigned row = thread / 32 % 4 * 16 + lane / 4 + r % 2 * 8;
        unsigned column = i / (4 * together) * what.depthOfStep() + together * (lane % 4 + r / 2 * 4) + i % together;
        fragments[thread * what.steps * 4 + i / together] |= encode(what.type, a[row * depth + column])
                                                             << (16 * (i % together));
      }
  }

  static std::string list(const std::string &name, unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", " : "") + name + std::to_string(first + i);
    return text + "}";
  }

  // The form in which LLVM prints inline assembly.
  static std::string multiplication(const WarpgroupCase &what, unsigned step) {
    std::string n = std::to_string(what.n), adds = what.adds || step ? "1" : "0";
    std::string shape = "m64n" + n + "k" + std::to_string(what.depthOfStep()) + ".f32." + what.type + "." + what.type;
    std::string text = "  add.s64 %rd5, %rd4, " + std::to_string(int64_t(what.a.descriptor(step))) +
                       ";\n  add.s64 %rd6, %rd4, " + std::to_string(int64_t(what.b.descriptor(step))) +
                       ";\n  mov.u32 %r9, " + adds + ";\n  // begin inline asm\n  {\n.reg .pred p;\n" +
                       "setp.ne.b32 p, %r9, 0;\nwgmma.mma_async.sync.aligned." + shape + " " +
                       list("%f", 0, what.n / 2) + ", ";
    text += what.registersOfA ? list("%r", 20 + 4 * step, 4) : "%rd5";
    text += ", %rd6, p, " + std::to_string(what.scaleA) + ", " + std::to_string(what.scaleB);
    bool hasFlags = what.type != "tf32";
    if (hasFlags && !what.registersOfA)
      text += what.a.transposed ? ", 1" : ", 0";
    if (hasFlags)
      text += what.b.transposed ? ", 1" : ", 0";
    return text + ";\n}\n  // end inline asm\n";
  }

  static std::string program(const WarpgroupCase &what) {
    std::string bytes = std::to_string(kBytes), stride = std::to_string(16 * what.threads);
    std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                       R"(
.visible .entry k(.param .u64 in, .param .u64 fragments, .param .u64 out)
{
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<128>;
  .reg .pred %p<4>;
  .shared .align 1024 .b8 sh[)" +
                       bytes + R"(];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [in];
  mov.u32 %r1, sh;
  shl.b32 %r2, %r0, 4;
  cvt.u64.u32 %rd2, %r2;
  add.s64 %rd2, %rd2, %rd1;
  add.u32 %r3, %r1, %r2;
  mov.u32 %r4, 0;
copy:
  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2];
  st.shared.v4.u32 [%r3], {%r5, %r6, %r7, %r8};
  add.s64 %rd2, %rd2, )" +
                       stride + ";\n  add.u32 %r3, %r3, " + stride + ";\n  add.u32 %r4, %r4, " + stride +
                       ";\n  setp.lt.u32 %p1, %r4, " + bytes + R"(;
  @%p1 bra copy;
  fence.proxy.async;
  bar.sync 0;
  ld.param.u64 %rd3, [fragments];
  mad.wide.u32 %rd3, %r0, )" +
                       std::to_string(16 * what.steps) + ", %rd3;\n";
    for (unsigned step = 0; step < what.steps; ++step)
      text += "  ld.global.v4.u32 " + list("%r", 20 + 4 * step, 4) + ", [%rd3+" + std::to_string(16 * step) + "];\n";
    for (unsigned i = 0; i < what.n / 2; ++i)
      text += "  mov.f32 %f" + std::to_string(i) + ", 0f40A00000;\n";
    text += "  shr.u32 %r5, %r1, 4;\n  cvt.u64.u32 %rd4, %r5;\n  wgmma.fence.sync.aligned;\n";
    for (unsigned step = 0; step < what.steps; ++step)
      text += multiplication(what, step);
    text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n  ld.param.u64 %rd7, [out];\n"
            "  mad.wide.u32 %rd7, %r0, " +
            std::to_string(2 * what.n) + ", %rd7;\n";
    for (unsigned i = 0; i < what.n / 2; ++i)
      text += "  st.global.f32 [%rd7+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
    return text + "  ret;\n}\n";
  }

  int run(const WarpgroupCase &what, const std::string &ptx, std::string &message) {
    fill(what);
    uint64_t in = upload(image), registers = upload(fragments);
    out = allocate(size_t(what.threads) * what.n * 2);
    return launchFaulty(message, kernel(ptx), {}, {what.threads}, 0, in, registers, out);
  }

  uint64_t out = 0;
  std::vector<int> a, b;
  std::vector<uint16_t> image;
  std::vector<uint32_t> fragments;
  std::mt19937 random{11};
};

} // namespace heddle::test
