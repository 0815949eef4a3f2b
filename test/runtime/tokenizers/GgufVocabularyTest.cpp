// Vocabularies in GGUF files. SentencePieceTest.cpp has those learnt by SentencePiece.
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "test/runtime/GgufBytes.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/BytePieces.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace heddle;
using heddle::test::GgufBytes;
using heddle::test::TemporaryFolder;

namespace {

using Ids = std::vector<int32_t>;

// A vocabulary like SmolLM's: 256 bytes, "ab", "abc", "<|endoftext|>" and "<|user|>".
GgufBytes ofBytes(std::string_view pre = "smollm", const std::vector<std::string> &merges = {"a b", "ab c"},
                  const nlohmann::json &all = heddle::test::bytePieces()) {
  std::vector<std::string> pieces(256);
  for (const auto &[piece, id] : all.items()) {
    pieces.resize(std::max(pieces.size(), id.get<size_t>() + 1));
    pieces[id.get<size_t>()] = piece;
  }
  std::vector<int32_t> kinds(pieces.size(), 1);
  kinds[all.at("<|endoftext|>").get<size_t>()] = 3;
  pieces.push_back("<|user|>");
  kinds.push_back(4);
  GgufBytes file;
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", pre).texts("tokenizer.ggml.tokens", pieces);
  file.wholes("tokenizer.ggml.token_type", kinds).texts("tokenizer.ggml.merges", merges);
  return file.whole("tokenizer.ggml.bos_token_id", 258).whole("tokenizer.ggml.eos_token_id", 258);
}

// A vocabulary like LLaMA 2's: bytes are 3 to 258, followed by the pieces.
GgufBytes ofPieces(std::initializer_list<std::pair<const char *, int32_t>> more = {}) {
  std::vector<std::string> pieces = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> kinds = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    pieces.push_back(name);
    kinds.push_back(6);
  }
  for (const char *piece : {"\u2581", "a", "b", "c", "bc", "\u2581a", "ab", "\u2581ab", "\u2581\u2581"}) {
    pieces.push_back(piece);
    kinds.push_back(1);
  }
  for (auto [piece, kind] : more) {
    pieces.push_back(piece);
    kinds.push_back(kind);
  }
  std::vector<float> scores(pieces.size(), 0);
  for (size_t id = 259; id < pieces.size(); ++id)
    scores[id] = -float(id);
  GgufBytes file;
  file.text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", pieces)
      .numbers("tokenizer.ggml.scores", scores);
  return file.wholes("tokenizer.ggml.token_type", kinds);
}

class GgufVocabulary : public testing::Test {
protected:
  Result<PublishedVocabulary> load(const GgufBytes &file) {
    return PublishedVocabulary::load(folder.write("model.gguf", file.file()));
  }
  void expectError(const GgufBytes &file, std::string_view part) {
    auto read = load(file);
    ASSERT_FALSE(read.ok()) << part;
    EXPECT_NE(read.message().find(part), std::string::npos) << read.message();
  }
  void expectDamageIsHarmless(const std::string &whole, std::string_view sample);

  TemporaryFolder folder;
};

TEST_F(GgufVocabulary, BytePairs) {
  auto pairs = load(ofBytes());
  ASSERT_TRUE(pairs.ok()) << pairs.message();
  EXPECT_EQ(pairs->encode("abc 12<|user|>a"), (Ids{257, 32, '1', '2', 259, 'a'}));
  EXPECT_EQ(pairs->decode(Ids{257, 259, 258, 32}), "abc<|user|><|endoftext|> ");
  EXPECT_EQ(pairs->endId(), 258);
  EXPECT_EQ(pairs->beginId(), std::nullopt);
  EXPECT_EQ(load(ofBytes().flag("tokenizer.ggml.add_bos_token", true))->beginId(), 258);
  EXPECT_EQ(load(ofBytes())->inputMarks(), nullptr);
  auto ending = load(ofBytes().flag("tokenizer.ggml.add_eos_token", true));
  ASSERT_NE(ending->inputMarks(), nullptr);
  EXPECT_EQ(ending->inputMarks()->after, std::vector{*ending->endId()});
  auto llama = load(ofBytes("llama-bpe", {"ab c", "a b"}));
  EXPECT_EQ(llama->beginId(), 258) << "without a word of it";
  EXPECT_EQ(llama->encode("abc"), (Ids{257})) << "a word that is a piece is no matter of merges";
  EXPECT_EQ(load(ofBytes("qwen2"))->encode("u\u0308"), load(ofBytes("qwen2"))->encode("\u00fc"));
  EXPECT_NE(load(ofBytes("gpt-2"))->encode("u\u0308"), load(ofBytes("gpt-2"))->encode("\u00fc"));
}

// Ids must equal those of a tokenizer.json with the patterns and steps of the models' folders. Each merge crosses a
// place where some patterns cut and others do not.
TEST_F(GgufVocabulary, CutsAsTokenizerJsonDoes) {
  using Json = nlohmann::json;
  const std::pair<const char *, const char *> crossing[] = {
      {"1", "2"},           {"12", "3"},     {"3", "4"},           {"l", "C"},          {"n", "'"}, {"'", "t"},
      {"T", "'"},           {"\u0120", "1"}, {"\u0120", "a"},      {"!", "a"},          {"/", "/"}, {"//", "\u010a"},
      {"\u010a", "\u010a"}, {"x", "\u00cc"}, {"\u00cc", "\u0123"}, {"\u0120", "\u00e4"}};
  Json pieces = heddle::test::bytePieces();
  std::vector<std::string> merges;
  Json pairs = Json::array();
  for (auto [left, right] : crossing) {
    pieces[str(left, right)] = pieces.size();
    merges.push_back(str(left, " ", right));
    pairs.push_back({left, right});
  }
  for (const char *whole : {"tH", "\u0120Ht"}) // no merge produces them
    pieces[whole] = pieces.size();
  auto split = [](const std::string &pattern) {
    return Json{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  };
  auto byteLevel = [](bool cuts) {
    return Json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", cuts}};
  };
  const Json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const std::string contracted = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))", other = R"( ?[^\s\p{L}\p{N}]+)",
                    spaces = R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
                    upper = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])",
                    lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  auto cased = [&](const std::string &end, const char *numbers) {
    return split(upper + "*" + lower + "+" + end + "|" + upper + "+" + lower + "*" + end + "|" + numbers + "|" + other +
                 R"([\r\n/]*)" + spaces);
  };
  auto letters = [&](const char *numbers) {
    return split(contracted + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)" + numbers + "|" + other + R"([\r\n]*)" + spaces);
  };
  struct Published {
    std::vector<const char *> names;
    Json cutters;
    bool ignoresMerges = false, isComposed = false;
  };
  const char *one = R"(\p{N})", *three = R"(\p{N}{1,3})";
  const Published published[] = {
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "gigachat", "mellum", "exaone4", "trillion", "a.x-4.0"},
       {byteLevel(true)}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}, {digits, byteLevel(true)}},
      {{"llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}, {letters(three), byteLevel(false)}, true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {letters(three), byteLevel(false)}},
      {{"stablelm2", "megrez", "hunyuan", "grok-2", "kormo"}, {letters(one), byteLevel(false)}},
      {{"qwen2", "deepseek-r1-qwen"}, {letters(one), byteLevel(false)}, false, true},
      {{"qwen35"},
       {split(contracted + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" + spaces),
        byteLevel(false)},
       false,
       true},
      {{"tekken"}, {cased("", one), byteLevel(false)}, true},
      {{"gpt-4o", "llama4", "kanana2", "minimax-m2"}, {cased(contracted + "?", three), byteLevel(false)}},
      {{"seed-coder"},
       {split(contracted +
              "|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
        byteLevel(false)}},
      {{"bloom", "poro-chat", "gpt3-finnish"},
       {split(" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"), byteLevel(false)}},
      {{"viking"}, {split(" ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"), split(one), byteLevel(false)}},
      {{"deepseek-coder"},
       {split("[\r\n]"), split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"),
        split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), digits, byteLevel(false)}},
      {{"deepseek-v3", "hunyuan-dense"},
       {split(three), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
        split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
              " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"),
        byteLevel(false)}}};
  const std::string text = "tH Ht camelCase don't SHOUT'S 12345 1 !abc 1!abc a\u0301b x\u0301b \u4fa2\u4fa1\u683c "
                           "1234\u5186 //x //\n\n  y1a\t\n";
  std::map<Ids, std::string> seen;
  for (const auto &[names, cutters, ignoresMerges, isComposed] : published) {
    Json whole = {{"added_tokens", Json::array({{{"id", 258}, {"content", "<|endoftext|>"}, {"special", true}}})},
                  {"normalizer", isComposed ? Json{{"type", "NFC"}} : Json()},
                  {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", cutters}}},
                  {"post_processor", nullptr},
                  {"decoder", {{"type", "ByteLevel"}}},
                  {"model", {{"type", "BPE"}, {"ignore_merges", ignoresMerges}, {"vocab", pieces}, {"merges", pairs}}}};
    TemporaryFolder model;
    model.write("tokenizer.json", whole.dump());
    auto expected = PublishedVocabulary::load(model.path());
    ASSERT_TRUE(expected.ok()) << names[0] << ": " << expected.message();
    Ids ids = expected->encode(text);
    EXPECT_TRUE(seen.emplace(ids, names[0]).second) << names[0] << " cuts as " << seen[ids] << " does";
    for (const char *name : names) {
      auto read = load(ofBytes(name, merges, pieces));
      ASSERT_TRUE(read.ok()) << read.message();
      EXPECT_EQ(read->encode(text), ids) << name;
      EXPECT_EQ(read->decode(ids), expected->decode(ids)) << name;
      EXPECT_EQ(read->beginId().has_value(), ignoresMerges) << name;
    }
  }
}

TEST_F(GgufVocabulary, Pieces) {
  auto pieces = load(ofPieces());
  ASSERT_TRUE(pieces.ok()) << pieces.message();
  EXPECT_EQ(pieces->encode("abc"), (Ids{264, 263})) << "b and c before a space and a";
  EXPECT_EQ(pieces->encode("  ab"), (Ids{267, 266})) << "a space stands before every text";
  EXPECT_EQ(pieces->encode("\u00e9"), (Ids{259, 3 + 0xc3, 3 + 0xa9})) << "bytes of what is unknown";
  EXPECT_EQ(pieces->encode("a</s>b"), (Ids{264, 2, 259, 261}));
  EXPECT_TRUE(pieces->encode("").empty());
  EXPECT_EQ(pieces->decode(Ids{264, 263, 3 + 0xc3, 3 + 0xa9}), "abc\u00e9");
  EXPECT_EQ(pieces->continuation(Ids{264}, Ids{264}), " a");
  EXPECT_EQ(pieces->continuation(Ids{264}, Ids{1, 264, 2}), " a") << "marks are no text";
  EXPECT_EQ(pieces->encodeContinuation("bc"), (Ids{263})) << "no space before it";
  EXPECT_EQ(pieces->beginId(), 1);
  EXPECT_EQ(pieces->endId(), 2);
  auto plain =
      load(ofPieces().flag("tokenizer.ggml.add_space_prefix", false).flag("tokenizer.ggml.add_bos_token", false));
  EXPECT_EQ(plain->encode("ab"), (Ids{265}));
  EXPECT_EQ(plain->beginId(), std::nullopt);
  auto unused = load(ofPieces({{"cc", 1}, {"ccb", 5}}));
  EXPECT_EQ(unused->encode("xccb"), (Ids{259, 3 + 'x', 268, 261})) << "made, and taken apart again";
  auto users = load(ofPieces({{"<|u|>", 4}}));
  EXPECT_EQ(users->encode("<|u|>a"), (Ids{259, 268, 260})) << "a text's space stands before it";
}

TEST_F(GgufVocabulary, CheckpointsKeepIt) {
  auto pieces = load(ofPieces().text("general.name", "not of the vocabulary"));
  ASSERT_EQ(pieces->files().size(), 1u);
  EXPECT_EQ(pieces->files()[0].name, "vocabulary.gguf");
  EXPECT_EQ(pieces->files()[0].bytes.find("general.name"), std::string::npos);
  TemporaryFolder checkpoint;
  checkpoint.write("vocabulary.gguf", pieces->files()[0].bytes);
  auto again = PublishedVocabulary::load(checkpoint.path());
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(again->encode("abc"), pieces->encode("abc"));
  EXPECT_EQ(again->files()[0].bytes, pieces->files()[0].bytes);
}

TEST_F(GgufVocabulary, Errors) {
  expectError(GgufBytes(), "has no vocabulary: it lacks the key 'tokenizer.ggml.model'");
  expectError(GgufBytes().text("tokenizer.ggml.model", "t5"),
              "has 'tokenizer.ggml.model' = \"t5\", and of the vocabularies");
  expectError(GgufBytes().text("tokenizer.ggml.model", "gpt2"), "it has no tokens");
  expectError(ofBytes("kimi-k2"), "has 'tokenizer.ggml.pre' = \"kimi-k2\"");
  expectError(ofBytes("kimi-k2"), "hunyuan-dense; name the folder");
  expectError(ofBytes("smollm", {"a z", "az b"}), "merge 0, is \"a z\", and not two pieces");
  auto pieces = [](const std::vector<std::string> &tokens) {
    return GgufBytes().text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens);
  };
  auto two = [&] { return pieces({"a", "b"}); };
  expectError(two(), "its tokens have no scores");
  expectError(two().numbers("tokenizer.ggml.scores", {1}),
              "'tokenizer.ggml.scores' is no list with an element for each of 2");
  expectError(two().texts("tokenizer.ggml.scores", {"1", "2"}), "the score of token 0 is no number");
  expectError(two().texts("tokenizer.ggml.token_type", {"1", "2"}), "the type of token 0 is no whole number");
  expectError(two().numbers("tokenizer.ggml.scores", {1, 2}).whole("tokenizer.ggml.eos_token_id", 2),
              "'tokenizer.ggml.eos_token_id' is no number of its 2 tokens");
  expectError(two().numbers("tokenizer.ggml.scores", {1, 2}).text("tokenizer.ggml.add_bos_token", "yes"),
              "'tokenizer.ggml.add_bos_token' is neither true nor false");
  expectError(pieces({"a", ""}), "adds the token \"\" with the number 1");
  expectError(two().text("tokenizer.ggml.precompiled_charsmap", ""), "precompiled_charsmap");
  expectError(GgufBytes().whole("tokenizer.ggml.model", 1), "'tokenizer.ggml.model' is no text");
}

void GgufVocabulary::expectDamageIsHarmless(const std::string &whole, std::string_view sample) {
  std::mt19937 random(1);
  auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  int good = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = whole;
    for (size_t changes = 1 + below(3); changes > 0 && bytes.size() > 40; --changes) {
      size_t place = 8 + below(bytes.size() - 16);
      switch (below(5)) {
      case 0:
        bytes[place] = char(below(256));
        break;
      case 1:
        bytes[place] = char(bytes[place] ^ 1 << below(8));
        break;
      case 2:
        bytes.resize(40 + below(bytes.size() - 39));
        break;
      case 3:
        std::swap(bytes[place], bytes[8 + below(bytes.size() - 16)]);
        break;
      default:
        bytes.replace(place, 4, bytes.substr(below(bytes.size() - 4), 4));
      }
    }
    auto vocabulary = PublishedVocabulary::load(folder.write("model.gguf", bytes));
    if (!vocabulary.ok())
      continue;
    ++good;
    Ids ids = vocabulary->encode(sample);
    for (int32_t id : ids)
      ASSERT_TRUE(id >= 0 && id < vocabulary->pieces());
    vocabulary->decode(ids);
  }
  EXPECT_GT(good, 100) << "some changes do no harm";
  EXPECT_LT(good, 18000) << "most do";
}

TEST_F(GgufVocabulary, DamagedBytePairs) { expectDamageIsHarmless(ofBytes().file(), "abc 12 <|user|>\xff cab"); }
TEST_F(GgufVocabulary, DamagedPieces) {
  expectDamageIsHarmless(ofPieces({{"cc", 1}, {"ccb", 5}, {"<|u|>", 4}}).file(), "abc  12 <|u|>\xff ccb\u00e9</s>");
}

} // namespace
