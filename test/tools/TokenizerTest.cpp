#include "tools/heddle-run/text/Tokenizer.h"
#include "test/tools/TemporaryFolder.h"
#include "tools/numbers/NumberSplit.h"
#include "tools/numbers/NumberWords.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;
using heddle::test::TemporaryFolder;

namespace {

class TokenizerTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(numbers::writeSplit({.directory = folder.path().string(), .train = 2'000, .valid = 1, .test = 1}), "");
  }

  Result<Tokenizer> train(int32_t pieces, VocabularyType type = VocabularyType::Bpe) {
    return Tokenizer::train({folder.path() / "train.en", folder.path() / "train.de"}, pieces, type);
  }

  TemporaryFolder folder;
};

TEST_F(TokenizerTest, RoundTrip) {
  for (VocabularyType type : {VocabularyType::Bpe, VocabularyType::Unigram}) {
    Tokenizer tokenizer = std::move(train(120, type)).value();
    EXPECT_EQ(tokenizer.pieces(), 120);
    for (uint32_t number : {0u, 16u, 121u, 30'017u, 999'999u})
      for (const std::string &words : {numbers::spellEnglish(number), numbers::spellGerman(number)}) {
        std::vector<int32_t> ids = tokenizer.encode(words);
        for (int32_t id : ids) {
          EXPECT_GT(id, kEndId);
          EXPECT_LT(id, 120);
        }
        EXPECT_EQ(tokenizer.decode(ids), words);
      }
    EXPECT_TRUE(tokenizer.encode("").empty());
    EXPECT_TRUE(tokenizer.encode("  ").empty());
  }
}

TEST_F(TokenizerTest, TrainingIsReproducible) {
  for (VocabularyType type : {VocabularyType::Bpe, VocabularyType::Unigram})
    EXPECT_EQ(train(90, type)->bytes(), train(90, type)->bytes());
  EXPECT_NE(train(90, VocabularyType::Bpe)->bytes(), train(90, VocabularyType::Unigram)->bytes());
}

TEST_F(TokenizerTest, BytesAreTheWholeModel) {
  Tokenizer first = std::move(train(90)).value();
  folder.write("spm.model", first.bytes());
  Tokenizer second = std::move(Tokenizer::load(folder.path() / "spm.model")).value();
  EXPECT_EQ(first.encode("forty-two thousand"), second.encode("forty-two thousand"));
}

TEST_F(TokenizerTest, SmallCorpusGivesFewerPieces) {
  auto tokenizer = Tokenizer::train({folder.write("a", "ab ab\n"), folder.write("b", "ba\n")}, 1'000);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.message();
  EXPECT_LT(tokenizer->pieces(), 30);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab ba")), "ab ba");
}

TEST_F(TokenizerTest, DecodeSkipsWhatIsNoPiece) {
  Tokenizer tokenizer = std::move(train(90)).value();
  std::vector<int32_t> ids = tokenizer.encode("one");
  ids.insert(ids.begin(), kBeginId);
  ids.push_back(100'000);
  ids.push_back(-1);
  ids.push_back(kEndId);
  EXPECT_EQ(tokenizer.decode(ids), "one");
}

TEST_F(TokenizerTest, Errors) {
  auto tooFew = train(8);
  ASSERT_FALSE(tooFew.ok());
  EXPECT_NE(tooFew.message().find("8 pieces"), std::string::npos) << tooFew.message();

  EXPECT_FALSE(Tokenizer::train({folder.write("empty", ""), folder.write("blank", "\n \n")}, 50).ok());
  EXPECT_FALSE(Tokenizer::train({folder.path() / "none"}, 50).ok());
  EXPECT_FALSE(Tokenizer::load(folder.write("junk", "no model")).ok());
  EXPECT_FALSE(Tokenizer::load(folder.path() / "none").ok());
}

} // namespace
