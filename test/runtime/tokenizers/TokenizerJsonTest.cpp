#include "runtime/tokenizers/PublishedVocabulary.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/BytePieces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ctime>
#include <random>

using namespace heddle;
using heddle::test::bytePieces;
using heddle::test::TemporaryFolder;
using nlohmann::json;

namespace {

using Ids = std::vector<int32_t>;

json token(int32_t id, const char *text, json more = json::object()) {
  json result = {{"id", id}, {"content", text}, {"special", false}, {"normalized", false}};
  result.update(more);
  return result;
}

json sequence(const char *key, std::vector<json> steps) { return {{"type", "Sequence"}, {key, steps}}; }
json replace(const char *text, const char *by) {
  return {{"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", by}};
}

// Returns a post-processor that adds a begin mark and an end mark.
json marks(const char *begin, int32_t beginId, const char *end, int32_t endId) {
  auto mark = [](const char *name) -> json { return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
  auto ids = [](int32_t id) -> json { return {{"ids", {id}}}; };
  return {{"type", "TemplateProcessing"},
          {"single", {mark(begin), {{"Sequence", {{"id", "A"}}}}, mark(end)}},
          {"special_tokens", {{begin, ids(beginId)}, {end, ids(endId)}}}};
}

class TokenizerJson : public testing::Test {
protected:
  // A vocabulary like SmolLM's.
  static json ofBytes() {
    json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
    json digits = {{"type", "Digits"}, {"individual_digits", true}};
    return {{"added_tokens", {{{"id", 258}, {"content", "<|endoftext|>"}}, {{"id", 260}, {"content", "<|user|>"}}}},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {digits, bytes}}}},
            {"model", {{"type", "BPE"}, {"vocab", bytePieces()}, {"merges", {"a b", "ab c"}}}}};
  }

  // A vocabulary like LLaMA 2's: bytes are 3 to 258, followed by the pieces.
  static json ofCharacters() {
    json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      vocab[name] = 3 + byte;
    }
    for (const char *piece : {"▁", "a", "b", "c", "▁a", "ab", "▁ab", "bc", "▁▁"})
      vocab[piece] = vocab.size();
    json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
    return {
        {"added_tokens",
         {token(1, "<s>", {{"special", true}}), token(2, "</s>", {{"special", true}}), token(268, "<|user|>")}},
        {"normalizer", sequence("normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}}, replace(" ", "▁")})},
        {"pre_tokenizer", nullptr},
        {"post_processor", marks("<s>", 1, "</s>", 2)},
        {"decoder", sequence("decoders", {replace("▁", " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip})},
        {"model",
         {{"type", "BPE"},
          {"byte_fallback", true},
          {"fuse_unk", true},
          {"unk_token", "<unk>"},
          {"vocab", vocab},
          {"merges", {"▁ a", "b c", json::array({"a", "b"}), "▁a b", "▁ ▁"}}}}};
  }

  // A vocabulary like T5's. Its character table maps a tab to a space.
  static json unigram() {
    auto piece = [](const char *text, double score) { return json::array({text, score}); };
    json table = {{"type", "Precompiled"},
                  {"precompiled_charsmap", "JAAAAAAEAAD/AAAAAAAAgP8AAAD/AAAA/wAAAP8AAAD/AAAACSkAACAA"}};
    json spaces = {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}};
    json metaspace = {{"type", "Metaspace"}, {"replacement", "▁"}, {"add_prefix_space", true}};
    return {
        {"added_tokens",
         {token(1, "</s>", {{"special", true}}), token(9, "<extra>", {{"lstrip", true}, {"rstrip", true}})}},
        {"normalizer", sequence("normalizers", {table, spaces})},
        {"pre_tokenizer", sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace})},
        {"post_processor", nullptr},
        {"decoder", metaspace},
        {"model",
         {{"type", "Unigram"},
          {"unk_id", 2},
          {"vocab", json::array({piece("<pad>", 0), piece("</s>", 0), piece("<unk>", 0), piece("▁", -2), piece("a", -3),
                                 piece("b", -3), piece("▁a", -4), piece("ab", -4), piece("▁ab", -7.5)})}}}};
  }

  Result<PublishedVocabulary> load(const json &whole) {
    folder.write("tokenizer.json", whole.dump());
    return PublishedVocabulary::load(folder.path());
  }

  // Checks that a change to the file is an error that contains `part`.
  template <typename Change> void expectError(json whole, Change change, std::string_view part) {
    change(whole);
    auto changed = load(whole);
    ASSERT_FALSE(changed.ok()) << part;
    EXPECT_NE(changed.message().find(part), std::string::npos) << changed.message();
  }

  // Checks that damaged files are errors, or vocabularies that work. `pieces` and `behindPieces` are the beginning of
  // the file's pieces and the text after them.
  void expectDamageIsHarmless(const json &file, std::string_view pieces, std::string_view behindPieces,
                              std::string_view text);

  TemporaryFolder folder;
};

TEST_F(TokenizerJson, BytePairs) {
  auto pairs = load(ofBytes());
  ASSERT_TRUE(pairs.ok()) << pairs.message();
  EXPECT_EQ(pairs->pieces(), 261) << "numbers may have gaps";
  EXPECT_EQ(pairs->endId(), std::nullopt) << "which tokenizer_config.json says";
  EXPECT_EQ(pairs->encode("abc 12<|user|>a"), (Ids{257, 32, '1', '2', 260, 'a'}));
  EXPECT_EQ(pairs->decode(Ids{257, 260, 259, 32}), "abc<|user|> ");
  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "<|user|>"}})");
  EXPECT_EQ(PublishedVocabulary::load(folder.path())->endId(), 260);
  folder.write("chat_template.jinja", "{{ messages }}");
  EXPECT_EQ(PublishedVocabulary::load(folder.path())->files().back().name, "chat_template.jinja")
      << "a checkpoint keeps it";
  std::filesystem::remove(folder.path() / "chat_template.jinja");

  // SmolLM and Qwen are published with GPT-2's two files beside it, which do not say how words are cut.
  folder.write("vocab.json", bytePieces().dump());
  folder.write("merges.txt", "#version: 0.2\na b\nab c\n");
  ASSERT_TRUE(PublishedVocabulary::load(folder.path()).ok());
  EXPECT_EQ(PublishedVocabulary::load(folder.path())->encode("<|user|>"), (Ids{260}));
  json plain = ofBytes();
  plain["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  plain["model"].erase("type"); // like GPT-2's own file
  plain["added_tokens"].erase(1);
  folder.write("tokenizer.json", plain.dump());
  ASSERT_TRUE(PublishedVocabulary::load(folder.path()).ok());
  EXPECT_EQ(PublishedVocabulary::load(folder.path())->endId(), 258) << "GPT-2's own files say all";
}

TEST_F(TokenizerJson, BytePairErrors) {
  auto expect = [&](auto change, std::string_view part) { expectError(ofBytes(), change, part); };
  expect([](json &whole) { whole["model"]["type"] = "WordLevel"; }, "a model of type \"WordLevel\"");
  expect([](json &whole) { whole["model"]["type"] = "Unigram"; }, "a model of type \"Unigram\" of bytes");
  expect([](json &whole) { whole["model"]["byte_fallback"] = true; }, "'byte_fallback', and pieces of bytes");
  expect([](json &whole) { whole["normalizer"] = {{"type", "BertNormalizer"}}; },
         "the normalizer {\"type\":\"BertNormalizer\"}");
  expect([](json &whole) { whole["pre_tokenizer"]["pretokenizers"][0]["type"] = "Metaspace"; }, "the pre-tokenizer");
  expect([](json &whole) { whole["post_processor"] = {{"type", "Other"}}; }, "the post-processor {\"type\":\"Other\"}");
  expect([](json &whole) { whole["added_tokens"][0]["id"] = -1; }, "with the number -1");
  expect([](json &whole) { whole["model"]["merges"][1] = "ab q"; }, "merge 1, is \"ab q\"");
  expect([](json &whole) { whole["model"]["merges"][1] = 7; }, "merge 1 is 7");
  expect(
      [](json &whole) {
        whole["model"]["vocab"] = {{"ab", 0}, {"abc", 1}};
        whole["model"]["merges"] = json::array();
      },
      "it lacks the pieces of all 256 bytes");
}

// Some tokens stand for themselves only as whole words, as in Hugging Face's tokenizers.
TEST_F(TokenizerJson, SingleWords) {
  json file = ofBytes();
  file["added_tokens"][1] = token(260, "loom", {{"single_word", true}});
  auto count = [&](const char *text) { return std::ranges::count(load(file)->encode(text), 260); };
  for (const char *text : {"loom", "a loom.", "(loom)", "loom,x", "\u201cloom\u201d", "-loom-"})
    EXPECT_EQ(count(text), 1) << text;
  for (const char *text : {"looms", "heirloom", "_loom", "loom2", "\u00e9loom", "loom\u0301", "loomloom"})
    EXPECT_EQ(count(text), 0) << text;
  EXPECT_EQ(count("loom loom looms loom"), 3);
}

// A byte without a piece is left out before its neighbours are merged, as in Hugging Face's tokenizers.
TEST_F(TokenizerJson, BytesWithoutPieces) {
  json file = ofBytes();
  for (const char *piece : {"\u0104", "z", "\u00ff"}) // the bytes 04, 7A and FF
    file["model"]["vocab"].erase(piece);
  EXPECT_EQ(load(file)->encode("a\x04!"), (Ids{'a', '!'}));
  EXPECT_EQ(load(file)->encode("azbc"), (Ids{257})) << "abc";
  EXPECT_TRUE(load(file)->encode("zz\xff").empty());
  file["model"]["vocab"]["<unk>"] = 260;
  file["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(load(file)->encode("azzb"), (Ids{'a', 260, 260, 'b'}));
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(load(file)->encode("azzbz"), (Ids{'a', 260, 'b', 260}));
}

// Marks produce no text that a reader sees; all other tokens do.
TEST_F(TokenizerJson, GeneratedMarksAreNotText) {
  auto pieces = load(ofCharacters());
  EXPECT_EQ(pieces->continuation(Ids{1, 263}, Ids{1, 263, 2, 268, 1}), " a<|user|>");
  EXPECT_EQ(pieces->continuation(Ids{1}, Ids{1, 263}), "a") << "the text's begin is behind the mark";
  EXPECT_EQ(pieces->decode(Ids{263, 1}), "a<s>") << "all tokens";
  json bytes = ofBytes();
  bytes["post_processor"] = marks("<|endoftext|>", 258, "<|endoftext|>", 258);
  EXPECT_EQ(load(bytes)->continuation(Ids{'a'}, Ids{'b', 258, 260}), "b<|user|>");
  bytes["added_tokens"][1]["special"] = true;
  EXPECT_EQ(load(bytes)->continuation(Ids{'a'}, Ids{'b', 260, 'c'}), "bc");
}

// Unrealistic sizes, which would take all memory or the whole stack.
TEST_F(TokenizerJson, StepsHaveLimits) {
  std::string thousand(1000, ' ');
  auto expect = [&](auto change, std::string_view part) { expectError(ofCharacters(), change, part); };
  expect(
      [&](json &whole) {
        whole["normalizer"] = sequence("normalizers", std::vector<json>(3, replace(" ", thousand.c_str())));
      },
      "its normalizers make a text more than 256 times as long");
  expect([&](json &whole) { whole["normalizer"] = sequence("normalizers", std::vector<json>(9, replace("a", "aa"))); },
         "256 times as long");
  expect([&](json &whole) { whole["normalizer"] = {{"type", "Prepend"}, {"prepend", thousand}}; },
         "puts 1000 bytes in front of a text");
  expect([&](json &whole) { whole["decoder"] = sequence("decoders", std::vector<json>(20, replace("a", "aa"))); },
         "its decoders make a piece more than 256 times as long");
  expect(
      [&](json &whole) {
        whole["pre_tokenizer"] = sequence("pretokenizers", std::vector<json>(50'000, {{"type", "WhitespaceSplit"}}));
      },
      "it has 50000 pre-tokenizers");
  expect(
      [&](json &whole) {
        whole["normalizer"] = sequence("normalizers", std::vector<json>(50'000, {{"type", "Lowercase"}}));
      },
      "it has 50000 normalizers");
  expect([&](json &whole) { whole["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", thousand}}; },
         "a pre-tokenizer's mark of a space has 1000 bytes");
  json usual = ofCharacters();
  usual["normalizer"] = sequence("normalizers", {{{"type", "NFKD"}}, {{"type", "Lowercase"}}, replace(" ", "▁")});
  EXPECT_EQ(load(usual)->encode("A b"), (Ids{260, 259, 261}));
}

// The ligature has a compatibility mapping, U+00E9 a canonical one.
TEST_F(TokenizerJson, NormalForms) {
  const std::pair<const char *, const char *> forms[] = {
      {"NFC", "\ufb01 \u00e9 \u00e9"},
      {"NFD", "\ufb01 e\u0301 e\u0301"},
      {"NFKC", "fi \u00e9 \u00e9"},
      {"NFKD", "fi e\u0301 e\u0301"},
  };
  for (auto [form, expected] : forms) {
    json file = ofBytes();
    file["normalizer"] = {{"type", form}};
    auto vocabulary = load(file);
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.message();
    EXPECT_EQ(vocabulary->decode(vocabulary->encode("\ufb01 \u00e9 e\u0301")), expected) << form;
  }
}

// Twice the input takes about twice the time, not four times.
TEST_F(TokenizerJson, TimeIsLinear) {
  auto seconds = [](auto work) {
    auto begin = std::clock();
    work();
    return double(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  auto expectLinear = [&](const char *what, auto work, size_t count) {
    double once = seconds([&] { work(count); }), fourfold = seconds([&] { work(4 * count); });
    EXPECT_LT(fourfold, 9 * once + 0.1) << what << ": " << once << " s, and " << fourfold
                                        << " s for four times as many";
  };
  json file = ofBytes();
  for (const char *form : {"NFC", "NFD", "NFKC", "NFKD"}) {
    file["normalizer"] = {{"type", form}};
    auto vocabulary = load(file);
    expectLinear(
        form,
        [&](size_t count) {
          std::string text = "a";
          for (size_t i = 0; i < count; ++i)
            text += "\u0301\u0323";
          vocabulary->encode(text);
        },
        10'000);
  }
  expectLinear(
      "added tokens",
      [&](size_t count) {
        WholeTokens tokens;
        for (size_t i = 0; i < count; ++i)
          tokens.add("<" + std::to_string(i), int32_t(i));
        std::string text;
        for (size_t i = 0; i < count; ++i)
          text += "<<" + std::to_string(i);
        EXPECT_EQ(tokens.cut(text).size(), 2 * count);
      },
      20'000);
}

TEST_F(TokenizerJson, Characters) {
  auto pieces = load(ofCharacters());
  ASSERT_TRUE(pieces.ok()) << pieces.message();
  EXPECT_EQ(pieces->pieces(), 269);
  EXPECT_EQ(pieces->beginId(), 1);
  EXPECT_EQ(pieces->endId(), 2);
  EXPECT_EQ(pieces->encode("ab"), (Ids{265})) << "the first merge makes ▁a";
  EXPECT_EQ(pieces->encode("abc"), (Ids{263, 266})) << "bc before ▁a b";
  EXPECT_EQ(pieces->encode("  ab"), (Ids{267, 265}));
  EXPECT_EQ(pieces->encode("\u00e9"), (Ids{259, 3 + 0xc3, 3 + 0xa9})) << "bytes of what has no piece";
  EXPECT_EQ(pieces->encode("c\xffz"), (Ids{259, 262, 3 + 0xff, 3 + 'z'})) << "and of what is no character";
  EXPECT_EQ(pieces->encode("<s>ab<|user|>a"), (Ids{1, 265, 268, 263})) << "each part by itself";
  EXPECT_TRUE(pieces->encode("").empty());
  for (const char *text : {"ab", " ab  c ", "\u00e9\n\xff", "", " "})
    EXPECT_EQ(pieces->decode(pieces->encode(text)), text);
  EXPECT_EQ(pieces->continuation(Ids{1}, Ids{263, 265}), "a ab") << "the text's begin";
  EXPECT_EQ(pieces->continuation(Ids{1, 263}, Ids{263, 265}), " a ab");
  EXPECT_EQ(pieces->continuation(Ids{}, Ids{3 + 0xc3}), "\xc3") << "half a character";

  json plain = ofCharacters();
  plain["model"]["byte_fallback"] = false;
  EXPECT_EQ(load(plain)->encode("xya\u00e9"), (Ids{259, 0, 260, 0}));
  plain["model"]["fuse_unk"] = false;
  EXPECT_EQ(load(plain)->encode("xya"), (Ids{259, 0, 0, 260}));
  plain["model"]["unk_token"] = nullptr;
  EXPECT_EQ(load(plain)->encode("xya"), (Ids{263})) << "what is unknown is left out";
  plain["model"]["ignore_merges"] = true;
  plain["model"]["merges"] = json::array();
  EXPECT_EQ(load(plain)->encode("ab"), (Ids{265}));
  EXPECT_EQ(load(plain)->encode("abc"), (Ids{259, 260, 261, 262}));
}

// A merge applies again as soon as another merge produces its pair.
TEST_F(TokenizerJson, OrderOfMerges) {
  json file = ofCharacters();
  file["model"]["merges"] = {"a bc", "b c"};
  for (const char *piece : {"abc", "bca"})
    file["model"]["vocab"][piece] = file["model"]["vocab"].size() + 1;
  int32_t abc = file["model"]["vocab"]["abc"];
  EXPECT_EQ(load(file)->encode("abcabc"), (Ids{259, abc, abc}));
  file["model"]["merges"] = {"bc a", "b c", "a bc"};
  EXPECT_EQ(load(file)->encode("abcabc"), (Ids{259, 260, abc + 1, 266}))
      << "bc a takes the second a before it has its bc";
}

TEST_F(TokenizerJson, AddedTokens) {
  json file = ofCharacters();
  file["added_tokens"].push_back(token(270, "b c", {{"normalized", true}}));
  file["added_tokens"].push_back(token(271, "<r>", {{"rstrip", true}}));
  file["added_tokens"].push_back(token(272, "<|user|>>"));
  file["normalizer"] = replace(" ", "▁");
  auto pieces = load(file);
  ASSERT_TRUE(pieces.ok()) << pieces.message();
  EXPECT_EQ(pieces->encode("ab ca"), (Ids{260, 270, 260})) << "as the normalizer makes it";
  EXPECT_EQ(pieces->encode("<r> \t a<|user|>>"), (Ids{271, 260, 272})) << "the longest";
  EXPECT_EQ(pieces->decode(Ids{271, 270}), "<r>b c");

  file["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}, {"split", false}};
  file["normalizer"] = nullptr;
  EXPECT_EQ(load(file)->encode("a<r>a b"), (Ids{263, 271, 260, 259, 261})) << "a mark at the text's begin alone";
  EXPECT_EQ(load(file)->encode("<r>a"), (Ids{271, 260}));
}

TEST_F(TokenizerJson, Marks) {
  auto expect = [&](json processor, std::optional<int32_t> begin, std::optional<int32_t> end) {
    json file = ofCharacters();
    file["post_processor"] = processor;
    auto pieces = load(file);
    ASSERT_TRUE(pieces.ok()) << pieces.message();
    EXPECT_EQ(pieces->beginId(), begin);
    EXPECT_EQ(pieces->endId(), end);
  };
  json both = marks("<s>", 1, "</s>", 2), begin = both, end = both, bytes = {{"type", "ByteLevel"}};
  begin["single"].erase(2);
  end["single"].erase(size_t(0));
  expect(begin, 1, {});
  expect(end, {}, 2);
  expect(bytes, {}, {});
  expect(sequence("processors", {bytes, begin}), 1, {});
  expect({{"type", "RobertaProcessing"}, {"cls", {"<s>", 1}}, {"sep", {"</s>", 2}}}, 1, 2);
  folder.write("tokenizer_config.json", R"({"eos_token": "<|user|>"})");
  expect(both, 1, 268);

  auto refuse = [&](auto change, std::string_view part) { expectError(ofCharacters(), change, part); };
  refuse([](json &whole) { whole["post_processor"]["special_tokens"]["<s>"]["ids"] = {1, 2}; }, "the post-processor");
  refuse([](json &whole) { whole["post_processor"]["special_tokens"]["<s>"]["ids"] = {269}; },
         "a text's mark is token 269, and the vocabulary has 269");
  refuse([](json &whole) { whole["post_processor"]["single"].push_back(whole["post_processor"]["single"][2]); },
         "the post-processor");
}

TEST_F(TokenizerJson, CharacterErrors) {
  auto expect = [&](auto change, std::string_view part) { expectError(ofCharacters(), change, part); };
  expect([](json &whole) { whole["decoder"] = nullptr; }, "the decoder null");
  expect([](json &whole) { whole["decoder"]["decoders"][3]["stop"] = 1; }, "the decoder {\"content\"");
  expect([](json &whole) { whole["decoder"]["decoders"].erase(2); }, "the decoder {\"content\"");
  expect([](json &whole) { whole["normalizer"] = replace("", "a"); }, "the normalizer");
  expect(
      [](json &whole) { whole["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "a+"}}}, {"content", ""}}; },
      "the normalizer");
  expect([](json &whole) { whole["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAA="}}; },
         "'precompiled_charsmap' is no table");
  expect([](json &whole) { whole["pre_tokenizer"] = {{"type", "Metaspace"}}; }, "the pre-tokenizer");
  expect(
      [](json &whole) {
        whole["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "Isolated"}};
      },
      "the pre-tokenizer");
  expect([](json &whole) { whole["model"]["unk_token"] = "<none>"; }, "'unk_token' is \"<none>\", and no piece");
}

TEST_F(TokenizerJson, Unigram) {
  auto pieces = load(unigram());
  ASSERT_TRUE(pieces.ok()) << pieces.message();
  EXPECT_EQ(pieces->encode("ab"), (Ids{3, 7})) << "-6, and not -7 or -7.5";
  EXPECT_EQ(pieces->encode("a\t  ab"), (Ids{6, 3, 7}))
      << "of two ways with the same score the one with the longest last piece";
  EXPECT_EQ(pieces->encode("xyazz"), (Ids{3, 2, 4, 2})) << "neighbours that are unknown are one";
  EXPECT_EQ(pieces->encode("a <extra> b"), (Ids{6, 9, 3, 5}));
  EXPECT_EQ(pieces->encode("\xff"), (Ids{3, 2}));
  EXPECT_TRUE(pieces->encode(" \t ").empty());
  EXPECT_EQ(pieces->decode(Ids{6, 8, 9, 6, 99}), "a ab<extra> a");
  EXPECT_EQ(pieces->continuation(Ids{4}, Ids{6}), " a");

  json bytes = unigram();
  bytes["model"]["byte_fallback"] = true;
  bytes["model"]["vocab"].push_back({"<0x78>", -20});
  EXPECT_EQ(load(bytes)->encode("xx"), (Ids{3, 9, 9})) << "bytes of what is unknown";
  EXPECT_EQ(load(bytes)->encode("xy"), (Ids{3, 2})) << "where each byte is a piece";

  auto expect = [&](auto change, std::string_view part) { expectError(unigram(), change, part); };
  expect([](json &whole) { whole["model"]["unk_id"] = nullptr; }, "a unigram model with 9 pieces and 'unk_id' null");
  expect([](json &whole) { whole["model"]["unk_id"] = 9; }, "'unk_id' 9");
  expect([](json &whole) { whole["model"]["vocab"][4] = "a"; }, "piece 4 is \"a\", and not a text with a score");
  expect([](json &whole) { whole["model"]["vocab"][4][0] = ""; }, "adds the token \"\"");
}

void TokenizerJson::expectDamageIsHarmless(const json &file, std::string_view pieces, std::string_view behindPieces,
                                           std::string_view sample) {
  const std::string whole = file.dump();
  std::mt19937 random(1);
  auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  // Most of the file are its pieces; half of the changes are made elsewhere.
  size_t begin = whole.find(pieces), end = whole.find(behindPieces, begin);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (size_t changes = 1 + below(3); changes > 0 && text.size() > 2; --changes) {
      size_t place = below(text.size());
      if (below(2) == 0 && place > begin && place < end)
        place = below(begin);
      switch (place %= text.size(); below(4)) {
      case 0:
        text[place] = char(below(256));
        break;
      case 1:
        text.erase(place, 1 + below(20));
        break;
      case 2:
        text.insert(place, std::string_view("[]{}\":,0-9e1tfn\\").substr(below(17), 1));
        break;
      default:
        text.insert(place, text.substr(below(text.size()), below(30)));
      }
    }
    folder.write("tokenizer.json", text);
    auto vocabulary = PublishedVocabulary::load(folder.path());
    if (!vocabulary.ok())
      continue;
    ++read;
    Ids ids = vocabulary->encode(sample);
    for (int32_t id : ids)
      ASSERT_TRUE(id >= 0 && id < vocabulary->pieces()) << text;
    vocabulary->decode(ids);
  }
  EXPECT_GT(read, 100) << "some changes do no harm";
  EXPECT_LT(read, 15000) << "most do";
}

TEST_F(TokenizerJson, DamagedBytePairs) {
  expectDamageIsHarmless(ofBytes(), "\"vocab\"", "\"normalizer\"", "abc 12 <|user|>\xff cab");
}
TEST_F(TokenizerJson, DamagedCharacters) {
  expectDamageIsHarmless(ofCharacters(), "\"vocab\"", "\"normalizer\"", "abc  12 <|user|>\xff cab\u00e9</s>");
}
TEST_F(TokenizerJson, DamagedUnigram) {
  expectDamageIsHarmless(unigram(), "\"vocab\"", "\"normalizer\"", "abc\t 12 <extra> \xff cab\u00e9 e\u0301\r\n</s>");
}

} // namespace
