// Tensor maps, and bulk copies that use them.
#include "test/cuda/AsyncTest.h"

#include <functional>

namespace heddle::test {
namespace {

// The arguments of cuTensorMapEncodeTiled.
struct Tiles {
  unsigned type = 2; // u32
  std::vector<uint64_t> dimensions;
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box;
  unsigned swizzle = 0;
  std::vector<uint32_t> steps{1, 1, 1, 1, 1};
  unsigned interleave = 0, fill = 0;
};

class TensorMapTest : public AsyncTest {
protected:
  int encode(const Tiles &tiles, uint64_t address, void *to) {
    return Api::get()("cuTensorMapEncodeTiled", to, tiles.type, static_cast<uint32_t>(tiles.dimensions.size()),
                      reinterpret_cast<void *>(address), tiles.dimensions.data(), tiles.strides.data(),
                      tiles.box.data(), tiles.steps.data(), tiles.interleave, tiles.swizzle, 0u, tiles.fill);
  }
  int encode(const Tiles &tiles) { return encode(tiles, 4096, &map); }

  static std::string list(const std::vector<int> &numbers) {
    std::string text = "{";
    for (size_t i = 0; i < numbers.size(); ++i)
      text += (i ? ", " : "") + std::to_string(numbers[i]);
    return text + "}";
  }
  static std::string rank(const std::vector<int> &at) { return std::to_string(at.size()) + "d"; }
  static std::string load(const std::vector<int> &at, unsigned bytes, const std::string &to = "sh") {
    return "mov.b64 %rd4, map;\ncvta.param.u64 %rd4, %rd4;\nprefetch.tensormap [%rd4];\n" + init("1") +
           "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], " + std::to_string(bytes) +
           ";\n@%p0 cp.async.bulk.tensor." + rank(at) + ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [" +
           to + "], [%rd4, " + list(at) + "], [bar];\n";
  }

  static uint32_t bytesOf(const Tiles &tiles) {
    static const uint32_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    uint32_t bytes = sizes[tiles.type];
    for (size_t i = 0; i < tiles.dimensions.size(); ++i)
      bytes *= i ? (tiles.box[i] + tiles.steps[i] - 1) / tiles.steps[i] : tiles.box[0];
    return bytes;
  }
  // Loads a box of 32-bit elements, and compares it with a plain loop over its elements.
  void checkLoad(const Tiles &tiles, const std::vector<int> &at) {
    std::vector<uint32_t> data(8192);
    for (uint32_t i = 0; i < data.size(); ++i)
      data[i] = 0x10000 + i;
    uint64_t tensor = upload(data);
    ASSERT_EQ(encode(tiles, tensor, &map), emulator::kSuccess);
    uint32_t bytes = bytesOf(tiles), words = bytes / 4;
    ASSERT_LE(words, kOut);
    auto have =
        outputOf(load(at, bytes) + wait("a", "0") +
                     "mov.u32 %r1, sh;\nmad.lo.u32 %r1, %r0, 4, %r1;\nld.shared.u32 %r2, [%r1];\n" + result("%r2"),
                 words, words);
    ASSERT_EQ(have.size(), words);
    for (uint32_t word = 0; word < words; ++word) {
      uint64_t from = 0;
      bool inside = true;
      for (uint32_t i = 0, rest = word; i < tiles.dimensions.size(); ++i) {
        uint32_t count = i ? (tiles.box[i] + tiles.steps[i] - 1) / tiles.steps[i] : tiles.box[0];
        int64_t index = at[i] + int64_t(rest % count) * (i ? tiles.steps[i] : 1);
        rest /= count;
        inside &= index >= 0 && index < int64_t(tiles.dimensions[i]);
        from += static_cast<uint64_t>(index) * (i ? tiles.strides[i - 1] : 4);
      }
      // The 16-byte piece within its row is changed by the row's number: every 128 bytes if the swizzle is 128 wide.
      uint32_t byte = 4 * word;
      if (tiles.swizzle) {
        uint32_t pieces = 1u << tiles.swizzle;
        byte ^= byte / 128 % pieces * 16;
      }
      EXPECT_EQ(have[byte / 4], inside ? data[from / 4] : 0) << "word " << word;
    }
  }
};

TEST_F(TensorMapTest, LoadsBoxes) {
  checkRaces();
  checkLoad({.dimensions = {40}, .strides = {}, .box = {32}}, {4});
  checkLoad({.dimensions = {20, 9}, .strides = {80}, .box = {8, 4}}, {8, 3});
  checkLoad({.dimensions = {8, 6, 5}, .strides = {48, 288}, .box = {4, 3, 2}}, {4, 1, 2});
  checkLoad({.dimensions = {8, 4, 3, 4}, .strides = {32, 128, 384}, .box = {4, 2, 3, 2}}, {0, 1, 0, 1});
  checkLoad({.dimensions = {4, 3, 3, 3, 3}, .strides = {16, 48, 144, 432}, .box = {4, 2, 2, 2, 2}}, {0, 1, 0, 1, 1});
}
TEST_F(TensorMapTest, ZerosOutside) {
  checkLoad({.dimensions = {21, 9}, .strides = {96}, .box = {8, 4}}, {17, 7});
  checkLoad({.dimensions = {21, 9}, .strides = {96}, .box = {8, 4}}, {-3, -2});
  checkLoad({.dimensions = {21, 9}, .strides = {96}, .box = {8, 4}}, {24, 0});
  checkLoad({.dimensions = {6, 3, 2}, .strides = {32, 96}, .box = {8, 4, 4}}, {1, -1, 1});
  checkLoad({.dimensions = {3}, .strides = {}, .box = {8}}, {-2});
}
TEST_F(TensorMapTest, Swizzles) {
  checkLoad({.dimensions = {32, 20}, .strides = {128}, .box = {32, 8}, .swizzle = 3}, {0, 9});
  checkLoad({.dimensions = {50, 20}, .strides = {256}, .box = {16, 16}, .swizzle = 2}, {40, 7});
  checkLoad({.dimensions = {32, 20}, .strides = {128}, .box = {8, 32}, .swizzle = 1}, {-5, -3});
}
TEST_F(TensorMapTest, StepsOverElements) {
  checkLoad({.dimensions = {8, 20, 9}, .strides = {32, 640}, .box = {8, 6, 5}, .steps = {1, 2, 3}}, {0, 1, 2});
}

// Each of two blocks loads half of the rows into both.
TEST_F(TensorMapTest, Multicast) {
  checkRaces();
  std::vector<uint32_t> data(64);
  for (uint32_t i = 0; i < data.size(); ++i)
    data[i] = 1000 + i;
  ASSERT_EQ(encode({.dimensions = {8, 8}, .strides = {32}, .box = {8, 4}}, upload(data), &map), emulator::kSuccess);
  const std::string both = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n";
  const std::string body =
      ".reg .b16 %rs<2>;\nmov.b64 %rd4, map;\ncvta.param.u64 %rd4, %rd4;\nmov.u32 %r8, %cluster_ctarank;\n" +
      init("1") + "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n" + both +
      "mov.u32 %r7, sh;\nmad.lo.u32 %r11, %r8, 128, %r7;\nshl.b32 %r9, %r8, 2;\nmov.u32 %r10, 0;\nmov.u16 %rs1, 3;\n"
      "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%r11], [%rd4, {%r10, %r9}], [bar], %rs1;\n" +
      wait("a", "0") +
      "mad.lo.u32 %r1, %r0, 4, %r7;\nld.shared.u32 %r2, [%r1];\nld.shared.u32 %r3, [%r1+128];\n"
      "mad.lo.u32 %r4, %r8, 64, %r0;\nmad.wide.u32 %rd5, %r4, 4, %rd2;\n"
      "st.global.u32 [%rd5], %r2;\nst.global.u32 [%rd5+128], %r3;\n" +
      both;
  std::string message;
  ASSERT_EQ(runText(program(body, ".reqnctapercluster 2, 1, 1"), 32, message, 2), emulator::kSuccess) << message;
  std::vector<uint32_t> have = download<uint32_t>(out, 128);
  for (uint32_t i = 0; i < have.size(); ++i)
    EXPECT_EQ(have[i], 1000 + i % 64) << i;
}

// A swizzled box goes in and out again. Only the part inside of the tensor is written.
TEST_F(TensorMapTest, StoresBoxes) {
  std::vector<uint32_t> data(128);
  for (uint32_t i = 0; i < data.size(); ++i)
    data[i] = 500 + i;
  uint64_t tensor = upload(data);
  ASSERT_EQ(encode({.dimensions = {10, 5}, .strides = {48}, .box = {8, 4}, .swizzle = 1}, tensor, &map), 0);
  auto have = outputOf(load({0, 0}, 128) + wait("a", "0") +
                           "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {6, 3}], [sh];\n"
                           "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
                       32, 1);
  ASSERT_EQ(have.size(), 1u);
  auto after = download<uint32_t>(tensor, 128);
  for (uint32_t y = 0; y < 10; ++y)
    for (uint32_t x = 0; x < 12; ++x) {
      bool written = y >= 3 && y < 5 && x >= 6 && x < 10;
      EXPECT_EQ(after[12 * y + x], 500 + (written ? 12 * (y - 3) + x - 6 : 12 * y + x)) << x << " " << y;
    }
}

TEST_F(TensorMapTest, ArgumentsOfTheDriver) {
  const Tiles good{.dimensions = {64, 8, 4}, .strides = {256, 2048}, .box = {32, 8, 1}, .swizzle = 3};
  ASSERT_EQ(encode(good), emulator::kSuccess);
  auto refused = [&](const std::function<void(Tiles &)> &change, int error = emulator::kErrorInvalidValue) {
    Tiles tiles = good;
    change(tiles);
    EXPECT_EQ(encode(tiles), error);
  };
  refused([](Tiles &t) { t.type = 13; });
  refused([](Tiles &t) { t.dimensions[1] = 0; });
  refused([](Tiles &t) { t.dimensions[1] = (uint64_t(1) << 32) + 1; });
  refused([](Tiles &t) { t.strides[1] = 2056; });
  refused([](Tiles &t) { t.strides[0] = uint64_t(1) << 40; });
  refused([](Tiles &t) { t.box[1] = 0; });
  refused([](Tiles &t) { t.box[1] = 257; });
  refused([](Tiles &t) { t.box[0] = 36; });
  refused([](Tiles &t) { t.box[0] = 30, t.swizzle = 0; });
  refused([](Tiles &t) { t.steps[1] = 0; });
  refused([](Tiles &t) { t.steps[1] = 9; });
  refused([](Tiles &t) { t.swizzle = 4; });
  refused([](Tiles &t) { t.interleave = 3; });
  refused([](Tiles &t) { t.interleave = 1; }, emulator::kErrorNotSupported);
  refused([](Tiles &t) { t.fill = 1; }, emulator::kErrorNotSupported);
  refused([](Tiles &t) { t.dimensions.clear(); });
  refused(
      [](Tiles &t) { t.dimensions.assign(6, 4), t.strides.assign(5, 16), t.box.assign(6, 4), t.steps.assign(6, 1); });
  EXPECT_EQ(encode(good, 4104, &map), emulator::kErrorInvalidValue);
  EXPECT_EQ(encode(good, 0, &map), emulator::kErrorInvalidValue);
  EXPECT_EQ(encode(good, 4096, reinterpret_cast<char *>(&map) + 16), emulator::kErrorInvalidValue);
}

// Faults.

TEST_F(TensorMapTest, FaultsOfCopies) {
  const Tiles tiles{.dimensions = {20, 9}, .strides = {80}, .box = {8, 4}};
  auto prepare = [&] { // a fault frees all memory
    uint64_t tensor = upload(std::vector<uint32_t>(180, 3));
    ASSERT_EQ(encode(tiles, tensor, &map), emulator::kSuccess);
  };
  const std::string end = wait("a", "0");
  prepare();
  expectFine(load({8, 3}, 128) + end);
  prepare();
  expectFault(load({8, 3}, 112) + end, "has 16 bytes more than it expects");
  prepare();
  expectFault(load({8, 3}, 128, "sh+64") + end, "shared address 0x440 is not aligned to 128 bytes",
              emulator::kErrorMisalignedAddress);
  prepare();
  expectFault(load({8, 3}, 128) + "bar.sync 0;\nld.shared.u32 %r1, [sh+64];", "may still be writing",
              emulator::kErrorIllegalAddress);
  prepare();
  expectFault(load({8}, 128) + end, "the tensor has 2 dimensions, not 1", emulator::kErrorIllegalAddress);
  map.words[1] ^= 16;
  expectFault(load({8, 3}, 128) + end, "no tensor map is at address", emulator::kErrorIllegalAddress);
  // The tensor is larger than its allocation.
  uint64_t tensor = upload(std::vector<uint32_t>(100, 3));
  ASSERT_EQ(encode(tiles, tensor, &map), emulator::kSuccess);
  expectFault(load({8, 6}, 128) + end, "read of 16 bytes at global address", emulator::kErrorIllegalAddress);
}

} // namespace
} // namespace heddle::test
