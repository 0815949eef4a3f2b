#include "runtime/data/HiddenWords.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

class HiddenWordsTest : public testing::Test {
protected:
  TemporaryFolder folder;
  // Words are whole pieces.
  Tokenizer vocabulary = std::move(Tokenizer::train({folder.write("words", "a b c d e f g h i j k l m n o p\n")}, 30,
                                                    {.type = VocabularyType::Word, .mask = true}))
                             .value();

  Result<Corpus> read(std::string_view lines, int64_t maximumLength = 32, Draw draw = {},
                      DocumentKind kind = DocumentKind::BetweenBlankLines) {
    HEDDLE_ASSIGN(LineBlocks text,
                  LineBlocks::open(folder.write("text", lines), folder.path(), TextDocuments::blockBegin(kind)));
    return readAll(HiddenWords(text, vocabulary, kind, maximumLength, {}), draw);
  }
  // The same of whole documents.
  Result<Corpus> readMasked(std::string_view lines, int64_t maximumLength, Draw draw, DocumentKind kind) {
    HEDDLE_ASSIGN(LineBlocks text,
                  LineBlocks::open(folder.write("text", lines), folder.path(), TextDocuments::blockBegin(kind)));
    return readAll(MaskedDocuments(text, vocabulary, kind, maximumLength, {}), draw);
  }

private:
  static Result<Corpus> readAll(const ExampleBlocks &blocks, Draw draw) {
    Corpus corpus;
    for (size_t block = 0; block < blocks.blocks(); ++block)
      HEDDLE_CHECK(blocks.read(block, draw, corpus.examples, corpus.report));
    return corpus;
  }
};

TEST_F(HiddenWordsTest, TheVocabularyHasAMask) {
  EXPECT_EQ(vocabulary.maskId(), 3);
  EXPECT_EQ(vocabulary.encode("a [MASK] b").size(), 3u);
  EXPECT_FALSE(Tokenizer::train({folder.path() / "words"}, 30)->maskId());
}

// 15% of the words are chosen; 80% of them become the mask, 10% another word, and 10% stay, within random variation.
TEST_F(HiddenWordsTest, HidesAsManyWordsAsTold) {
  OrderRandom random(1, 2, 3);
  std::vector<int32_t> tokens(100, 5);
  tokens.front() = kBeginId;
  tokens[50] = tokens.back() = kEndId;
  int chosen = 0, masked = 0, kept = 0, other = 0;
  for (int i = 0; i < 400; ++i) {
    HiddenTokens hidden = hideTokens(tokens, vocabulary, {}, random);
    for (size_t j = 0; j < tokens.size(); ++j) {
      if (hidden.labels[j] < 0) {
        EXPECT_EQ(hidden.tokens[j], tokens[j]);
        continue;
      }
      ++chosen;
      EXPECT_EQ(hidden.labels[j], 5);
      masked += hidden.tokens[j] == *vocabulary.maskId();
      kept += hidden.tokens[j] == 5;
      other += hidden.tokens[j] != 5 && hidden.tokens[j] != *vocabulary.maskId();
      EXPECT_TRUE(hidden.tokens[j] != kBeginId && hidden.tokens[j] != kEndId);
    }
  }
  EXPECT_EQ(chosen, 400 * 15); // of 97 words
  EXPECT_NEAR(double(masked) / chosen, 0.8, 0.02);
  EXPECT_NEAR(double(other) / chosen, 0.1 * 16 / 17, 0.015);
  EXPECT_NEAR(double(kept) / chosen, 0.1 * 18 / 17, 0.015);
  std::vector<int32_t> two{kBeginId, 5, kEndId};
  EXPECT_EQ(hideTokens(two, vocabulary, {}, random).labels, (std::vector<int32_t>{-1, 5, -1}));
}

TEST_F(HiddenWordsTest, HalfOfTheSentencesFollow) {
  std::string lines;
  const char *letters = "abcdefghijklmnop";
  for (int document = 0; document < 1000; ++document) { // three sentences of the same letter
    std::string line = std::string(1, letters[document % 16]) + " " + letters[document % 16] + "\n";
    lines += line + line + line + "\n";
  }
  auto corpus = read(lines);
  ASSERT_TRUE(corpus.ok()) << corpus.message();
  EXPECT_EQ(corpus->report.describe(32), "1000 documents in 2000 sequences");
  int follow = 0, alike = 0;
  for (size_t i = 0; i < corpus->examples.size(); ++i) {
    Batch batch({.hasTypes = true});
    batch.add(corpus->examples[i]);
    EXPECT_EQ(batch.source.layout.lengths, (std::vector<int32_t>{7}));
    EXPECT_EQ(batch.source.types, (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1}));
    ASSERT_EQ(batch.labelled.size(), 1u); // 15% of four words
    EXPECT_EQ(batch.labels.size(), 1u);
    ASSERT_EQ(batch.follows.size(), 1u);
    std::vector<int32_t> tokens = batch.source.tokens;
    tokens[size_t(batch.labelled[0])] = batch.labels[0];
    follow += batch.follows[0];
    EXPECT_TRUE(!batch.follows[0] || tokens[2] == tokens[4]);
    alike += !batch.follows[0] && tokens[2] == tokens[4];
  }
  EXPECT_NEAR(follow / 2000.0, 0.5, 0.04);
  EXPECT_LT(alike, 100); // mostly from a document with another letter
}

TEST_F(HiddenWordsTest, LongPairsAreCutAndEpochsDiffer) {
  std::string text = "a b c d e f g h\ni j\n\nk l\nm n o p a b c\n";
  auto corpus = read(text, 9);
  ASSERT_TRUE(corpus.ok());
  ASSERT_EQ(corpus->examples.size(), 2u);
  EXPECT_EQ(corpus->examples[0].source.size(), 9u);
  auto again = read(text, 9), later = read(text, 9, {.seed = 0, .epoch = 1});
  auto tokens = [](const Examples &examples) {
    std::vector<int32_t> all;
    for (size_t i = 0; i < examples.size(); ++i)
      all.insert(all.end(), examples[i].source.begin(), examples[i].source.end());
    return all;
  };
  EXPECT_EQ(tokens(corpus->examples), tokens(again->examples));
  EXPECT_NE(tokens(corpus->examples), tokens(later->examples));
}

TEST_F(HiddenWordsTest, DocumentsOfAnyKind) {
  EXPECT_TRUE(read("a b\n\nc d\n").value().examples.empty());
  EXPECT_EQ(read("a b\n\nc d\n", 32, {}, DocumentKind::File).value().examples.size(), 1u);
  EXPECT_EQ(read("a b\nc d\n").value().examples.size(), 1u); // the only pair is of a sentence and an equal one
  auto broken = read("a b\nc \xff\n\nd e\nf g\n");
  ASSERT_TRUE(broken.ok());
  EXPECT_EQ(broken->examples.size(), 1u);
  EXPECT_NE(broken->report.describe(32).find("line 2"), std::string::npos) << broken->report.describe(32);
}

// Documents are cut into sequences with both marks. Only seed and epoch decide which words are hidden.
TEST_F(HiddenWordsTest, MaskedDocuments) {
  constexpr const char *kText = "a b c d\n\ne f\ng h i j\n";
  auto lines = readMasked(kText, 8, {}, DocumentKind::Line);
  ASSERT_TRUE(lines.ok()) << lines.message();
  EXPECT_EQ(lines->report.describe(8), "3 documents in 3 sequences");
  auto paragraphs = readMasked(kText, 6, {7, 1}, DocumentKind::BetweenBlankLines);
  ASSERT_TRUE(paragraphs.ok()) << paragraphs.message();
  EXPECT_EQ(paragraphs->report.describe(6), "2 documents in 3 sequences");
  auto again = readMasked(kText, 6, {7, 1}, DocumentKind::BetweenBlankLines);
  std::vector<int32_t> words, whole = vocabulary.encode("a b c d e f g h i j");
  std::vector<size_t> lengths;
  for (size_t i = 0; i < paragraphs->examples.size(); ++i) {
    Example example = paragraphs->examples[i], other = again->examples[i];
    EXPECT_TRUE(std::ranges::equal(example.source, other.source));
    EXPECT_TRUE(std::ranges::equal(example.labelled, other.labelled));
    EXPECT_TRUE(example.follows.empty());
    EXPECT_EQ(example.source.front(), kBeginId);
    EXPECT_EQ(example.source.back(), kEndId);
    ASSERT_EQ(example.labels.size(), 1u) << "15% of four words, at least one";
    std::vector<int32_t> known(example.source.begin() + 1, example.source.end() - 1);
    known[size_t(example.labelled[0]) - 1] = example.labels[0];
    words.insert(words.end(), known.begin(), known.end());
    lengths.push_back(known.size());
  }
  EXPECT_EQ(words, whole);
  EXPECT_EQ(lengths, (std::vector<size_t>{4, 4, 2}));
  auto file = readMasked(kText, 32, {}, DocumentKind::File);
  EXPECT_EQ(file->examples.size(), 1u);
}

} // namespace
