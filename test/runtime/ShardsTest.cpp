// The rows of a sharded variable that each rank keeps: together they cover all rows; each part is a whole number of
// workgroups' rows and begins at an aligned byte.
#include "runtime/session/Shards.h"
#include "runtime/schema/Constants.h"
#include "test/runtime/ArtifactBuilder.h"

#include <gtest/gtest.h>
#include <numeric>

namespace heddle {
namespace {

class Rank final : public Collectives {
public:
  Rank(uint32_t number, uint32_t count) : number(number), count(count) {}
  uint32_t rank() const override { return number; }
  uint32_t ranks() const override { return count; }
  Status sum(std::span<float>, std::string_view) override { return Success(); }
  Status gather(std::span<const std::byte>, std::span<std::byte>, std::string_view) override { return Success(); }
  Status broadcast(std::span<std::byte>, std::string_view) override { return Success(); }

private:
  uint32_t number, count;
};

constexpr uint32_t kState = 1; // the adder's `total`

// Returns an artifact with a state of `rows` x `columns`, shared out by launches in units of `tile` rows.
std::vector<std::byte> artifactOf(int64_t rows, int64_t columns, std::vector<uint32_t> tiles) {
  return test::changed(test::buildAdder(), [&](schema::ModuleT &module) {
    schema::VariableT &state = *module.variables[kState];
    state.type->dims = {schema::Dim(-1, rows), schema::Dim(-1, columns)};
    state.bytes = uint64_t(rows * columns) * sizeof(float);
    state.sharded = true;
    auto &launches = module.entries[0]->launches;
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (i == launches.size())
        launches.push_back(std::make_unique<schema::LaunchT>(*launches[0]));
      launches[i]->bindings = {schema::Binding(schema::Space::Variable, kState, 0, state.bytes)};
      launches[i]->shard = std::make_unique<schema::ShardT>();
      launches[i]->shard->variable = kState;
      launches[i]->shard->tile = tiles[i];
    }
  });
}

TEST(ShardsTest, ranksKeepAllRowsTogether) {
  for (auto [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {64, 64}, {123, 64}, {180, 64}, {64, 180}, {4096, 1}, {320, 1}, {2, 64}})
    for (const auto &tiles : std::vector<std::vector<uint32_t>>{{1}, {4}, {3, 4}, {128}})
      for (uint32_t count : {1, 2, 3, 4, 7, 16}) {
        std::vector<std::byte> bytes = artifactOf(rows, columns, tiles);
        const schema::Module &module = *schema::GetModule(bytes.data());
        Rank first(0, count);
        Shards shards(module, &first);
        uint64_t covered = 0, rowBytes = uint64_t(columns) * sizeof(float), kept = shards.ownRows(kState).count;
        for (uint32_t rank = 0; rank < count; ++rank) {
          Shards::Rows own = shards.rowsOf(kState, rank);
          ASSERT_LE(own.first, covered) << "a gap";
          ASSERT_LE(own.first + own.count, uint64_t(rows));
          ASSERT_EQ(own.count, kept);
          ASSERT_EQ(own.first * rowBytes % schema::kShardAlignment, 0u);
          for (uint32_t tile : tiles)
            ASSERT_TRUE(own.count % tile == 0 || own.count == uint64_t(rows));
          covered = std::max(covered, own.first + own.count);
        }
        // At each byte between the parts' boundaries, the listed ranks are those whose parts contain the byte.
        uint64_t at = 0;
        for (const Shards::Segment &segment : shards.segments(kState, uint64_t(rows) * rowBytes)) {
          ASSERT_EQ(segment.range.offset, at);
          ASSERT_GT(segment.range.bytes, 0u);
          at += segment.range.bytes;
          for (uint64_t row : {segment.range.offset / rowBytes, at / rowBytes - 1}) {
            std::vector<uint32_t> owners;
            for (uint32_t rank = 0; rank < count; ++rank)
              if (Shards::Rows own = shards.rowsOf(kState, rank); row >= own.first && row < own.first + own.count)
                owners.push_back(rank);
            ASSERT_EQ(segment.rank, owners.front());
            ASSERT_EQ(segment.isShared, owners.size() > 1);
          }
        }
        EXPECT_EQ(at, uint64_t(rows) * rowBytes);
        EXPECT_EQ(covered, uint64_t(rows)) << rows << " x " << columns << ", " << count << " ranks";
        EXPECT_EQ(shards.has(kState), count > 1);
        // A part exceeds the fair share by at most one unit.
        uint64_t unit = schema::kShardAlignment / std::gcd(schema::kShardAlignment, rowBytes);
        for (uint32_t tile : tiles)
          unit = std::lcm(unit, uint64_t(tile));
        EXPECT_LT(kept * count, uint64_t(rows) + count * unit);
      }
}

// Ranks with two kinds of devices keep the same rows.
TEST(ShardsTest, allTargetsCount) {
  std::vector<std::byte> bytes = test::changed(test::buildAdder({.ownEntries = true}), [&](schema::ModuleT &module) {
    schema::VariableT &state = *module.variables[kState];
    state.type->dims = {schema::Dim(-1, 96), schema::Dim(-1, 64)};
    state.bytes = 96 * 64 * sizeof(float);
    state.sharded = true;
    uint32_t tile = 8;
    for (schema::EntryT *entry : {module.entries[0].get(), module.targets[1]->entries[0].get()}) {
      entry->launches[0]->bindings = {schema::Binding(schema::Space::Variable, kState, 0, state.bytes)};
      entry->launches[0]->shard = std::make_unique<schema::ShardT>();
      entry->launches[0]->shard->variable = kState;
      entry->launches[0]->shard->tile = tile;
      tile = 12;
    }
  });
  Rank self(0, 3);
  EXPECT_EQ(Shards(*schema::GetModule(bytes.data()), &self).ownRows(kState).count, 48u);
}

// 16-bit moments have half the bytes of an average, but the same rows.
TEST(ShardsTest, allStatesOfAnUpdateHaveTheSameRows) {
  for (uint32_t tile : {1, 3, 4}) {
    std::vector<std::byte> bytes = artifactOf(128, 32, {tile});
    bytes = test::changed(bytes, [&](schema::ModuleT &module) {
      auto moment = std::make_unique<schema::VariableT>(*module.variables[kState]);
      moment->name = "moment";
      moment->type->element = schema::ElementType::BF16;
      moment->bytes /= 2;
      module.variables.push_back(std::move(moment));
      module.entries[0]->launches[0]->bindings.emplace_back(schema::Space::Variable,
                                                            uint32_t(module.variables.size() - 1), 0, 128 * 32 * 2);
    });
    const schema::Module &module = *schema::GetModule(bytes.data());
    uint32_t moment = module.variables()->size() - 1;
    for (uint32_t count : {2, 3, 7})
      for (uint32_t rank = 0; rank < count; ++rank) {
        Rank self(rank, count);
        Shards shards(module, &self);
        EXPECT_EQ(shards.ownRows(kState).first, shards.ownRows(moment).first);
        EXPECT_EQ(shards.ownRows(kState).count, shards.ownRows(moment).count);
        EXPECT_EQ(shards.ownRange(moment, 128 * 32 * 2).offset % schema::kShardAlignment, 0u);
      }
  }
}

TEST(ShardsTest, partsAreAssembled) {
  std::vector<std::byte> bytes = artifactOf(123, 64, {4});
  const schema::Module &module = *schema::GetModule(bytes.data());
  constexpr uint32_t count = 3;
  std::vector<float> expected(123 * 64), whole(expected.size());
  std::iota(expected.begin(), expected.end(), 0.0f);
  std::vector<std::byte> parts;
  uint64_t stride = 0;
  for (uint32_t rank = 0; rank < count; ++rank) {
    Rank self(rank, count);
    Shards::Range own = Shards(module, &self).ownRange(kState, expected.size() * sizeof(float));
    auto of = std::as_bytes(std::span(expected)).subspan(own.offset, own.bytes);
    parts.insert(parts.end(), of.begin(), of.end());
    stride = own.bytes;
  }
  Rank self(1, count);
  Shards(module, &self).assemble(kState, parts, stride, std::as_writable_bytes(std::span(whole)));
  EXPECT_EQ(whole, expected);
}

} // namespace
} // namespace heddle
