#include "runtime/tokenizers/EncoderInput.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/WordPieces.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/BytePieces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using heddle::test::TemporaryFolder;
using nlohmann::json;

namespace {

using Ids = std::vector<int32_t>;

// [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, a to e 4 to 8.
Result<WordPieces> letters(const TemporaryFolder &folder) {
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\n");
  return WordPieces::load(folder.path());
}

// Returns a vocabulary of bytes whose texts have the marks of a post-processor. 256 is <s>, and 257 </s>.
Result<PublishedVocabulary> bytes(const TemporaryFolder &folder, json processor) {
  json whole = {{"added_tokens", {{{"id", 256}, {"content", "<s>"}}, {{"id", 257}, {"content", "</s>"}}}},
                {"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
                {"post_processor", std::move(processor)},
                {"model", {{"type", "BPE"}, {"vocab", heddle::test::bytePieces()}, {"merges", json::array()}}}};
  whole["model"]["vocab"].erase("ab");
  whole["model"]["vocab"].erase("abc");
  folder.write("tokenizer.json", whole.dump());
  return PublishedVocabulary::load(folder.path());
}

json part(const char *kind, const char *name) { return {{kind, {{"id", name}, {"type_id", 0}}}}; }

} // namespace

TEST(EncoderInput, HasTheMarksOfBert) {
  TemporaryFolder folder;
  Result<WordPieces> vocabulary = letters(folder);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().message;
  const InputMarks &marks = *vocabulary->inputMarks();
  EXPECT_EQ(encodeInput(*vocabulary, marks, "a b").tokens, (Ids{2, 4, 5, 3}));
  EXPECT_EQ(encodeInput(*vocabulary, marks, "").tokens, (Ids{2, 3}));
  EXPECT_EQ(encodeInput(*vocabulary, marks, "a b", "c").tokens, (Ids{2, 4, 5, 3, 6, 3}));
  EXPECT_EQ(vocabulary->encode("a b"), (Ids{2, 4, 5, 3}));
}

TEST(EncoderInput, CutsTheLongerTextOfAPairFirst) {
  TemporaryFolder folder;
  Result<WordPieces> vocabulary = letters(folder);
  ASSERT_TRUE(vocabulary.ok());
  auto input = [&](std::string_view text, std::optional<std::string_view> second, size_t longest) {
    EncoderInput whole = encodeInput(*vocabulary, *vocabulary->inputMarks(), text, second);
    whole.cut(longest);
    return whole;
  };
  EXPECT_EQ(input("a b c d e", std::nullopt, 5).tokens, (Ids{2, 4, 5, 6, 3}));
  EXPECT_EQ(input("a b c d e", std::nullopt, 7).tokens.size(), 7u);
  EXPECT_EQ(input("a", "a b c d e", 7).tokens, (Ids{2, 4, 3, 4, 5, 6, 3}));
  EXPECT_EQ(input("a b c d e", "a", 7).tokens, (Ids{2, 4, 5, 6, 3, 4, 3}));
  EXPECT_EQ(input("a b c d", "a b c d e", 8).tokens,
            (Ids{2, 4, 5, 3, 4, 5, 6, 3})); // an odd token is the longer text's
  EXPECT_EQ(input("a b c", "a b c", 2).tokens.size(), 2u);
  EncoderInput twice = input("a b c d", "a b c d e", 8);
  twice.cut(6);
  EXPECT_EQ(twice.tokens, (Ids{2, 4, 3, 4, 5, 3}));
}

TEST(EncoderInput, HasTheMarksOfAPostProcessor) {
  json roberta = {{"type", "RobertaProcessing"}, {"cls", {"<s>", 256}}, {"sep", {"</s>", 257}}};
  json ids = {{"<s>", {{"id", "<s>"}, {"ids", {256}}}}, {"</s>", {{"id", "</s>"}, {"ids", {257}}}}};
  json text = part("Sequence", "A"), other = part("Sequence", "B"), begin = part("SpecialToken", "<s>"),
       end = part("SpecialToken", "</s>");
  json pairs = {{"type", "TemplateProcessing"},
                {"single", {begin, text, end}},
                {"pair", {begin, text, end, end, other, end}},
                {"special_tokens", ids}};
  for (const json &processor : {roberta, pairs}) {
    TemporaryFolder folder;
    Result<PublishedVocabulary> vocabulary = bytes(folder, processor);
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().message;
    ASSERT_NE(vocabulary->inputMarks(), nullptr);
    Ids a = vocabulary->encode("a"), b = vocabulary->encode("b");
    EXPECT_EQ(encodeInput(*vocabulary, *vocabulary->inputMarks(), "a", "b").tokens,
              (Ids{256, a[0], 257, 257, b[0], 257}));
  }
  // A pair that ends otherwise than a text has no form here.
  json otherwise = pairs;
  otherwise["pair"] = {begin, text, end, other};
  TemporaryFolder folder;
  Result<PublishedVocabulary> vocabulary = bytes(folder, otherwise);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().message;
  EXPECT_FALSE(vocabulary->inputMarks()->between);
}
