#include "runtime/data/TextRecords.h"
#include "runtime/data/BatchSource.h"
#include "runtime/data/PreferenceRecords.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/BytePieces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using heddle::test::bytePieces;
using heddle::test::TemporaryFolder;
using nlohmann::json;

namespace {

using Ids = std::vector<int32_t>;

json sequence(const char *key, std::vector<json> steps) { return {{"type", "Sequence"}, {key, steps}}; }

class TextRecordsTest : public testing::Test {
protected:
  // Returns pieces by name, so that expectations are readable: "▁a b <user>".
  static std::string pieces(const TextCodec &vocabulary, std::span<const int32_t> ids) {
    std::string text;
    for (int32_t id : ids)
      text += (text.empty() ? "" : " ") + vocabulary.piece(id);
    return text;
  }
  static std::string encoded(const TextCodec &vocabulary, std::string prompt, std::string completion) {
    TextRecordTokens record = TextRecordTokens::of({{{prompt, false}, {completion, true}}}, vocabulary);
    size_t given = record.learnt.empty() ? record.tokens.size() : record.learnt[0].begin;
    EXPECT_EQ(std::vector(record.tokens.begin(), record.tokens.begin() + long(given)), vocabulary.encode(prompt))
        << "the prompt's tokens are those that a model is given to continue";
    std::span all(record.tokens);
    return str(pieces(vocabulary, all.first(given)), " | ", pieces(vocabulary, all.subspan(given)),
               record.isRecut ? " (recut)" : "");
  }

  // Byte pairs of characters, without bytes for unknown text.
  PublishedVocabulary load(json normalizer, json preTokenizer) {
    json vocab = {{"<unk>", 0}, {"<s>", 1}};
    for (const char *piece : {"▁", "a", "b", "c", ",", "▁a", "▁b", "ab", "▁ab"})
      vocab[piece] = vocab.size();
    json added = {{{"id", 20}, {"content", "<user>"}, {"special", true}}};
    json file = {
        {"added_tokens", added},
        {"normalizer", normalizer},
        {"pre_tokenizer", preTokenizer},
        {"decoder", {{"type", "Fuse"}}},
        {"model",
         {{"type", "BPE"}, {"unk_token", "<unk>"}, {"vocab", vocab}, {"merges", {"▁ a", "▁ b", "a b", "▁a b"}}}}};
    folder.write("tokenizer.json", file.dump());
    return std::move(PublishedVocabulary::load(folder.path())).value();
  }

  TemporaryFolder folder;
};

// A space in front of a text belongs to the prompt, not to the text after the prompt.
TEST_F(TextRecordsTest, APrefixOfEveryText) {
  json spaces = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  json prefix = {{"type", "Prepend"}, {"prepend", "▁"}};
  PublishedVocabulary llama = load(sequence("normalizers", {prefix, spaces}), nullptr);
  EXPECT_EQ(encoded(llama, "ab", ", a"), "▁ab | , ▁a");
  EXPECT_EQ(encoded(llama, "ab", " ab"), "▁ab | ▁ab");
  EXPECT_EQ(encoded(llama, "a", "b"), "▁a | b (recut)") << "▁ab in one piece";
  EXPECT_EQ(encoded(llama, "ab ", "ab"), "▁ab ▁ | ab (recut)") << "▁ab ▁ab in one piece";
  EXPECT_EQ(encoded(llama, "", "ab"), " | ▁ab") << "a whole text";
  EXPECT_EQ(encoded(llama, "ab", ""), "▁ab | ");
  EXPECT_EQ(encoded(llama, "ab<user>", "ab"), "▁ab <user> | ▁ab") << "a token divides a text into texts";
}

TEST_F(TextRecordsTest, WordsWithAMark) {
  for (const char *scheme : {"always", "first"}) {
    json mark = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}};
    PublishedVocabulary words = load(nullptr, mark);
    EXPECT_EQ(encoded(words, "ab", ",ab ab"), "▁ab | , ab ▁ab");
    EXPECT_EQ(encoded(words, "a", "b a"), "▁a | b ▁a (recut)");
    EXPECT_EQ(encoded(words, "a", " b"), "▁a | ▁b");
  }
  json mark = {{"type", "Metaspace"}, {"replacement", "▁"}, {"add_prefix_space", true}};
  PublishedVocabulary divided = load(nullptr, sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, mark}));
  EXPECT_EQ(encoded(divided, "a", "b a"), "▁a | b ▁a (recut)");
  EXPECT_EQ(encoded(divided, "a", "  b"), "▁a | ▁b");
  json strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  mark["split"] = false;
  PublishedVocabulary stripped = load(strip, mark);
  EXPECT_EQ(encoded(stripped, "ab", " a"), "▁ab | ▁a");
  EXPECT_EQ(encoded(stripped, "ab ", "a"), "▁ab | ▁a");
  EXPECT_EQ(pieces(stripped, stripped.encodeContinuation(" a")), "▁a") << "a continuation keeps its space";
}

TEST_F(TextRecordsTest, BytesHaveNoPrefix) {
  json file = {{"added_tokens", json::array()},
               {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
               {"model", {{"type", "BPE"}, {"vocab", bytePieces()}, {"merges", {"a b", "ab c"}}}}};
  folder.write("tokenizer.json", file.dump());
  PublishedVocabulary bytes = std::move(PublishedVocabulary::load(folder.path())).value();
  EXPECT_EQ(encoded(bytes, "ab", " ab"), "ab | Ġ ab");
  EXPECT_EQ(encoded(bytes, "ab", "c"), "ab | c (recut)");
  EXPECT_EQ(encoded(bytes, "a\xc3", "\xa9"), "a Ã | ©");
}

TEST_F(TextRecordsTest, LearntVocabularies) {
  auto file = folder.write("text", "ab ba\nab, ab\nba ab\n");
  for (VocabularyType type : {VocabularyType::Bpe, VocabularyType::Unigram}) {
    Tokenizer learnt = std::move(Tokenizer::train({file}, 12, {.type = type})).value();
    std::string whole = encoded(learnt, "ab ba", " ab, ab"), cut = encoded(learnt, "ba a", "b");
    EXPECT_FALSE(whole.ends_with("(recut)")) << whole;
    EXPECT_NE(whole.find("| ▁ab"), std::string::npos) << whole;
    EXPECT_EQ(pieces(learnt, learnt.encodeContinuation("b"))[0], 'b') << cut;
    EXPECT_EQ(learnt.encodeContinuation("  ab  ba "), learnt.encode("ab ba"));
    EXPECT_FALSE(pieces(learnt, learnt.encodeContinuation("a, ab")).starts_with("▁"));
    EXPECT_TRUE(learnt.encodeContinuation("").empty());
  }
}

// In a conversation the assistant's parts are learnt, each with its end mark, and no other mark is added.
TEST_F(TextRecordsTest, Conversations) {
  json spaces = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  PublishedVocabulary llama = load(spaces, nullptr);
  auto chat = [](std::string_view line, const std::string &) -> Result<std::vector<RecordPart>> {
    if (line.find("none") != std::string_view::npos)
      return std::vector<RecordPart>{{"ab", false}};
    return std::vector<RecordPart>{{"ab", false}, {" a,", true}, {" b c", false}, {" a", true}, {"", false}};
  };
  auto text = LineBlocks::open(folder.write("text", R"({"messages": []}
{"messages": ["none"]}
{"text": "ab"}
)"),
                               folder.path(), BlockBegin::AnyLine);
  ASSERT_TRUE(checkRecords<TextRecord>(*text, chat).ok());
  Corpus corpus = std::move(readCorpus(TextRecords(*text, llama, 100, {1, 0}, chat))).value();
  ASSERT_EQ(corpus.examples.size(), 2u) << "one has nothing to learn";
  EXPECT_EQ(pieces(llama, corpus.examples[0].target), "ab ▁a , ▁b ▁ c ▁a");
  Batch batch;
  batch.add(corpus.examples[0]);
  EXPECT_EQ(batch.weights, (std::vector<float>{1, 1, 0, 0, 0, 1}));
  batch.add(corpus.examples[1]);
  EXPECT_EQ(batch.weights, (std::vector<float>{1, 1, 0, 0, 0, 1, 1, 1})) << "<s> ab <unk>";
  EXPECT_EQ(textOfTextRecord(R"({"messages": []})"), "");
  for (const char *wrong : {R"({"messages": [], "text": "a"})", R"({"prompt": "a"})", "[]"})
    EXPECT_FALSE(TextRecord::parse(wrong, "here", chat).ok()) << wrong;
}

// A pair is one example: both answers are in one batch, and only their tokens count.
TEST_F(TextRecordsTest, Preferences) {
  json spaces = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  PublishedVocabulary llama = load(spaces, nullptr);
  auto chat = [](std::string_view line, const std::string &) -> Result<std::vector<RecordPart>> {
    bool isChosen = json::parse(line)["messages"].back()["content"] == "yes";
    return std::vector<RecordPart>{{"a", false}, {"b", true}, {"a", false}, {isChosen ? "ab" : "c", true}};
  };
  auto text = LineBlocks::open(folder.write("pairs", R"({"prompt": "a", "chosen": " b", "rejected": " b c"}
{"messages": [{"role": "user", "content": "?"}], "chosen": "yes", "rejected": {"role": "assistant", "content": "no"}}
{"prompt": "", "chosen": "", "rejected": ""}
)"),
                               folder.path(), BlockBegin::AnyLine);
  ASSERT_TRUE(checkRecords<PreferenceRecord>(*text, chat).ok());
  Marks marks{1, 0};
  PreferenceRecords records(*text, llama, 100, marks, chat);
  Corpus corpus = std::move(readCorpus(records)).value();
  ASSERT_EQ(corpus.examples.size(), 3u);
  EXPECT_EQ(pieces(llama, corpus.examples[0].target), "<s> a ▁b <unk>");
  Batch batch;
  batch.add(corpus.examples[0]);
  batch.add(corpus.examples[1]);
  EXPECT_EQ(batch.partner, (std::vector<int32_t>{1, 0, 3, 2}));
  EXPECT_EQ(batch.preferred, (std::vector<float>{1, -1, 1, -1}));
  EXPECT_EQ(batch.predictions(), 2);
  EXPECT_EQ(batch.sequences(), 4);
  size_t second = size_t(batch.target.starts[2]);
  EXPECT_EQ(std::vector(batch.weights.begin(), batch.weights.begin() + 3), (std::vector<float>{0, 1, 1}));
  EXPECT_EQ(batch.weights[second], 0) << "an earlier answer of the assistant is a part of the prompt";
  BatchLimits limits{.maximumTokens = 100, .maximumSequences = 3, .maximumLength = 100, .marks = marks};
  EXPECT_FALSE(batch.hasRoomFor(corpus.examples[2], limits));
  std::vector<uint32_t> order;
  std::vector<size_t> ends;
  planBatches(corpus.examples, {.limits = limits}, 0, 0, order, ends);
  EXPECT_EQ(ends, (std::vector<size_t>{1, 2, 3})) << "three sequences have room for one pair";
  EXPECT_EQ(textOfPreferenceRecord(R"({"prompt": "a", "chosen": "b", "rejected": "c"})"), "abc");
  for (const char *wrong :
       {R"({"prompt": "a", "chosen": "b"})", R"({"chosen": "a", "rejected": "b"})", R"([])",
        R"({"prompt": "a", "messages": [], "chosen": "b", "rejected": "c"})",
        R"({"prompt": "a", "chosen": 1, "rejected": "c"})", R"({"messages": [1], "chosen": "b", "rejected": "c"})"})
    EXPECT_FALSE(PreferenceRecord::parse(wrong, "here", chat).ok()) << wrong;
}

TEST_F(TextRecordsTest, TheReportCountsThem) {
  json spaces = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  json prefix = {{"type", "Prepend"}, {"prepend", "▁"}};
  PublishedVocabulary llama = load(sequence("normalizers", {prefix, spaces}), nullptr);
  auto read = [&](const char *lines) {
    auto text = LineBlocks::open(folder.write("text", lines), folder.path(), BlockBegin::AnyLine);
    return std::move(readCorpus(TextRecords(*text, llama, 100, {1, 0}, {}))).value();
  };
  Corpus corpus = read(R"({"prompt": "ab", "completion": " a"}
{"prompt": "a", "completion": "b"}
{"prompt": "b", "completion": "b"}
{"text": "ab"}
)");
  EXPECT_EQ(corpus.examples.size(), 4u);
  EXPECT_EQ(pieces(llama, corpus.examples[1].target), "<s> ▁a b <unk>");
  EXPECT_EQ(corpus.examples[1].learnt[0].begin, 2u);
  EXPECT_TRUE(corpus.report.isWorthAWarning());
  EXPECT_EQ(corpus.report.describe(100), "4 records; 1 has other tokens than the same text in one piece, as a token "
                                         "would cross the prompt's end");
  EXPECT_FALSE(read("{\"text\": \"ab\"}\n").report.isWorthAWarning());
}

} // namespace
