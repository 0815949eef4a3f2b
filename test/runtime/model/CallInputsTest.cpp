#include "runtime/model/CallInputs.h"

#include <gtest/gtest.h>

using namespace heddle;

namespace {

using Ids = std::vector<int32_t>;

EntryInfo entryOf(std::initializer_list<std::pair<const char *, const char *>> inputs) {
  EntryInfo entry;
  for (auto [of, role] : inputs) {
    PortInfo port{str(of, "/", role)};
    port.of = of, port.role = role;
    entry.inputs.push_back(port);
  }
  return entry;
}

// Shows the inputs as "NAME VALUE...".
std::vector<std::string> show(const CallInputs &inputs) {
  std::vector<std::string> all;
  for (const Input &input : std::span<const Input>(inputs)) {
    std::string &text = all.emplace_back(input.name);
    if (input.tensor.type == ElementType::I32)
      for (int32_t value : input.tensor.values<int32_t>())
        text += str(" ", value);
    else
      for (float value : input.tensor.values<float>())
        text += str(" ", value);
  }
  return all;
}

TEST(CallInputs, TheEntrySaysWhichRolesItTakes) {
  Batch batch;
  batch.add(MarkedPair(Ids{5}, Ids{7, 8}, {}, {}).example());
  EntryInfo entry =
      entryOf({{"target", "tokens"}, {"source", "tokens"}, {"target", "next"}, {"source", "types"}, {"a", "b"}});
  CallInputs inputs;
  ASSERT_TRUE(inputs.addBatch(&entry, batch).ok());
  ASSERT_TRUE(inputs.addBatch(nullptr, batch).ok());
  EXPECT_EQ(show(inputs), (std::vector<std::string>{"target/tokens 1 7 8", "source/tokens 5 2", "target/next 7 8 2"}));
}

TEST(CallInputs, SourcesWithoutTargetsAreADecodersTarget) {
  Batch batch;
  const Ids text{5, 6};
  batch.add({.source = text});
  batch.add({.source = text});
  EntryInfo entry = entryOf({{"target", "tokens"}, {"target", "positions"}, {"target", "starts"}, {"target", "next"}});
  CallInputs inputs;
  ASSERT_TRUE(inputs.addBatch(&entry, batch).ok());
  EXPECT_EQ(show(inputs),
            (std::vector<std::string>{"target/tokens 5 6 5 6", "target/positions 0 1 0 1", "target/starts 0 2"}));
}

TEST(CallInputs, OtherSequencesHaveNoTokens) {
  Batch batch;
  batch.add(MarkedPair(Ids{5}, Ids{7, 8}, {}, {}).example());
  batch.source.types = {0, 0};
  EntryInfo entry = entryOf({{"memory", "tokens"}, {"memory", "types"}, {"memory", "next"}, {"source", "next"}});
  CallInputs inputs;
  ASSERT_TRUE(inputs.addBatch(&entry, batch).ok());
  EXPECT_EQ(show(inputs), std::vector<std::string>());
}

TEST(CallInputs, PairsHaveTwoSidesAndALabelOrAGrade) {
  Batch labels, grades;
  Ids left{1, 5, 2}, right{1, 2}, label{3};
  float grade = 0.5;
  labels.add({.source = left, .right = right, .labels = label});
  grades.add({.source = left, .right = right, .grade = {&grade, 1}});
  EntryInfo entry = entryOf({{"left", "tokens"}, {"right", "lengths"}, {"pair", "label"}, {"pair", "grade"}});
  CallInputs ofLabels, ofGrades;
  ASSERT_TRUE(ofLabels.addBatch(&entry, labels).ok());
  ASSERT_TRUE(ofGrades.addBatch(&entry, grades).ok());
  EXPECT_EQ(show(ofLabels), (std::vector<std::string>{"left/tokens 1 5 2", "right/lengths 2", "pair/label 3"}));
  EXPECT_EQ(show(ofGrades), (std::vector<std::string>{"left/tokens 1 5 2", "right/lengths 2", "pair/grade 0.5"}));
}

TEST(CallInputs, PairsOfTheSourceAreOneGroup) {
  Batch batch(Marks{.joinsPairs = true});
  Ids left{1, 5, 2}, right{1, 2};
  batch.add({.source = left, .partner = right});
  batch.add({.source = right, .partner = left});
  EntryInfo entry = entryOf({{"source", "starts"},
                             {"pair", "left"},
                             {"pair", "right"},
                             {"pair", "starts"},
                             {"pair", "lengths"},
                             {"pair", "label"}});
  CallInputs inputs;
  ASSERT_TRUE(inputs.addBatch(&entry, batch).ok());
  EXPECT_EQ(show(inputs), (std::vector<std::string>{"source/starts 0 3 5 7", "pair/left 0 2", "pair/right 1 3",
                                                    "pair/starts 0", "pair/lengths 2", "pair/label 0 1"}));
}

// Two images of 2 x 2 pixels, and smaller ones of a single pixel.
TEST(CallInputs, SmallerImagesHaveAsManyPixelsAsTheirLengthsAllow) {
  Batch batch({.image = {2, 2}});
  std::vector<float> pixels{1, 2, 3, 4};
  batch.add({.pixels = pixels});
  batch.add({.pixels = pixels});
  EntryInfo entry = entryOf({{"source", "pixels"},
                             {"source", "starts"},
                             {"source_stride2", "starts"},
                             {"source_stride2", "lengths"},
                             {"source_stride2", "positions"}});
  entry.inputs[0].dims = {{"source_tokens", 8}, {"", 1}};
  entry.inputs[3].valueLimit = 2;
  entry.inputs[4].dims = {{"source_stride2_tokens", 4}};
  CallInputs inputs;
  ASSERT_TRUE(inputs.addBatch(&entry, batch).ok());
  EXPECT_EQ(show(inputs),
            (std::vector<std::string>{"source/pixels 1 2 3 4 1 2 3 4", "source/starts 0 4", "source_stride2/starts 0 1",
                                      "source_stride2/lengths 1 1", "source_stride2/positions 0 0"}));
  EXPECT_EQ(std::span<const Input>(inputs)[0].tensor.shape.size(), 2u);
  // A damaged artifact may have any limit.
  for (int64_t limit : {int64_t(0), int64_t(1), int64_t(6), int64_t(1) << 40}) {
    entry.inputs[3].valueLimit = limit;
    CallInputs refused;
    Status status = refused.addBatch(&entry, batch);
    ASSERT_FALSE(status.ok()) << limit;
    EXPECT_NE(status.message().find(str("value limit ", limit, ",")), std::string::npos) << status.message();
  }
}

} // namespace
