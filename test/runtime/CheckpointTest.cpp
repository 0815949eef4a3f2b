// Saving and loading the variables of a session.
#include "runtime/core/Safetensors.h"
#include "runtime/session/Session.h"
#include "test/runtime/ArtifactBuilder.h"
#include "test/runtime/Backends.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/VulkanEnvironment.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace heddle {
namespace {

[[maybe_unused]] testing::Environment *const environment = test::watchValidation();

class CheckpointTest : public test::BackendTest {
protected:
  std::unique_ptr<Session> openAdder() {
    test::AdderOptions options;
    options.targets = GetParam().targets;
    auto artifact = Artifact::fromBytes(test::buildAdder(options), "adder.heddle");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    auto opened = Session::open(
        *artifact, {.device = GetParam().name, .deviceOptions = {.directAccess = GetParam().directAccess}});
    EXPECT_TRUE(opened.ok()) << opened.message();
    return std::move(*opened);
  }

  // Writes the variables of a checkpoint by hand, all zero.
  void write(std::vector<SafetensorsEntry> entries) {
    size_t bytes = 0;
    for (const SafetensorsEntry &entry : entries)
      bytes += static_cast<size_t>(*elementCount(entry.shape)) * kElementBytes;
    auto writer = SafetensorsWriter::create(folder / "c", std::move(entries));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(std::vector<std::byte>(bytes)).ok());
    ASSERT_TRUE(writer->commit().ok());
  }

  std::string loadMessage(Session &session, const VariableKinds &kinds = kTrainingState) {
    Status status = session.load(folder / "c", kinds);
    return status.ok() ? "accepted" : status.message();
  }

  test::TemporaryFolder folder;
  const SafetensorsEntry weight = {"weight", ElementType::F32, {1000}}, total = {"total", ElementType::F32, {1000}},
                         seed = {"seed", ElementType::I32, {2}};
};

HEDDLE_FOR_EACH_BACKEND(CheckpointTest);

TEST(VariableRolesTest, namesOfCheckpoints) {
  EXPECT_EQ(variableName(VariableRole::FirstMoment, "a.weight"), "adam.m.a.weight");
  EXPECT_EQ(variableName(VariableRole::SecondMoment, "a.weight"), "adam.v.a.weight");
  EXPECT_EQ(variableName(VariableRole::Average, "a.weight"), "ema.a.weight");
  EXPECT_EQ(variableName(VariableRole::Gradient, "a.weight"), "grad.a.weight");
  EXPECT_EQ(variableName(VariableRole::Steps), "step");
  for (auto role = VariableRole::FirstMoment; role <= VariableRole::Seed; role = VariableRole(int(role) + 1))
    if (role != VariableRole::Rounded) // not in checkpoints
      EXPECT_EQ(roleOfName(variableName(role, role <= VariableRole::Gradient ? "w" : "")), role);
  for (const char *name : {"", "a.weight", "steps", "adam", "adam.x.w", "emaciated", "decoder.adam.m.w"})
    EXPECT_EQ(roleOfName(name), VariableRole::None) << name;
}

// This test's artifact is like those made before variables had roles.
TEST_P(CheckpointTest, rolesByNames) {
  auto session = openAdder();
  ASSERT_NE(session->findVariable(VariableRole::Seed), nullptr);
  EXPECT_EQ(session->findVariable(VariableRole::Seed)->name, "seed");
  EXPECT_EQ(session->findVariable(VariableRole::Steps), nullptr);
  EXPECT_EQ(session->findVariable("weight")->role, VariableRole::None);
}

TEST_P(CheckpointTest, roundTrips) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.25f);
  {
    auto session = openAdder();
    EXPECT_NE(session->save(folder / "c").ok(), true) << "no variable has a value yet";
    ASSERT_TRUE(session->writeVariable("weight", HostTensor::vector(values)).ok());
    ASSERT_TRUE(session->init(5).ok());
    ASSERT_TRUE(session->run("accumulate", {{"a", HostTensor::vector(values)}}).ok());
    Status saved = session->save(folder / "c", kTrainingState, {{"note", "a test"}});
    ASSERT_TRUE(saved.ok()) << saved.message();
    EXPECT_EQ(folder.fileCount(), 1u);
  }
  auto reader = SafetensorsReader::open(folder / "c");
  ASSERT_TRUE(reader.ok()) << reader.message();
  EXPECT_EQ(reader->entries().size(), 3u) << "no caches";
  EXPECT_EQ(reader->metadata().at("note"), "a test");

  auto session = openAdder();
  ASSERT_EQ(loadMessage(*session), "accepted");
  EXPECT_TRUE(std::ranges::equal(session->readVariable("weight")->values<float>(), values));
  EXPECT_TRUE(std::ranges::equal(session->readVariable("total")->values<float>(), values));
  EXPECT_EQ(session->readVariable("seed")->values<int32_t>()[0], 5);

  // Load only the weights of the same file; the rest takes no memory.
  auto weightsOnly = openAdder();
  ASSERT_EQ(loadMessage(*weightsOnly, kWeightsOnly), "accepted");
  EXPECT_EQ(weightsOnly->memory().optimizerState, 0u);
}

// A bf16 moment is f32 to callers and bf16 in files. A file with f32 is rounded.
TEST_P(CheckpointTest, narrowMoments) {
  test::AdderOptions options;
  options.targets = GetParam().targets;
  std::vector<std::byte> bytes = test::changed(test::buildAdder(options), [](schema::ModuleT &module) {
    auto moment = std::make_unique<schema::VariableT>();
    moment->name = "adam.m.weight";
    moment->kind = schema::VariableKind::OptimizerState;
    moment->role = schema::VariableRole::FirstMoment;
    moment->owner = 0;
    moment->type = std::make_unique<schema::TensorTypeT>();
    moment->type->element = schema::ElementType::BF16;
    moment->type->dims = {schema::Dim(-1, 1000)};
    moment->bytes = 2000;
    module.variables.push_back(std::move(moment));
  });
  auto artifact = Artifact::fromBytes(std::move(bytes), "adder.heddle");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  auto open = [&] {
    auto opened = Session::open(
        *artifact, {.device = GetParam().name, .deviceOptions = {.directAccess = GetParam().directAccess}});
    EXPECT_TRUE(opened.ok()) << opened.message();
    return std::move(*opened);
  };
  std::vector<float> values(1000), rounded(1000);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 1 + float(i) / 1024;
    rounded[i] = std::nearbyint(values[i] * 128) / 128; // to even, as in bf16
  }
  auto isKept = [&](Session &session) {
    auto read = session.readVariable("adam.m.weight");
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_TRUE(std::ranges::equal(read->values<float>(), rounded));
    auto pending = session.variableLater("adam.m.weight");
    ASSERT_TRUE(pending.ok()) << pending.message();
    EXPECT_TRUE(std::ranges::equal((*pending)()->values<float>(), rounded));
  };
  {
    auto session = open();
    const VariableInfo &info = *session->findVariable("adam.m.weight");
    EXPECT_TRUE(info.narrow == NarrowType::BF16 && info.type == ElementType::F32 && info.bytes == 2000);
    ASSERT_TRUE(session->init(5).ok());
    for (const char *name : {"weight", "total", "adam.m.weight"})
      ASSERT_TRUE(session->writeVariable(name, HostTensor::vector(values)).ok());
    EXPECT_FALSE(session->writeVariable("adam.m.weight", HostTensor::vector(std::vector<float>(500))).ok());
    isKept(*session);
    Status saved = session->save(folder / "c");
    ASSERT_TRUE(saved.ok()) << saved.message();
  }
  auto reader = SafetensorsReader::open(folder / "c");
  ASSERT_TRUE(reader.ok()) << reader.message();
  EXPECT_EQ(reader->find("adam.m.weight")->stored, SafetensorsEntry::Stored::BF16);
  auto session = open();
  ASSERT_EQ(loadMessage(*session), "accepted");
  isKept(*session);

  auto writer =
      SafetensorsWriter::create(folder / "c", {weight, total, seed, {"adam.m.weight", ElementType::F32, {1000}}});
  ASSERT_TRUE(writer.ok() && writer->write(std::vector<std::byte>(8008)).ok() &&
              writer->write(std::as_bytes(std::span(values))).ok() && writer->commit().ok());
  auto other = open();
  ASSERT_EQ(loadMessage(*other), "accepted");
  isKept(*other);
}

// Callers and files see the rows of a weight that the device stores in panels.
TEST_P(CheckpointTest, weightsInPanels) {
  test::AdderOptions options;
  options.targets = GetParam().targets;
  constexpr int64_t rows = 3, columns = 8, panel = 2;
  std::vector<std::byte> adder = test::buildAdder(options);
  schema::ElementType element = schema::ElementType::BF16;
  auto open = [&](int64_t ofPanel) {
    auto artifact =
        Artifact::fromBytes(test::changed(adder,
                                          [&](schema::ModuleT &module) {
                                            auto matrix = std::make_unique<schema::VariableT>();
                                            matrix->name = "matrix";
                                            matrix->kind = schema::VariableKind::Weight;
                                            matrix->type = std::make_unique<schema::TensorTypeT>();
                                            matrix->type->element = element;
                                            matrix->type->dims = {schema::Dim(-1, rows), schema::Dim(-1, columns)};
                                            matrix->bytes =
                                                (element == schema::ElementType::F32 ? 4 : 2) * rows * columns;
                                            matrix->panel = ofPanel;
                                            module.variables.push_back(std::move(matrix));
                                          }),
                            "adder.heddle");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    auto opened = Session::open(
        *artifact, {.device = GetParam().name, .deviceOptions = {.directAccess = GetParam().directAccess}});
    EXPECT_TRUE(opened.ok()) << opened.message();
    return std::move(*opened);
  };
  std::vector<float> values(rows * columns);
  std::iota(values.begin(), values.end(), 1.0f);
  auto isKept = [&](Session &session) {
    auto read = session.readVariable("matrix");
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read->shape(), (Shape{rows, columns}));
    EXPECT_TRUE(std::ranges::equal(read->values<float>(), values));
    auto pending = session.variableLater("matrix");
    ASSERT_TRUE(pending.ok()) << pending.message();
    EXPECT_TRUE(std::ranges::equal((*pending)()->values<float>(), values));
  };
  for (schema::ElementType each : {schema::ElementType::BF16, schema::ElementType::F16, schema::ElementType::F32}) {
    element = each;
    for (int64_t writing : {int64_t(0), panel}) {
      {
        auto session = open(writing);
        ASSERT_TRUE(session->init(5).ok());
        for (const char *name : {"weight", "total"})
          ASSERT_TRUE(session->writeVariable(name, HostTensor::vector(std::vector<float>(1000))).ok());
        auto matrix = HostTensor::uninitialized(ElementType::F32, {rows, columns});
        ASSERT_TRUE(matrix.ok()) << matrix.message();
        std::ranges::copy(values, matrix->values<float>().begin());
        ASSERT_TRUE(session->writeVariable("matrix", *matrix).ok());
        isKept(*session);
        Status saved = session->save(folder / "c");
        ASSERT_TRUE(saved.ok()) << saved.message();
      }
      for (int64_t reading : {int64_t(0), panel}) {
        auto session = open(reading);
        ASSERT_EQ(loadMessage(*session), "accepted");
        isKept(*session);
      }
    }
  }
}

TEST_P(CheckpointTest, ofAnotherModelIsRefused) {
  auto session = openAdder();
  auto expect = [&](const char *part) {
    std::string message = loadMessage(*session);
    EXPECT_NE(message.find("a checkpoint of another model than 'adder.heddle'"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  write({{"weight", ElementType::F32, {10, 100}}, total, seed});
  expect("'weight' is f32[10,100] in the checkpoint and f32[1000] in the artifact");
  write({{"weight", ElementType::I32, {1000}}, total, seed});
  expect("'weight' is i32[1000] in the checkpoint");
  write({weight, seed});
  expect("it lacks optimizer state 'total'");
  write({});
  expect("it lacks weight 'weight'");
  write({weight});
  std::string message = loadMessage(*session);
  EXPECT_NE(message.find("holds weights alone, and optimizer state 'total'"), std::string::npos) << message;
  write({weight, total, seed, {"encoder.9.bias", ElementType::F32, {1}}});
  expect("it has 'encoder.9.bias', which the artifact does not have");
  write({weight, total, seed, {"adam.m.weight", ElementType::F32, {1}}});
  EXPECT_EQ(loadMessage(*session), "accepted");
}

TEST_P(CheckpointTest, refusedOnesChangeNothing) {
  auto session = openAdder();
  ASSERT_TRUE(session->writeVariable("weight", HostTensor::vector(std::vector<float>(1000, 3))).ok());
  write({weight, seed}); // total is missing
  EXPECT_NE(loadMessage(*session), "accepted");
  EXPECT_EQ(session->readVariable("weight")->values<float>()[0], 3.0f);
  test::spit(folder / "c", "not safetensors");
  EXPECT_NE(loadMessage(*session).find("not a usable safetensors file"), std::string::npos);
  std::filesystem::remove(folder / "c");
  EXPECT_NE(loadMessage(*session).find("No such file"), std::string::npos);
}

// Packed words and scales of artifacts for other targets, as in tensors of two rows and four columns.
TEST_P(CheckpointTest, packedPartsGainPanels) {
  test::AdderOptions options;
  options.targets = GetParam().targets;
  auto changed = test::changed(test::buildAdder(options), [](schema::ModuleT &module) {
    for (auto [name, element] :
         {std::pair("packed", schema::ElementType::I32), {"packed.scales", schema::ElementType::F32}}) {
      auto part = std::make_unique<schema::VariableT>(*module.variables[0]);
      part->name = name, part->bytes = 8 * kElementBytes;
      part->type->element = element, part->type->dims = {schema::Dim(-1, 4), schema::Dim(-1, 2)};
      module.variables.push_back(std::move(part));
    }
    module.variables.back()->role = schema::VariableRole::Scales;
    module.variables.back()->owner = int32_t(module.variables.size()) - 2;
  });
  auto artifact = Artifact::fromBytes(changed, "packed.heddle");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  auto session = Session::open(*artifact, {.device = GetParam().name});
  ASSERT_TRUE(session.ok()) << session.message();

  std::vector<int32_t> words(8);
  std::iota(words.begin(), words.end(), 0);
  std::vector<float> scales(words.begin(), words.end());
  auto writeParts = [&](Shape shape) {
    auto writer = SafetensorsWriter::create(
        folder / "c", {weight, {"packed", ElementType::I32, shape}, {"packed.scales", ElementType::F32, shape}});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(std::vector<std::byte>(4000)).ok());
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(words))).ok());
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(scales))).ok());
    ASSERT_TRUE(writer->commit().ok());
  };
  writeParts({2, 4});
  EXPECT_EQ(loadMessage(**session, {VariableKind::Weight}), "accepted");
  HostTensor packed = std::move(*(*session)->readVariable("packed"));
  EXPECT_TRUE(std::ranges::equal(packed.values<int32_t>(), std::vector{0, 1, 4, 5, 2, 3, 6, 7}));
  packed = std::move(*(*session)->readVariable("packed.scales"));
  EXPECT_TRUE(std::ranges::equal(packed.values<float>(), std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  writeParts({4, 2});
  EXPECT_EQ(loadMessage(**session, {VariableKind::Weight}), "accepted");
  EXPECT_EQ((*session)->readVariable("packed")->values<int32_t>()[2], 2);
  writeParts({8, 1}); // panels of one column: the artifact has both columns of a row side by side
  EXPECT_EQ(loadMessage(**session, {VariableKind::Weight}), "accepted");
  packed = std::move(*(*session)->readVariable("packed"));
  EXPECT_TRUE(std::ranges::equal(packed.values<int32_t>(), std::vector{0, 4, 1, 5, 2, 6, 3, 7}));
  writeParts({1, 8});
  EXPECT_NE(loadMessage(**session, {VariableKind::Weight}).find("'packed' is i32[1,8] in the checkpoint"),
            std::string::npos);
}

TEST_P(CheckpointTest, failedSavesLeaveTheOldFile) {
  auto session = openAdder();
  test::spit(folder / "c", "old");
  EXPECT_FALSE(session->save(folder / "c").ok());
  EXPECT_EQ(test::slurp(folder / "c"), "old");
  EXPECT_FALSE(session->save(folder / "no-folder" / "c", {}).ok());
  EXPECT_EQ(folder.fileCount(), 1u);
}

} // namespace
} // namespace heddle
