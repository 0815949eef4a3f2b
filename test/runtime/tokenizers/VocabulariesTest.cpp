#include "runtime/text/Escapes.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/Base64.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/WordPieces.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/BytePieces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include <ctime>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

std::vector<std::string> firstWords(std::string_view text) {
  std::vector<std::string> words;
  for (; !text.empty(); text.remove_prefix(words.back().size()))
    words.emplace_back(text.substr(0, firstWordBytes(text)));
  return words;
}

using Words = std::vector<std::string>;

// The examples of RFC 4648, section 10.
TEST(Base64, IsWhatTheStandardSays) {
  std::string bytes = "foobar";
  const char *texts[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (size_t length = 0; length <= bytes.size(); ++length) {
    EXPECT_EQ(toBase64(bytes.substr(0, length)), texts[length]);
    EXPECT_EQ(fromBase64(texts[length]), bytes.substr(0, length));
  }
  EXPECT_EQ(toBase64("\xff\xfe"), "//4=");
}

TEST(BytePairs, Words) {
  EXPECT_EQ(firstWords("They're here, aren't 12 of'em?"),
            (Words{"They", "'re", " here", ",", " aren", "'t", " 12", " of", "'", "em", "?"}));
  EXPECT_EQ(firstWords("a  b \t c\t\td  "), (Words{"a", " ", " b", " \t", " c", "\t", "\t", "d", "  "}));
  EXPECT_EQ(firstWords("x\u00a0y \u3000é½ ²a"), (Words{"x", "\u00a0", "y", " ", "\u3000", "é", "½", " ²", "a"}));
  EXPECT_EQ(firstWords(" !'s 'S"), (Words{" !'", "s", " '", "S"}));
  EXPECT_EQ(firstWords("\xff\xc3 \x80"), (Words{"\xff\xc3", " \x80"})) << "no character is any other";
}

class VocabularyFolder : public testing::Test {
protected:
  void writeBytePairs(const std::string &merges) {
    folder.write("vocab.json", heddle::test::bytePieces().dump());
    folder.write("merges.txt", merges);
  }
  TemporaryFolder folder;
};

TEST_F(VocabularyFolder, BytePairs) {
  writeBytePairs("#version: 0.2\na b\nab c\n");
  auto pairs = PublishedVocabulary::load(folder.path());
  ASSERT_TRUE(pairs.ok()) << pairs.message();
  EXPECT_EQ(pairs->pieces(), 259);
  EXPECT_EQ(pairs->endId(), 258);
  EXPECT_EQ(pairs->encode("abcab"), (std::vector<int32_t>{257, 256}));
  EXPECT_EQ(pairs->encode("a b<|endoftext|>\xff"), (std::vector<int32_t>{'a', ' ', 'b', 258, 255}));
  EXPECT_EQ(pairs->piece(' '), "\u0120");
  EXPECT_EQ(pairs->piece(259), "#259");
  EXPECT_EQ(pairs->decode(std::vector<int32_t>{257, 300, -1, ' ', 258}), "abc <|endoftext|>");
  EXPECT_TRUE(pairs->encode("").empty());
  EXPECT_TRUE(rc::check("any bytes come back",
                        [&](const std::string &text) { RC_ASSERT(pairs->decode(pairs->encode(text)) == text); }));
}

TEST_F(VocabularyFolder, BytePairErrors) {
  auto message = [&] { return PublishedVocabulary::load(folder.path()).message(); };
  EXPECT_NE(message().find("has no vocab.json, and the vocabulary of GPT-2 is vocab.json and merges.txt"),
            std::string::npos);
  folder.write("vocab.json", "{}");
  EXPECT_NE(message().find("has no merges.txt"), std::string::npos);
  folder.write("merges.txt", "");
  EXPECT_NE(message().find("it lacks the pieces of all 256 bytes"), std::string::npos);
  for (const char *merges : {"a c\n", "ab\n", "a b c\n", "\u6771 b\n"}) {
    writeBytePairs(merges);
    EXPECT_NE(message().find("merges.txt', line 1, is \""), std::string::npos) << merges;
  }
}

// The same pieces in a tokenizer.json.
TEST_F(VocabularyFolder, WordPiecesInTokenizerJson) {
  nlohmann::json file = {
      {"added_tokens", {{{"id", 3}, {"content", "[MASK]"}, {"lstrip", true}}}},
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}, {"strip_accents", nullptr}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", "[UNK]"},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 6},
        {"vocab",
         {{"[UNK]", 0}, {"[CLS]", 1}, {"[SEP]", 2}, {"[MASK]", 3}, {"a", 4}, {"##b", 5}, {"\u03c3", 6}, {"!", 7}}}}}};
  auto load = [&] {
    folder.write("tokenizer.json", file.dump());
    return WordPieces::load(folder.path());
  };
  auto pieces = load();
  ASSERT_TRUE(pieces.ok()) << pieces.message();
  EXPECT_TRUE(WordPieces::isIn(folder.path()));
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(pieces->encode("Ab! \u00e1 \u03a3"), (Ids{1, 4, 5, 7, 4, 6, 2}))
      << "a sigma at a word's end is as any other";
  EXPECT_EQ(pieces->encode("a [MASK]abbbbbb"), (Ids{1, 4, 3, 0, 2})) << "a word of more than 6 characters";
  EXPECT_EQ(pieces->maskId(), 3);
  ASSERT_EQ(pieces->files().size(), 1u);
  file["normalizer"]["lowercase"] = false;
  EXPECT_EQ(load()->encode("A a"), (Ids{1, 0, 4, 2}));
  file["normalizer"]["type"] = "NFC";
  EXPECT_NE(load().message().find("has the normalizer {"), std::string::npos);
  file["model"]["type"] = "BPE";
  EXPECT_FALSE(WordPieces::isIn(folder.path()) && load().ok());
}

// A letter with very many marks takes linear time, not quadratic.
TEST_F(VocabularyFolder, MarksOfAWordPiece) {
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  WordPieces pieces = std::move(WordPieces::load(folder.path())).value();
  std::string text = "a";
  for (int i = 0; i < 100'000; ++i)
    text += "\u0301\u0323";
  std::clock_t begin = std::clock();
  EXPECT_EQ(pieces.encode(text), (std::vector<int32_t>{2, 4, 3})) << "accents are stripped";
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 4);
}

TEST_F(VocabularyFolder, WordPieces) {
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlove\n##ly\n##y\n!\ncafe\ncaf\u00e9\n\u6771\nLove\n");
  auto load = [&] { return std::move(WordPieces::load(folder.path())).value(); };
  auto ids = [](std::initializer_list<int32_t> inner) {
    std::vector<int32_t> all = {2};
    all.insert(all.end(), inner);
    all.push_back(3);
    return all;
  };
  WordPieces pieces = load();
  EXPECT_EQ(pieces.pieces(), 13);
  EXPECT_EQ(pieces.maskId(), 4);
  EXPECT_EQ(pieces.encode("LOVELY  Caf\u00e9!"), ids({5, 6, 9, 8}));
  EXPECT_EQ(pieces.encode("love[MASK]ly\u6771love [mask]"), ids({5, 4, 1, 11, 5, 1, 1, 1}));
  EXPECT_EQ(pieces.encode(" \t"), ids({}));
  EXPECT_EQ(pieces.encode("lo\u00advel\u200dy\xff"), ids({5, 6})) << "controls, and what is no UTF-8, are nothing";
  EXPECT_EQ(pieces.encode(std::string(100, 'x') + " " + std::string(101, 'x')), ids({1, 1}));
  EXPECT_EQ(pieces.decode(ids({5, 6, 8, -1, 99})), "[CLS] lovely ! [SEP]");

  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": null, "other": 1})");
  EXPECT_EQ(load().encode("Love Caf\u00e9 caf\u00e9"), ids({12, 1, 10}));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": true})");
  EXPECT_EQ(load().encode("Lovely caf\u00e9"), ids({12, 6, 9}));
  folder.write("tokenizer_config.json", R"({"tokenize_chinese_chars": false})");
  EXPECT_EQ(load().encode("\u6771love \u6771"), ids({1, 11}));

  folder.write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  EXPECT_NE(WordPieces::load(folder.path()).message().find("do_lower_case = \"yes\", which is neither"),
            std::string::npos);
  folder.write("tokenizer_config.json", "[]");
  EXPECT_NE(WordPieces::load(folder.path()).message().find("no JSON object"), std::string::npos);
  folder.write("vocab.txt", "[UNK]\n[SEP]\n");
  EXPECT_NE(WordPieces::load(folder.path()).message().find("it lacks [CLS]"), std::string::npos);
  EXPECT_EQ(WordPieces::load(folder.path() / "none").error().kind, ErrorKind::NotFound);
}

TEST(Unicode, LowerCase) {
  EXPECT_EQ(lowerCase(U"ÀB\u0130\u01c5"), U"àbi\u0307\u01c6");
  EXPECT_EQ(lowerCase(U"ΟΔΟΣ Σ ΣΑΣ. Α\u0301Σ\u0301 Σ'Α"), U"οδος σ σας. α\u0301ς\u0301 σ'α");
}

TEST(Unicode, Decomposed) {
  EXPECT_EQ(decomposed(U""), U"");
  EXPECT_EQ(decomposed(U"\u00e9\ud55c\u1e69"), U"e\u0301\u1112\u1161\u11abs\u0323\u0307");
  EXPECT_EQ(decomposed(U"a\u0307\u0323"), U"a\u0323\u0307") << "marks have an order";
  EXPECT_EQ(decomposed(U"\u1f82"), U"\u03b1\u0313\u0300\u0345");
}

TEST(Escapes, Lines) {
  EXPECT_EQ(escaped("a\nb\r\\n"), "a\\nb\\r\\\\n");
  EXPECT_EQ(unescaped("\\d\\"), "\\d\\");
  EXPECT_EQ(unescaped("\\\\n\\n"), "\\n\n");
  EXPECT_TRUE(rc::check("any text is a line", [](const std::string &text) {
    RC_ASSERT(unescaped(escaped(text)) == text);
    RC_ASSERT(escaped(text).find('\n') == std::string::npos);
  }));
}

} // namespace
