// Which launches wait for which earlier ones, by the memory that they read and write.
#include "runtime/session/LaunchOrder.h"
#include "test/runtime/ArtifactBuilder.h"

#include <gtest/gtest.h>

using namespace heddle;

namespace {

// Entry `add` with launches that read 32 bytes of the arena at `read` and write 32 bytes at `written`.
std::vector<std::vector<uint32_t>> orderOf(const std::vector<std::pair<uint64_t, uint64_t>> &launches) {
  std::vector<std::byte> bytes = test::changed(test::buildAdder(), [&](schema::ModuleT &module) {
    schema::EntryT &entry = *module.entries[0];
    schema::LaunchT like = *entry.launches[0];
    entry.launches.clear();
    for (auto [read, written] : launches) {
      auto launch = std::make_unique<schema::LaunchT>(like);
      launch->bindings[0] = launch->bindings[1] = schema::Binding(schema::Space::Arena, 0, read, 32);
      launch->bindings[2] = schema::Binding(schema::Space::Arena, 0, written, 32);
      entry.launches.push_back(std::move(launch));
    }
  });
  const schema::Module &module = *schema::GetModule(bytes.data());
  return launchOrder(module, *module.entries()->Get(0));
}

using Order = std::vector<std::vector<uint32_t>>;

TEST(LaunchOrder, WaitsForMemory) {
  EXPECT_EQ(orderOf({{0, 100}, {100, 200}}), (Order{{}, {0}})) << "reads what was written";
  EXPECT_EQ(orderOf({{0, 100}, {200, 0}}), (Order{{}, {0}})) << "writes what is read";
  EXPECT_EQ(orderOf({{0, 100}, {200, 100}}), (Order{{}, {0}})) << "writes what was written";
  EXPECT_EQ(orderOf({{0, 100}, {0, 200}}), (Order{{}, {}})) << "both read the same";
  EXPECT_EQ(orderOf({{0, 100}, {131, 200}}), (Order{{}, {0}})) << "a byte of it";
  EXPECT_EQ(orderOf({{0, 100}, {132, 200}}), (Order{{}, {}})) << "the byte behind it";
}

TEST(LaunchOrder, LeavesOutWhatOthersWaitFor) {
  EXPECT_EQ(orderOf({{0, 100}, {100, 200}, {200, 100}}), (Order{{}, {0}, {1}}));
  EXPECT_EQ(orderOf({{0, 100}, {0, 200}, {100, 300}, {200, 0}}), (Order{{}, {}, {0}, {1, 0}}));
}

} // namespace
