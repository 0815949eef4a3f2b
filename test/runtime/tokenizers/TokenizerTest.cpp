#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/NumberText.h"

#include <gtest/gtest.h>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

class TokenizerTest : public testing::Test {
protected:
  void SetUp() override {
    std::string english, german;
    for (uint32_t number = 0; number < 1'000'000; number += number < 100 ? 1 : 499) {
      english += test::englishOf(number) + "\n";
      german += test::germanOf(number) + "\n";
    }
    folder.write("train.en", english);
    folder.write("train.de", german);
  }

  Result<Tokenizer> train(int32_t pieces, VocabularyType type = VocabularyType::Bpe) {
    return Tokenizer::train({folder.path() / "train.en", folder.path() / "train.de"}, pieces, {.type = type});
  }

  TemporaryFolder folder;
};

TEST_F(TokenizerTest, RoundTrip) {
  for (VocabularyType type : {VocabularyType::Bpe, VocabularyType::Unigram}) {
    Tokenizer tokenizer = std::move(train(120, type)).value();
    EXPECT_EQ(tokenizer.pieces(), 120);
    for (uint32_t number : {0u, 16u, 121u, 30'017u, 999'999u})
      for (const std::string &words : {test::englishOf(number), test::germanOf(number)}) {
        std::vector<int32_t> ids = tokenizer.encode(words);
        for (int32_t id : ids) {
          EXPECT_GT(id, kEndId);
          EXPECT_LT(id, 120);
        }
        EXPECT_EQ(tokenizer.decode(ids), words);
      }
    std::string spelt;
    for (int32_t id : tokenizer.encode("forty-two"))
      spelt += tokenizer.piece(id);
    EXPECT_EQ(spelt, "\u2581forty-two");
    EXPECT_EQ(tokenizer.piece(kEndId), "</s>");
    EXPECT_EQ(tokenizer.piece(120), "#120");
    EXPECT_EQ(tokenizer.piece(-1), "#-1");
    EXPECT_TRUE(tokenizer.encode("").empty());
    EXPECT_TRUE(tokenizer.encode("  ").empty());
  }
}

TEST_F(TokenizerTest, TrainingIsReproducible) {
  for (VocabularyType type : {VocabularyType::Bpe, VocabularyType::Unigram})
    EXPECT_EQ(train(90, type)->files()[0].bytes, train(90, type)->files()[0].bytes);
  EXPECT_NE(train(90, VocabularyType::Bpe)->files()[0].bytes, train(90, VocabularyType::Unigram)->files()[0].bytes);
}

TEST_F(TokenizerTest, FilesAreTheWholeModel) {
  Tokenizer first = std::move(train(90)).value();
  ASSERT_EQ(first.files().size(), 1u);
  folder.write(first.files()[0].name, first.files()[0].bytes);
  Tokenizer second = std::move(Tokenizer::loadFolder(folder.path())).value();
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

// A vocabulary like Marian's: a model for each side, and separate ids.
TEST_F(TokenizerTest, ModelsOfTwoSides) {
  auto side = [&](const char *text) {
    return std::move(Tokenizer::train({folder.write("text", text)}, 30)).value().files()[0].bytes;
  };
  folder.write("source.spm", side("ab ab\n"));
  folder.write("target.spm", side("ba ba\n"));
  folder.write("vocab.json", R"({"</s>": 0, "<unk>": 1, ">>de<<": 2, "▁": 3, "a": 4, "b": 5, "▁a": 6, "▁b": 7,
                                 "▁ab": 8, "▁ba": 9, "ab": 10, "ba": 11, "<pad>": 12})");
  auto tokenizer = Tokenizer::loadFolder(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.message();
  EXPECT_EQ(tokenizer->pieces(), 13);
  EXPECT_EQ(tokenizer->endId(), 0);
  EXPECT_EQ(tokenizer->files().size(), 3u);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab ab")), "ab ab");
  EXPECT_EQ(tokenizer->decode(tokenizer->encodeTarget("ba")), "ba");
  std::vector<int32_t> told = tokenizer->encode(">>de<< ab"), plain = tokenizer->encode("ab");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front(), 2);
  EXPECT_EQ(std::vector(told.begin() + 1, told.end()), plain);
  EXPECT_EQ(tokenizer->encode("ab?").back(), 1) << "an unknown piece";
  EXPECT_EQ(tokenizer->encode(">>xx<< ab").front(), 1) << "an unknown language";
  EXPECT_EQ(tokenizer->unknownParts(">>xx<< ab? ?"), (std::vector<std::string>{">>xx<<", "?"}));
  EXPECT_TRUE(tokenizer->unknownParts(">>de<< ab").empty());
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{12, 9, 1, 99, -1, 9, 0}), "ba ba") << "marks are no words";

  folder.write("vocab.json", R"({"</s>": 0, "<unk>": 1})");
  EXPECT_NE(Tokenizer::loadFolder(folder.path()).message().find("lacks \"<pad>\""), std::string::npos);
  folder.write("vocab.json", R"({"</s>": 0, "<unk>": 0, "<pad>": 1})");
  EXPECT_NE(Tokenizer::loadFolder(folder.path()).message().find("same number"), std::string::npos);
  folder.write("vocab.json", "[1]");
  EXPECT_NE(Tokenizer::loadFolder(folder.path()).message().find("not a vocabulary"), std::string::npos);
}

TEST_F(TokenizerTest, KnowsWhatItDoesNotKnow) {
  auto tokenizer = train(60);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.message();
  EXPECT_TRUE(tokenizer->unknownParts("four thousand two").empty());
  EXPECT_TRUE(tokenizer->unknownParts("").empty());
  EXPECT_EQ(tokenizer->unknownParts("four \xce\xa9\xce\xa9 two \xe2\x98\x83 \xe2\x98\x83"),
            (std::vector<std::string>{"\xce\xa9\xce\xa9", "\xe2\x98\x83"}));
}

TEST_F(TokenizerTest, Errors) {
  auto tooFew = train(8);
  ASSERT_FALSE(tooFew.ok());
  EXPECT_TRUE(tooFew.message().starts_with("a vocabulary of 8 pieces is too small: the text needs "))
      << tooFew.message();
  EXPECT_NE(tooFew.message().find("Compile with --set vocab_size="), std::string::npos) << tooFew.message();

  EXPECT_FALSE(Tokenizer::train({folder.write("empty", ""), folder.write("blank", "\n \n")}, 50).ok());
  EXPECT_FALSE(Tokenizer::train({folder.path() / "none"}, 50).ok());
  EXPECT_FALSE(Tokenizer::load(folder.write("junk", "no model")).ok());
  EXPECT_FALSE(Tokenizer::load(folder.path() / "none").ok());
}

} // namespace
