#include "runtime/data/Corpus.h"
#include "runtime/data/Batches.h"
#include "runtime/data/Documents.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/TemporaryFolder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

// Each letter is one piece, so that lengths are easy to count.
class CorpusTest : public testing::Test {
protected:
  Result<Corpus> read(std::string_view source, std::string_view target, int64_t maximumLength = 16,
                      const Marks &marks = {}) {
    std::filesystem::path files[] = {folder.write("s", source), folder.write("t", target)};
    Tokenizer tokenizer = std::move(Tokenizer::train({folder.write("letters", "a b c d\n")}, 8)).value();
    HEDDLE_ASSIGN(LineBlocks text, LineBlocks::open(files[0], files[1], folder.path()));
    return readCorpus(TextPairs(text, tokenizer, maximumLength, marks));
  }

  TemporaryFolder folder;
};

TEST_F(CorpusTest, ReadsPairs) {
  auto corpus = read("a b\nc\n", "d\na a a\n");
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  ASSERT_EQ(corpus->examples.size(), 2u);
  EXPECT_EQ(corpus->examples[0].target.size(), corpus->examples[1].source.size() + 1); // two marks, and one
  EXPECT_EQ(corpus->report.skipped(), 0u);
  EXPECT_EQ(corpus->report.describe(16), "2 pairs");
}

TEST_F(CorpusTest, SkipsAndCounts) {
  auto corpus = read("a\n\nb\nc c c c c c c c c c\n\xff\na\n", "a\nb\n \nc\nd\nd\n");
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->examples.size(), 2u);
  EXPECT_EQ(corpus->report.read, 6u);
  EXPECT_EQ(corpus->report.blank, 2u);
  EXPECT_EQ(corpus->report.overLong, 1u);
  EXPECT_EQ(corpus->report.invalidUtf8, 1u);
  EXPECT_EQ(corpus->report.firstInvalidLine, 5u);
  std::string report = corpus->report.describe(16);
  EXPECT_TRUE(report.starts_with("2 of 6 pairs; skipped 2 with a blank line, 1 longer than 16 tokens, 1 not in "
                                 "UTF-8"))
      << report;
  EXPECT_NE(report.find("line 5"), std::string::npos);
}

// For a model that takes images, the source's lines are records.
TEST_F(CorpusTest, CaptionsHaveImages) {
  ImageShape shape{1, 2, 1};
  Marks marks{.image = shape};
  auto corpus = read("{\"image\": [[0.5, 1]]}\n\n{\"image\": [[2, 3]]}\n", "a b\nc\nd\n", 16, marks);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->report.blank, 1u);
  std::vector<Batch> batches =
      packInOrder(corpus->examples, {.maximumTokens = 8, .maximumSequences = 4, .maximumLength = 16, .marks = marks});
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].source.pixels, (std::vector<float>{0.5, 1, 2, 3}));
  EXPECT_EQ(batches[0].source.layout.lengths, (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(batches[0].target.lengths, (std::vector<int32_t>{5, 3})); // a letter is two pieces: a space and itself
  EXPECT_TRUE(batches[0].source.tokens.empty());
  EXPECT_NE(read("a b\n", "a\n", 16, marks).message().find("s' line 1 is no record with an \"image\""),
            std::string::npos);
}

// A source without an end mark may be a token longer, and a call holds only its tokens.
TEST_F(CorpusTest, SourcesWithoutAnEndMark) {
  const char *source = "a b c d\n\na b\n", *target = "a\nb\nc\n"; // a letter is two pieces
  auto ended = read(source, target, 8);
  ASSERT_TRUE(ended.ok()) << ended.message();
  EXPECT_EQ(ended->report.overLong, 1u);
  Marks marks{.endsSources = false};
  auto corpus = read(source, target, 8, marks);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->report.overLong, 0u);
  EXPECT_EQ(corpus->report.blank, 1u);
  std::vector<Batch> batches =
      packInOrder(corpus->examples, {.maximumTokens = 12, .maximumSequences = 4, .maximumLength = 8, .marks = marks});
  ASSERT_EQ(batches.size(), 1u) << "12 tokens of sources fill the call";
  EXPECT_EQ(batches[0].source.layout.lengths, (std::vector<int32_t>{8, 4}));
  EXPECT_EQ(batches[0].source.tokens.size(), 12u);
  EXPECT_EQ(std::ranges::count(batches[0].source.tokens, kEndId), 0);
  EXPECT_EQ(batches[0].target.lengths, (std::vector<int32_t>{3, 3}));
  EXPECT_EQ(batches[0].targetOut[2], kEndId) << "targets keep their marks";
}

// A pipe gives its bytes only once: they are kept for the vocabulary and for all passes.
TEST_F(CorpusTest, PipesCanBeReadAgain) {
  const char *words = "a b\nc d\n";
  std::filesystem::path pipes[] = {folder.path() / "source", folder.path() / "target"};
  std::vector<std::thread> writers;
  for (const std::filesystem::path &pipe : pipes) {
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    writers.emplace_back([&] { std::ofstream(pipe) << words; });
  }
  auto text = LineBlocks::open(pipes[0], pipes[1], folder.path());
  for (std::thread &writer : writers)
    writer.join();
  ASSERT_TRUE(text.ok()) << text.message();
  auto tokenizer = Tokenizer::train(text->files(), 8);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.message();
  EXPECT_TRUE(tokenizer->unknownParts("a b c d").empty());
  auto corpus = readCorpus(TextPairs(*text, *tokenizer, 16));
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->examples.size(), 2u);
  auto all = text->readAll();
  ASSERT_TRUE(all.ok()) << all.message();
  EXPECT_EQ(all->target, (std::vector<std::string>{"a b", "c d"}));
}

TEST_F(CorpusTest, UnequalFilesNameBothCounts) {
  for (bool swap : {false, true}) {
    auto corpus = swap ? read("a\n", "a\nb\nc\n") : read("a\nb\nc\n", "a\n");
    ASSERT_FALSE(corpus.ok());
    EXPECT_NE(corpus.message().find("has 3"), std::string::npos) << corpus.message();
    EXPECT_NE(corpus.message().find("has 1"), std::string::npos) << corpus.message();
  }
}

} // namespace
