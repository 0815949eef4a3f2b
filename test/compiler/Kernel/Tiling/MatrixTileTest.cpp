// The cost model of matmuls on processors: the register tiles that it chooses for a thread.
#include "compiler/Kernel/Tiling/Frames/MatrixTile.h"
#include "compiler/Target/CPU/CpuBackend.h"

#include <gtest/gtest.h>

namespace mlir::heddle {
namespace {

const TargetProfile &profileOf(StringRef name) {
  for (const TargetProfile &profile : getCpuProfiles())
    if (profile.name == name)
      return profile;
  ADD_FAILURE() << "no target " << name.str();
  return getCpuProfiles().front();
}

// 2016 is a multiple of 6 and of 14, and 512 of every vector's width.
Product product(int64_t vector, bool transposeRhs = false) {
  return {.m = 2016, .n = 512, .k = 512, .vector = vector, .transposeLhs = false, .transposeRhs = transposeRhs};
}

// Here `whole` counts rows, and `distributed` columns.
TEST(ThreadTile, FillsTheRegistersOfEachTarget) {
  EXPECT_EQ(chooseTile(profileOf("cpu:x86-64-v3"), product(8), nullptr), (MatrixTile{6, 16}));
  EXPECT_EQ(chooseTile(profileOf("cpu:x86-64-v4"), product(16), nullptr), (MatrixTile{14, 32}));
}

TEST(ThreadTile, NoCandidateNeedsMoreRegistersThanThereAre) {
  for (const TargetProfile &profile : getCpuProfiles()) {
    std::vector<MatrixTile> tiles = candidateTiles(profile, product(profile.vector), 1000);
    ASSERT_FALSE(tiles.empty());
    for (MatrixTile tile : tiles) {
      ASSERT_EQ(tile.distributed % profile.vector, 0);
      int64_t vectors = tile.distributed / profile.vector;
      EXPECT_LE(tile.whole * vectors + vectors + 1, profile.registers)
          << profile.name.str() << ": " << tile.whole << " x " << tile.distributed;
    }
  }
}

// Tiles of eight rows of a vector cost as much as those of two rows of four vectors, but a call with fewer rows needs all
// eight of the former.
TEST(ThreadTile, OfEqualCostsTheFewestRowsAreTaken) {
  const TargetProfile &profile = profileOf("cpu:x86-64-v3");
  Product few = {.m = 8, .n = 64, .k = 64, .vector = 8, .panel = 64};
  EXPECT_EQ(costOfTile(profile, few, {8, 8}), costOfTile(profile, few, {2, 32}));
  EXPECT_EQ(chooseTile(profile, few, nullptr), (MatrixTile{2, 32}));
}

// If the right operand is transposed, `whole` counts columns and `distributed` rows.
TEST(ThreadTile, ATransposedRightSideTurnsTheTile) {
  EXPECT_EQ(chooseTile(profileOf("cpu:x86-64-v3"), product(8, true), nullptr), (MatrixTile{8, 14}));
  EXPECT_EQ(chooseTile(profileOf("cpu:x86-64-v4"), product(16, true), nullptr), (MatrixTile{16, 28}));
}

TEST(ThreadTile, CandidatesAreInTheOrderOfTheirCosts) {
  const TargetProfile &profile = profileOf("cpu:x86-64-v3");
  double last = 0;
  for (MatrixTile tile : candidateTiles(profile, product(8), 1000)) {
    double cost = costOfTile(profile, product(8), tile);
    EXPECT_LE(last, cost);
    last = cost;
  }
}

// A tile of one row and one vector is bound by its loads: two per multiplication.
TEST(ThreadTile, ANarrowTileCostsItsLoads) {
  const TargetProfile &profile = profileOf("cpu:x86-64-v3");
  double one = costOfTile(profile, product(8), {1, 8}), best = costOfTile(profile, product(8), {6, 16});
  EXPECT_GT(one, 1.5 * best);
}

// Rows past the last whole tile cost as much as a whole tile.
TEST(ThreadTile, RaggedTilesCountAsWhole) {
  const TargetProfile &profile = profileOf("cpu:x86-64-v3");
  Product ragged = product(8), whole = product(8);
  ragged.m = 2011;
  EXPECT_EQ(costOfTile(profile, ragged, {6, 16}), costOfTile(profile, whole, {6, 16}));
}

// Transposing takes additional time.
TEST(ThreadTile, TransposingCosts) {
  const TargetProfile &profile = profileOf("cpu:x86-64-v3");
  EXPECT_GT(costOfTile(profile, product(8, true), {16, 6}), costOfTile(profile, product(8), {6, 16}));
}

TEST(ThreadTile, AMeasuredTileIsTakenIfItFits) {
  const TargetProfile &profile = profileOf("cpu:x86-64-v3");
  TileChoices choices;
  std::string name = (profile.name + " " + product(8).describe()).str();
  choices.measured[name] = {4, 16};
  EXPECT_EQ(chooseTile(profile, product(8), &choices), (MatrixTile{4, 16}));
  choices.measured[name] = {7, 16}; // 17 registers
  EXPECT_EQ(chooseTile(profile, product(8), &choices), (MatrixTile{6, 16}));
  EXPECT_TRUE(choices.asked.contains(name));
}

} // namespace
} // namespace mlir::heddle
