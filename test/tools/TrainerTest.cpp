#include "runtime/train/Trainer.h"
#include "runtime/core/Log.h"
#include "runtime/model/LineTranslator.h"
#include "runtime/scores/Bleu.h"
#include "runtime/train/ResumeProof.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/data/MemoryPairs.h"
#include "test/runtime/model/FakeEngine.h"
#include "tools/heddle-run/report/TrainingReport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

using namespace heddle;
using namespace heddle::run;
using heddle::test::FakeEngine;
using heddle::test::MemoryPairs;
using heddle::test::TemporaryFolder;
using Ids = std::vector<int32_t>;

namespace {

class TrainerTest : public testing::Test {
protected:
  TrainerTest() {
    for (int i = 0; i < 50; ++i)
      corpus.pairs.add(
          MarkedPair(Ids(size_t(1 + i % 5), i % 60 + 3), Ids(size_t(1 + i % 3), i % 60 + 3), {}, {}).example());
    options.checkpoint = folder.path() / "ck";
    options.steps = 25;
    options.seed = 7;
    options.limits = {40, 6, 16};
    tokenizer = std::make_unique<Tokenizer>(
        std::move(Tokenizer::train({folder.write("letters", "a b c d e f\n")}, 10)).value());
  }

  // Trains to the end, or stops after `stopAfter` steps of this run.
  Result<TrainingEnd> train(FakeEngine &engine, const std::string &log, bool resume, int64_t stopAfter = -1) {
    ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
    Trainer trainer(engine, {model, *tokenizer, corpus, validation, validationText}, options,
                    [&] { return stopAfter >= 0 && stopAfter-- == 0; });
    HEDDLE_CHECK(resume ? trainer.resume() : trainer.begin());
    TrainingLog trainingLog;
    HEDDLE_CHECK(trainingLog.openJson(folder.path() / log, trainer.step()));
    Progress progress(devNull.get(), false, options.steps);
    TrainingReport report(progress, trainingLog, /*profile=*/nullptr);
    return trainer.run(report);
  }

  // Returns a log's records without the fields that depend on the clock.
  std::vector<std::string> records(const std::string &log) {
    std::istringstream lines(folder.read(log));
    std::vector<std::string> result;
    for (std::string line; std::getline(lines, line);) {
      nlohmann::json record = nlohmann::json::parse(line);
      record.erase("seconds");
      record.erase("tokens_per_second");
      record.erase("data_seconds");
      result.push_back(record.dump());
    }
    return result;
  }

  TemporaryFolder folder;
  // Returns the folder of the newest checkpoint.
  std::filesystem::path newest() { return findCheckpoint(options.checkpoint).value(); }
  std::string weights() { return folder.read((newest() / kWeightsFile).lexically_relative(folder.path()).string()); }
  std::string optimizer() {
    return folder.read((newest() / kOptimizerFile).lexically_relative(folder.path()).string());
  }

  MemoryPairs corpus{7};
  std::vector<Batch> validation;
  ParallelText validationText;
  TrainerOptions options;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> devNull{std::fopen("/dev/null", "w"), std::fclose};
};

TEST_F(TrainerTest, ResumedTrainingIsTheSameTraining) {
  FakeEngine whole(64, 8, 16);
  ASSERT_TRUE(train(whole, "whole", false).ok());
  std::string wholeWeights = weights(), wholeOptimizer = optimizer();
  ASSERT_EQ(records("whole").size(), 25u);
  std::filesystem::remove_all(options.checkpoint);

  // Stopped twice, once within an epoch and once by a signal. Each part has a new engine.
  FakeEngine first(64, 8, 16), second(64, 8, 16), third(64, 8, 16);
  auto stopped = train(first, "parts", false, 6);
  ASSERT_TRUE(stopped.ok()) << stopped.message();
  EXPECT_EQ(*stopped, TrainingEnd::Stopped);
  ASSERT_TRUE(train(second, "parts", true, 9).ok());
  auto end = train(third, "parts", true);
  ASSERT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(*end, TrainingEnd::Finished);
  EXPECT_EQ(records("parts"), records("whole"));
  EXPECT_EQ(weights(), wholeWeights);
  EXPECT_EQ(optimizer(), wholeOptimizer);
}

TEST_F(TrainerTest, AnotherTrainingsFolderIsRefused) {
  FakeEngine first(64, 8, 16), second(64, 8, 16);
  ASSERT_TRUE(train(first, "first", false).ok());
  options.steps = 10;
  auto end = train(second, "second", false);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("holds a training run, whose last checkpoint is"), std::string::npos) << end.message();
  EXPECT_TRUE(second.calls.empty());
  EXPECT_EQ(Manifest::read(newest())->step, 25u);
}

TEST_F(TrainerTest, AFolderThatCannotBeWrittenIsSaidBeforeTheFirstStep) {
  options.checkpoint = folder.write("file", "in the way\n");
  FakeEngine engine(64, 8, 16);
  auto end = train(engine, "log", false);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("cannot create the checkpoint folder"), std::string::npos) << end.message();
  EXPECT_TRUE(engine.calls.empty());
}

// A log on a full disk causes one warning, and training goes on.
TEST_F(TrainerTest, ALogThatCannotBeWrittenIsAWarning) {
  std::vector<std::string> warnings;
  setLogSink([&](LogLevel level, std::string_view message) {
    if (level == LogLevel::Warning)
      warnings.emplace_back(message);
  });
  FakeEngine engine(64, 8, 16);
  auto end = train(engine, "/dev/full", false);
  setLogSink({});
  ASSERT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(Manifest::read(newest())->step, 25u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("cannot write to the log '/dev/full'; is the disk full? The training goes on without it."),
            std::string::npos)
      << warnings[0];
}

TEST_F(TrainerTest, RunComesAfterBegin) {
  FakeEngine engine(64, 8, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  Trainer trainer(engine, {model, *tokenizer, corpus, validation, validationText}, options, [] { return false; });
  TrainingObserver observer;
  EXPECT_NE(trainer.run(observer).message().find("begin() or resume() comes first"), std::string::npos);
}

// After a crash the log is ahead of the checkpoint. The steps are repeated and logged once.
TEST_F(TrainerTest, CrashedTrainingLogsEachStepOnce) {
  FakeEngine whole(64, 8, 16);
  ASSERT_TRUE(train(whole, "whole", false).ok());
  std::filesystem::remove_all(options.checkpoint);

  options.saveEvery = 10;
  FakeEngine crashing(64, 8, 16), resumed(64, 8, 16);
  crashing.nanAtStep = 16;
  EXPECT_FALSE(train(crashing, "parts", false).ok());
  EXPECT_EQ(records("parts").size(), 16u);
  auto end = train(resumed, "parts", true);
  ASSERT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(records("parts"), records("whole"));
}

TEST_F(TrainerTest, DivergenceNamesTheStepAndKeepsTheCheckpoint) {
  options.saveEvery = 5;
  FakeEngine engine(64, 8, 16);
  engine.nanAtStep = 12;
  auto end = train(engine, "log", false);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("nan at step 13, in the entry 'train_step'"), std::string::npos) << end.message();
  EXPECT_EQ(Manifest::read(newest())->step, 10u);
}

// The device gets the next step before the host waits for this one.
TEST_F(TrainerTest, LossesAreReadAStepLate) {
  options.steps = 6;
  options.saveEvery = 3;
  FakeEngine engine(64, 8, 16);
  ASSERT_TRUE(train(engine, "log", false).ok());
  EXPECT_EQ(engine.lossReads,
            (std::vector<size_t>{2, 3, 3, 5, 6, 6})); // at the end and before a checkpoint, the loss is read at once
  EXPECT_EQ(records("log").size(), 6u);
}

TEST_F(TrainerTest, AccumulationScalesByAllTokens) {
  options.steps = 2;
  options.microBatches = 3;
  FakeEngine engine(64, 8, 16);
  ASSERT_TRUE(train(engine, "log", false).ok());
  std::vector<std::string> expected;
  for (int step = 0; step < 2; ++step)
    for (const char *call : {"accumulate_step", "accumulate_step", "accumulate_step", "apply_step"})
      expected.push_back(call);
  EXPECT_EQ(engine.calls, expected);
  nlohmann::json record = nlohmann::json::parse(records("log")[0]);
  for (int i = 0; i < 3; ++i)
    EXPECT_FLOAT_EQ(engine.tokenScales[size_t(i)], 1 / record["target_tokens"].get<float>());
}

TEST_F(TrainerTest, StoppedBeforeTheFirstStepCanResume) {
  FakeEngine first(64, 8, 16), second(64, 8, 16);
  ASSERT_TRUE(train(first, "log", false, 0).ok());
  EXPECT_EQ(Manifest::read(newest())->step, 0u);
  ASSERT_TRUE(train(second, "log", true).ok());
  EXPECT_EQ(records("log").size(), 25u);
}

TEST_F(TrainerTest, LogsValidation) {
  validation = packInOrder(corpus.pairs, options.limits);
  options.steps = 5;
  options.validateEvery = 2;
  FakeEngine engine(64, 8, 16);
  ASSERT_TRUE(train(engine, "log", false).ok());
  std::vector<int> steps;
  for (const std::string &line : records("log"))
    if (nlohmann::json record = nlohmann::json::parse(line); record.contains("validation_loss")) {
      EXPECT_EQ(record["validation_loss"], 0.5);
      steps.push_back(record["step"]);
    }
  EXPECT_EQ(steps, (std::vector<int>{2, 4, 5}));
  EXPECT_EQ(records("log").back().find("bleu"), std::string::npos);
}

TEST_F(TrainerTest, LogsBleuOfTheValidationText) {
  validation = packInOrder(corpus.pairs, options.limits);
  options.steps = 4;
  options.validateEvery = 2;
  FakeEngine engine(64, 8, 16);
  ModelDescription model = std::move(ModelDescription::parse(engine.description())).value();
  // The expected translations are LineTranslator's; half of the references are equal to them.
  std::vector<std::string> lines = {"a b c d e f", "b c d e f a", "", "c d e f a b"};
  LineTranslator translator(engine, model, *tokenizer, {});
  std::vector<std::string> translations = translator.translate(lines, 1).value();
  Bleu expected;
  for (size_t i = 0; i < lines.size(); ++i) {
    validationText.source.push_back(lines[i]);
    validationText.target.push_back(i % 2 ? "x " + translations[i] : translations[i]);
    expected.add(translations[i], validationText.target[i]);
  }
  ASSERT_GT(expected.score(), 0);
  ASSERT_LT(expected.score(), 100);
  ASSERT_TRUE(train(engine, "log", false).ok());
  int validations = 0;
  for (const std::string &line : records("log"))
    if (nlohmann::json record = nlohmann::json::parse(line); record.contains("validation_loss")) {
      EXPECT_DOUBLE_EQ(record["validation_bleu"].get<double>(), expected.score());
      ++validations;
    }
  EXPECT_EQ(validations, 2);
}

TEST_F(TrainerTest, MissingEntriesAreErrors) {
  FakeEngine engine(64, 8, 16);
  engine.entries.erase("accumulate_step");
  options.microBatches = 2;
  auto end = train(engine, "log", false);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("accumulate=true"), std::string::npos) << end.message();
}

TEST_F(TrainerTest, ResumeRefusesAnotherModel) {
  FakeEngine engine(64, 8, 16), other(64, 8, 16);
  ASSERT_TRUE(train(engine, "log", false).ok());
  other.text.replace(other.text.find("\"d_model\": 8"), 12, "\"d_model\": 9");
  auto end = train(other, "log", true);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("d_model (8, now 9)"), std::string::npos) << end.message();
}

TEST_F(TrainerTest, ResumeWithoutACheckpointSaysSo) {
  FakeEngine engine(64, 8, 16);
  auto end = train(engine, "log", true);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("no checkpoint"), std::string::npos) << end.message();
}

// A loss of more than ten blind guesses means that the training has diverged.
TEST_F(TrainerTest, ExplodingLossStops) {
  options.saveEvery = 5;
  FakeEngine engine(64, 8, 16);
  engine.explodeAtStep = 7;
  auto end = train(engine, "log", false);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.message().find("the loss is 1000 at step 8, in the entry 'train_step', and ten times"),
            std::string::npos)
      << end.message();
  EXPECT_EQ(Manifest::read(newest())->step, 5u);
}

TEST_F(TrainerTest, PatienceEndsAndResumes) {
  validation = packInOrder(corpus.pairs, options.limits);
  options.steps = 100;
  options.validateEvery = 2;
  options.patience = 3;
  FakeEngine engine(64, 8, 16), again(64, 8, 16);
  engine.validationLosses = {0.9f, 0.5f, 0.7f, 0.6f, 0.4f, 0.5f, 0.4f, 0.41f, 0.1f};
  auto end = train(engine, "log", false);
  ASSERT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(*end, TrainingEnd::Patience);
  // The best validation is the fifth; three later ones are no better.
  EXPECT_EQ(Manifest::read(newest())->step, 16u);
  EXPECT_EQ(Manifest::read(options.checkpoint / "best")->step, 10u);
  // The count of validations continues after a resume.
  end = train(again, "log", true);
  ASSERT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(*end, TrainingEnd::Patience);
  EXPECT_EQ(Manifest::read(newest())->step, 16u);
}

TEST_F(TrainerTest, OtherBatchesAfterAResumeAreSaid) {
  options.steps = 10;
  FakeEngine first(64, 8, 16), second(64, 8, 16);
  ASSERT_TRUE(train(first, "log", false).ok());
  options.steps = 12;
  options.limits.maximumTokens = 30;
  std::vector<std::string> said;
  setLogSink([&](LogLevel, std::string_view message) { said.emplace_back(message); });
  auto end = train(second, "log", true);
  setLogSink({});
  ASSERT_TRUE(end.ok()) << end.message();
  ASSERT_FALSE(said.empty());
  EXPECT_NE(said[0].find("batch-tokens (40, now 30)"), std::string::npos) << said[0];
}

TEST_F(TrainerTest, ResumeIsProved) {
  ModelDescription model = std::move(ModelDescription::parse(FakeEngine(64, 8, 16).description())).value();
  int opened = 0;
  bool forgetful = false;
  auto open = [&]() -> Result<std::unique_ptr<Engine>> {
    auto engine = std::make_unique<FakeEngine>(64, 8, 16);
    engine->forgetsMoments = forgetful && opened == 2;
    ++opened;
    return std::unique_ptr<Engine>(std::move(engine));
  };
  TrainingObserver nobody;
  TrainingInputs inputs{model, *tokenizer, corpus, validation, validationText};
  auto proof = proveResume(open, inputs, options, folder.path() / "verify", nobody);
  ASSERT_TRUE(proof.ok()) << proof.message();
  EXPECT_EQ(opened, 3);
  EXPECT_EQ(proof->interruptedAfter, 12u);
  EXPECT_EQ(proof->differences(), std::vector<std::string>());
  EXPECT_EQ(proof->whole.files.size(), 3u);

  // The check finds an engine that does not load all of its state.
  opened = 0;
  forgetful = true;
  proof = proveResume(open, inputs, options, folder.path() / "again", nobody);
  ASSERT_TRUE(proof.ok()) << proof.message();
  EXPECT_EQ(proof->differences(), (std::vector<std::string>{"optimizer.safetensors", "weights.safetensors"}));
}

TEST(Description, Keys) {
  auto model = ModelDescription::parse(R"({"vocab_size": 9, "max_tokens": 8, "max_sequences": 7, "max_length": 6})");
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model->vocabularySize, 9);
  EXPECT_EQ(model->limits().maximumTokens, 8);
  EXPECT_EQ(model->limits().maximumSequences, 7);
  EXPECT_EQ(model->limits().maximumLength, 6);
  EXPECT_FALSE(ModelDescription::parse("{}").ok());
  EXPECT_FALSE(ModelDescription::parse("junk").ok());
  EXPECT_EQ(model->marks.begin, kBeginId);
  EXPECT_EQ(model->marks.end, kEndId);
  EXPECT_FALSE(model->paddingId);
  auto marked = [](const char *marks) {
    return ModelDescription::parse(
        str(R"({"vocab_size": 9, "max_tokens": 8, "max_sequences": 7, "max_length": 6, )", marks, "}"));
  };
  auto other = marked(R"("bos_id": 8, "eos_id": 0, "pad_id": 8)");
  ASSERT_TRUE(other.ok()) << other.message();
  EXPECT_EQ(other->limits().marks.begin, 8);
  EXPECT_EQ(other->limits().marks.end, 0);
  EXPECT_EQ(other->paddingId, 8);
  EXPECT_FALSE(marked(R"("bos_id": 9)").ok()) << "no token";
  EXPECT_FALSE(marked(R"("eos_id": -1)").ok());
  EXPECT_FALSE(marked(R"("pad_id": "no")").ok());
}

TEST(Description, DifferencesOfFunction) {
  nlohmann::json a = {{"d_model", 8}, {"max_tokens", 5}, {"dropout", 0.1}}, b = a;
  b["max_tokens"] = 6;
  b["dropout"] = 0.3;
  EXPECT_TRUE(differences(a, b, true).empty());
  EXPECT_EQ(differences(a, b, false).size(), 2u);
  b["head"] = "linear"; // a key that the first description lacks
  EXPECT_TRUE(differences(a, b, true).empty());
  b["d_model"] = 16;
  EXPECT_EQ(differences(a, b, true), std::vector<std::string>{"d_model (8, now 16)"});
}

} // namespace
