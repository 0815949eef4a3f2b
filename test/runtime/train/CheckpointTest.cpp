#include "runtime/core/Safetensors.h"
#include "runtime/train/Average.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/FolderLock.h"
#include "runtime/train/FolderSync.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/model/FakeEngine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <sys/resource.h>

using namespace heddle;
using heddle::test::FakeEngine;
using heddle::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

class CheckpointTest : public testing::Test {
protected:
  CheckpointTest() : tokenizer(std::move(Tokenizer::train({folder.write("letters", "a b c d e f\n")}, 10)).value()) {}

  Manifest manifest(uint64_t step) {
    return {.step = step,
            .seed = 3,
            .cursor = {1, 2, 5},
            .dataFingerprint = "f",
            .batching = {{"accumulate", 2}},
            .validation = validation,
            .artifactSeal = 0xfedcba9876543210,
            .description = nlohmann::json::parse(engine.description())};
  }

  Status save(uint64_t step, uint64_t keepLast = 1) {
    return CheckpointFolder(place, keepLast).save(engine, tokenizer, manifest(step));
  }

  std::vector<std::string> names() {
    std::vector<std::string> result;
    for (const fs::path &path : listCheckpoints(place))
      result.push_back(path.filename());
    return result;
  }

  uint64_t newestStep() { return Manifest::read(findCheckpoint(place).value())->step; }

  TemporaryFolder folder;
  Tokenizer tokenizer;
  fs::path place = folder.path() / "ck";
  ValidationRecord validation;
  FakeEngine engine{64, 8, 16};
};

TEST_F(CheckpointTest, ManifestRoundTrip) {
  validation = {.bestLoss = 1.0 / 3, .bestStep = 4, .sinceBest = 6};
  ASSERT_TRUE(save(4).ok());
  fs::path checkpoint = findCheckpoint(place).value();
  EXPECT_EQ(checkpoint.filename(), "step-00000004");
  Manifest read = std::move(Manifest::read(checkpoint)).value();
  EXPECT_EQ(read.cursor, (DataCursor{1, 2, 5}));
  EXPECT_EQ(read.files.size(), 3u);
  Manifest written = manifest(4);
  written.files = read.files;
  EXPECT_EQ(read.toJson(), written.toJson());
  EXPECT_EQ(read.baseHash, ""); // its weights are all its own
  written.base = "gpt2\xff";    // the name of a folder need not be UTF-8
  written.baseHash = "0123456789abcdef";
  folder.write("ck/step-00000004/manifest.json", written.toJson());
  read = std::move(Manifest::read(checkpoint)).value();
  EXPECT_EQ(read.base, "gpt2\ufffd");
  EXPECT_EQ(read.baseHash, written.baseHash);
  EXPECT_EQ((*loadCheckpointVocabulary(checkpoint))->files()[0].bytes, tokenizer.files()[0].bytes);
}

TEST_F(CheckpointTest, SaysWhyThereIsNone) {
  EXPECT_EQ(findCheckpoint(place).error().kind, ErrorKind::NotFound);
  EXPECT_NE(findCheckpoint(place).message().find("there is no folder '" + place.string()), std::string::npos);
  fs::path file = folder.write("file", ""), loop = folder / "loop", empty = folder / "empty";
  EXPECT_NE(findCheckpoint(file).message().find("Not a directory"), std::string::npos);
  fs::create_symlink(loop, loop);
  EXPECT_EQ(findCheckpoint(loop).error().kind, ErrorKind::Io);
  EXPECT_NE(findCheckpoint(loop).message().find("Too many levels of symbolic links"), std::string::npos);
  fs::create_directory(empty);
  EXPECT_NE(findCheckpoint(empty).message().find("there is no manifest.json in it"), std::string::npos);
}

TEST_F(CheckpointTest, OldOnesGo) {
  for (uint64_t step : {1, 2, 3, 4, 5})
    ASSERT_TRUE(save(step, 3).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000003", "step-00000004", "step-00000005"}));
  ASSERT_TRUE(save(100'000'000, 1).ok());
  EXPECT_EQ(names(), std::vector<std::string>{"step-100000000"});
  EXPECT_EQ(newestStep(), 100'000'000u);
}

TEST_F(CheckpointTest, TheLastThatWasWrittenStays) {
  ASSERT_TRUE(save(5, 1).ok());
  ASSERT_TRUE(save(3, 1).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000003", "step-00000005"}));
}

TEST_F(CheckpointTest, TheBestStays) {
  const double losses[] = {3, 1, 2, 0.5, 4, 5};
  for (uint64_t step = 1; step <= 6; ++step) {
    validation.note(step, losses[step - 1]);
    ASSERT_TRUE(save(step).ok());
    EXPECT_EQ(Manifest::read(place / "best")->step, step < 2 ? 1u : step < 4 ? 2u : 4u);
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"step-00000004", "step-00000006"}));
  EXPECT_EQ(findCheckpoint(place / "best").value(), place / "best");
}

// If a save was killed before it wrote the link, the next save repairs it.
TEST_F(CheckpointTest, TheLinkToTheBestIsRepaired) {
  validation.note(1, 2);
  ASSERT_TRUE(save(1, 2).ok());
  validation.note(2, 1);
  ASSERT_TRUE(save(2, 2).ok());
  fs::remove(place / "best");
  fs::create_symlink("step-00000001", place / "best");
  ASSERT_TRUE(save(3, 1).ok());
  EXPECT_EQ(Manifest::read(place / "best")->step, 2u);
}

TEST_F(CheckpointTest, FilesOfOthersStay) {
  ASSERT_TRUE(save(1).ok());
  folder.write("ck/train.jsonl", "log");
  fs::create_directory(place / "step-notes");
  ASSERT_TRUE(save(2).ok());
  EXPECT_EQ(folder.read("ck/train.jsonl"), "log");
  EXPECT_TRUE(fs::exists(place / "step-notes"));
  EXPECT_EQ(newestStep(), 2u);
}

TEST_F(CheckpointTest, AFailedSaveLeavesThePrevious) {
  ASSERT_TRUE(save(1).ok());
  engine.failSaves = true;
  Status status = save(2);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("step 2"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("step-00000001"), std::string::npos) << status.message();
  EXPECT_EQ(names(), std::vector<std::string>{"step-00000001"});
  EXPECT_FALSE(fs::exists(place / "step-00000002.tmp"));
  engine.failSaves = false;
  EXPECT_TRUE(save(2).ok());
}

// Whichever write fails.
TEST_F(CheckpointTest, AFullDiskLeavesThePrevious) {
  ASSERT_TRUE(save(1).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (rlim_t bytes : {0, 60, 200, 300, 500, 2'000}) {
    rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    Status status = save(2);
    setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(status.ok()) << bytes;
    EXPECT_NE(status.message().find("File too large"), std::string::npos) << status.message();
    EXPECT_EQ(names(), std::vector<std::string>{"step-00000001"});
    EXPECT_FALSE(fs::exists(place / "step-00000002.tmp"));
    FakeEngine other(64, 8, 16);
    ModelDescription model = std::move(ModelDescription::parse(other.description())).value();
    EXPECT_TRUE(loadCheckpoint(findCheckpoint(place).value(), other, model, CheckpointUse::Training).ok());
  }
  std::signal(SIGXFSZ, SIG_DFL);
}

TEST_F(CheckpointTest, RemainsOfKilledSavesAreCleared) {
  ASSERT_TRUE(save(1).ok());
  for (const char *name : {"step-00000002.tmp", "step-00000000.tmp"}) {
    fs::create_directory(place / name);
    folder.write(std::string("ck/") + name + "/weights.safetensors", "half");
  }
  EXPECT_EQ(newestStep(), 1u);
  ASSERT_TRUE(save(3).ok());
  for (const auto &entry : fs::directory_iterator(place))
    EXPECT_FALSE(entry.path().string().ends_with(".tmp")) << entry.path();
}

TEST_F(CheckpointTest, DamageIsSeen) {
  ASSERT_TRUE(save(1).ok());
  fs::path checkpoint = findCheckpoint(place).value();
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  for (const char *name : {"weights.safetensors", "optimizer.safetensors", "spm.model"}) {
    std::string file = str("ck/step-00000001/", name), whole = folder.read(file), broken = whole;
    broken.back() ^= 1;
    folder.write(file, broken);
    Status status = Success();
    if (name == std::string("spm.model")) {
      if (auto loaded = loadCheckpointVocabulary(checkpoint); !loaded.ok())
        status = loaded.error();
    } else if (auto loaded = loadCheckpoint(checkpoint, engine, model, CheckpointUse::Training); !loaded.ok()) {
      status = loaded.error();
    }
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("damaged"), std::string::npos) << status.message();
    folder.write(file, whole);
  }
  EXPECT_TRUE(loadCheckpoint(checkpoint, engine, model, CheckpointUse::Training).ok());
}

// If one load accepts another model, the next load in the same process still refuses it.
TEST_F(CheckpointTest, AVocabularyThatTheManifestDoesNotNameIsNotLoaded) {
  ASSERT_TRUE(save(1).ok());
  folder.write("ck/step-00000001/vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  auto vocabulary = loadCheckpointVocabulary(place);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.message();
  EXPECT_EQ((*vocabulary)->files()[0].name, "spm.model");
  EXPECT_EQ((*vocabulary)->files()[0].bytes, tokenizer.files()[0].bytes);
}

TEST_F(CheckpointTest, OtherModelsAreAcceptedByTheCaller) {
  ASSERT_TRUE(save(1).ok());
  fs::path checkpoint = findCheckpoint(place).value();
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  auto load = [&](OtherMeaning others) {
    return loadCheckpoint(checkpoint, engine, model, CheckpointUse::Training, others);
  };
  EXPECT_TRUE(load(OtherMeaning::Refuse).ok());
  model.json["architecture"] = "another";
  EXPECT_TRUE(load(OtherMeaning::Warn).ok());
  auto refused = load(OtherMeaning::Refuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("architecture ("), std::string::npos) << refused.message();
}

TEST_F(CheckpointTest, DamagedManifests) {
  ASSERT_TRUE(save(1).ok());
  nlohmann::json whole = nlohmann::json::parse(folder.read("ck/step-00000001/manifest.json"));
  std::vector<std::string> texts = {"", "{", "[]", "{}", "null"};
  for (const char *key : {"step", "seed", "data", "batching", "validation", "artifact", "description", "files"}) {
    nlohmann::json without = whole, wrong = whole;
    without.erase(key);
    wrong[key] = true;
    texts.push_back(without.dump());
    texts.push_back(wrong.dump());
  }
  nlohmann::json old = whole;
  old["version"] = 1;
  texts.push_back(old.dump());
  for (const std::string &text : texts) {
    folder.write("manifest.json", text);
    auto manifest = Manifest::read(folder.path());
    ASSERT_FALSE(manifest.ok()) << text;
    EXPECT_NE(manifest.message().find("manifest.json"), std::string::npos);
  }
}

TEST_F(CheckpointTest, RelativePaths) {
  fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const char *path : {"ck", "./ck/", "new/folder/ck"}) {
    place = path;
    for (uint64_t step : {1, 2}) {
      Status status = save(step);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(newestStep(), 2u);
  }
  fs::current_path(before);
}

// The folder of a training run may be a link: to a folder, to nothing yet, relative, or to another link.
TEST_F(CheckpointTest, FoldersMayBeLinks) {
  fs::create_directories(folder.path() / "disk");
  const std::pair<const char *, fs::path> links[] = {{"absolute", folder.path() / "disk" / "a"},
                                                     {"relative", "disk/b"},
                                                     {"again", "relative"},
                                                     {"outside", "disk/../disk/c/d"}};
  for (const auto &[name, target] : links) {
    place = folder.path() / name;
    fs::create_directory_symlink(target, place);
    for (const fs::path &written : {place, place / ""}) {
      auto lock = FolderLock::take(written); // creates the folder if needed
      ASSERT_TRUE(lock.ok()) << lock.message();
      ASSERT_TRUE(fs::is_directory(place)) << place;
      ASSERT_TRUE(save(3).ok());
      lock->release();
      auto moved = setAside(written);
      ASSERT_TRUE(moved.ok()) << moved.message();
      EXPECT_TRUE(fs::exists(*moved / "step-00000003")) << *moved;
      EXPECT_TRUE(fs::is_symlink(place)) << place;
    }
    auto lock = FolderLock::take(place);
    EXPECT_TRUE(lock.ok()) << lock.message();
  }
  fs::create_directory_symlink("circle", folder.path() / "circle");
  EXPECT_FALSE(FolderLock::take(folder.path() / "circle").ok());
  EXPECT_EQ(plainPath("/a/./b//../c/"), "/a/c");
  EXPECT_EQ(plainPath("/"), "/");
}

TEST_F(CheckpointTest, SetAside) {
  ASSERT_TRUE(save(1).ok());
  EXPECT_TRUE(findCheckpoint(place).ok());
  EXPECT_EQ(setAside(place)->filename(), "ck.1");
  EXPECT_FALSE(findCheckpoint(place).ok());
  ASSERT_TRUE(save(2).ok());
  EXPECT_EQ(setAside(place / "")->filename(), "ck.2");
  EXPECT_EQ(Manifest::read(findCheckpoint(folder.path() / "ck.2").value())->step, 2u);
}

// Checkpoints that hold a weight with given values.
class AverageTest : public CheckpointTest {
protected:
  Status write(uint64_t step, std::vector<float> values) {
    const char *const files[] = {kWeightsFile};
    auto tensors = [&](const fs::path &into) -> Status {
      HEDDLE_ASSIGN(
          SafetensorsWriter writer,
          SafetensorsWriter::create(into / kWeightsFile, {{"w", ElementType::F32, {int64_t(values.size())}}}));
      HEDDLE_CHECK(writer.write(std::as_bytes(std::span(values))));
      return writer.commit();
    };
    char name[20];
    std::snprintf(name, sizeof name, "step-%08d", int(step));
    return writeCheckpoint(place / name, files, tensors, tokenizer, manifest(step));
  }

  std::vector<float> read(const fs::path &checkpoint) {
    auto reader = SafetensorsReader::open(checkpoint / kWeightsFile);
    HostTensor tensor = std::move(reader->read("w")).value();
    auto values = tensor.values<float>();
    return {values.begin(), values.end()};
  }
};

TEST_F(AverageTest, Mean) {
  // More than one portion of values, and sums that single precision would round.
  std::vector<float> a(1'500'000, 1e8f), b(1'500'000, 1.0f), c(1'500'000, -1e8f);
  a.back() = 3;
  ASSERT_TRUE(write(1, a).ok() && write(2, b).ok() && write(3, c).ok());
  auto all = listCheckpoints(place);
  Status status = averageCheckpoints(all, decayingWeights(3, 1), folder.path() / "mean");
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<float> mean = read(folder.path() / "mean");
  ASSERT_EQ(mean.size(), a.size());
  EXPECT_EQ(mean.front(), 1.0f / 3);
  EXPECT_EQ(mean.back(), float((3.0 + 1.0 - 1e8) / 3));
  Manifest manifest = std::move(Manifest::read(folder.path() / "mean")).value();
  EXPECT_EQ(manifest.step, 3u);
  EXPECT_NE(folder.read("mean/manifest.json").find("\"averaged\""), std::string::npos);
  EXPECT_TRUE(loadCheckpointVocabulary(folder.path() / "mean").ok());
  EXPECT_FALSE(averageCheckpoints(all, decayingWeights(3, 1), folder.path() / "mean").ok()) << "overwritten";
}

TEST_F(AverageTest, Decay) {
  ASSERT_TRUE(write(1, {8}).ok() && write(2, {4}).ok() && write(3, {1}).ok());
  auto all = listCheckpoints(place);
  EXPECT_EQ(decayingWeights(3, 0.5), (std::vector<double>{0.25, 0.5, 1}));
  ASSERT_TRUE(averageCheckpoints(all, decayingWeights(3, 0.5), folder.path() / "mean").ok());
  EXPECT_EQ(read(folder.path() / "mean")[0], float((8 * 0.25 + 4 * 0.5 + 1) / 1.75));
}

TEST_F(AverageTest, OthersAreRefused) {
  ASSERT_TRUE(write(1, {8}).ok() && write(2, {4, 5}).ok());
  auto all = listCheckpoints(place);
  Status status = averageCheckpoints(all, decayingWeights(2, 1), folder.path() / "mean");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("'w' is not alike"), std::string::npos) << status.message();
  EXPECT_FALSE(fs::exists(folder.path() / "mean"));
  EXPECT_FALSE(fs::exists(folder.path() / "mean.tmp"));
}

// A step that makes weights infinite is found when they are saved, not a step later.
TEST_F(AverageTest, NoCheckpointOfADivergedTraining) {
  for (float value : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Status status = write(7, {1, value});
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find("'w' holds "), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("step 7"), std::string::npos) << status.message();
    EXPECT_FALSE(fs::exists(place / "step-00000007"));
  }
}

} // namespace
