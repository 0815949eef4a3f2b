#include "tools/heddle-compile/page/ArenaRanges.h"
#include "tools/heddle-compile/page/PackedTexts.h"

#include "llvm/Support/Base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

using namespace mlir::heddle;

namespace {

std::string unpack(const std::string &packed, size_t size) {
  std::vector<char> bytes;
  EXPECT_FALSE(llvm::errorToBool(llvm::decodeBase64(packed, bytes)));
  std::string text(size, '\0');
  uLongf length = size;
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef *>(text.data()), &length, reinterpret_cast<const Bytef *>(bytes.data()),
                       bytes.size()),
            Z_OK);
  EXPECT_EQ(length, size);
  return text;
}

TEST(PackedTexts, ComeBack) {
  for (std::string text : {std::string(), std::string("</script><b>&"), std::string("\0\xff\n", 3),
                           std::string(1 << 20, 'a'), std::string("%DATA%")}) {
    std::string packed = packText(text);
    EXPECT_EQ(unpack(packed, text.size()), text);
    EXPECT_EQ(packed.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
              std::string::npos);
  }
}

RC_GTEST_PROP(PackedTexts, AnyTextComesBack, (const std::string &text)) {
  RC_ASSERT(unpack(packText(text), text.size()) == text);
}

TEST(PackedTexts, EqualOnesAreOne) {
  PackedTexts texts;
  EXPECT_EQ(texts.add("a"), 0u);
  EXPECT_EQ(texts.add("b"), 1u);
  EXPECT_EQ(texts.add("a"), 0u);
  EXPECT_EQ(texts.get().size(), 2u);
}

/// Returns "offset+bytes: first to last" for each range.
std::vector<std::string> describe(const ArenaRanges &ranges) {
  std::vector<std::string> all;
  for (const ArenaRange &range : ranges.getRanges())
    all.push_back(std::to_string(range.place.offset) + "+" + std::to_string(range.place.bytes) + ": " +
                  std::to_string(range.first) + " to " + std::to_string(range.last) +
                  (range.port.empty() ? "" : " " + range.port) + (range.isMade ? "" : " given"));
  return all;
}
using Strings = std::vector<std::string>;

TEST(ArenaRanges, AValueLivesFromItsLaunchToItsLastReader) {
  ArenaRanges ranges;
  ranges.addInput("x", {0, 8});
  ranges.addInput("unused", {100, 4});
  ranges.addStep({{0, 8}}, {{16, 8}});
  ranges.addStep({{0, 8}}, {{32, 8}});
  ranges.addStep({{16, 8}, {32, 8}}, {{48, 8}});
  ranges.addStep({{32, 8}}, {{64, 4}});
  ranges.addOutput("y", {48, 8});
  EXPECT_EQ(describe(ranges), (Strings{"0+8: 0 to 1 x given", "100+4: 0 to 0 unused given", "16+8: 0 to 2",
                                       "32+8: 1 to 3", "48+8: 2 to 3 y", "64+4: 3 to 3"}));
  EXPECT_EQ(ranges.findPeak().step, 1); // steps at the peak hold x, 16+8 and 32+8
  EXPECT_EQ(ranges.findPeak().bytes, 24);
}

TEST(ArenaRanges, WhatIsWrittenOverEnds) {
  ArenaRanges ranges;
  ranges.addStep({}, {{0, 16}});
  ranges.addStep({{0, 16}}, {{0, 16}}); // in place
  ranges.addStep({}, {{8, 4}});         // into memory that is free by then
  ranges.addStep({{8, 4}}, {});
  EXPECT_EQ(describe(ranges), (Strings{"0+16: 0 to 1", "0+16: 1 to 1", "8+4: 2 to 3"}));
  EXPECT_EQ(ranges.findPeak().step, 0);
  EXPECT_EQ(ranges.findPeak().bytes, 16); // bytes that are read and overwritten count once
}

TEST(ArenaRanges, PartsMakeAWhole) {
  ArenaRanges ranges;
  ranges.addStep({}, {{0, 8}});
  ranges.addStep({}, {{8, 8}});
  ranges.addStep({{0, 16}}, {{16, 4}});
  EXPECT_EQ(describe(ranges), (Strings{"0+8: 0 to 2", "8+8: 1 to 2", "16+4: 2 to 2"}));
}

TEST(ArenaRanges, NothingHasNoPeak) {
  ArenaRanges ranges;
  ranges.addOutput("y", {0, 4});
  EXPECT_EQ(ranges.findPeak().bytes, 0);
}

} // namespace
