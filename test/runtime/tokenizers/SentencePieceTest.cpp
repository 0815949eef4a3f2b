// Vocabularies learnt by SentencePiece and written as tokenizer.json: texts get the same tokens as from SentencePiece.
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "test/runtime/GgufBytes.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/tokenizers/NumberText.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <ctime>
#include <random>

using namespace heddle;
using heddle::test::TemporaryFolder;
using nlohmann::json;
using sentencepiece::SentencePieceProcessor;

namespace {

using Ids = std::vector<int32_t>;

std::vector<std::string> corpus() {
  std::vector<std::string> lines;
  std::mt19937 random(1);
  for (uint32_t i = 0; i < 1500; ++i) {
    uint32_t number = uint32_t(random() % 1'000'000);
    std::string plain =
        "The weaver's shuttle no. " + std::to_string(number) + " flies to and fro; it's 1/2 an ell wide!";
    lines.push_back(i % 3 == 0 ? test::englishOf(number) : i % 3 == 1 ? test::germanOf(number) : plain);
  }
  return lines;
}

std::string train(std::unordered_map<std::string, std::string> options) {
  TemporaryFolder folder;
  std::string text, model;
  for (const std::string &line : corpus())
    text += line + "\n";
  options.insert({{"num_threads", "1"}, {"vocab_size", "700"}, {"hard_vocab_limit", "false"}, {"minloglevel", "2"}});
  options["input"] = folder.write("text", text).string();
  auto status = sentencepiece::SentencePieceTrainer::Train(options, nullptr, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

// Returns the bytes of a field in a Protocol Buffers message; empty if the field is missing.
std::string_view field(std::string_view message, uint64_t wanted) {
  auto number = [&] {
    uint64_t value = 0;
    for (int shift = 0; !message.empty(); shift += 7) {
      auto byte = uint8_t(message.front());
      message.remove_prefix(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        break;
    }
    return value;
  };
  while (!message.empty()) {
    uint64_t key = number(), kind = key & 7, bytes = kind == 5 ? 4 : kind == 1 ? 8 : 0;
    if (kind == 0)
      number();
    else if (kind == 2)
      bytes = number();
    if (key >> 3 == wanted)
      return message.substr(0, bytes);
    message.remove_prefix(std::min<size_t>(bytes, message.size()));
  }
  return {};
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t place = 0; place < bytes.size(); place += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (place + i < bytes.size() ? uint8_t(bytes[place + i]) : 0);
    for (size_t i = 0; i < 4; ++i)
      text += place + i > bytes.size() ? '=' : digits[bits >> (18 - 6 * i) & 63];
  }
  return text;
}

json ofType(const char *type, json more = json::object()) {
  more["type"] = type;
  return more;
}
json ofSteps(const char *key, json steps) { return ofType("Sequence", {{key, steps}}); }
json replaceBy(json pattern, const char *by) { return ofType("Replace", {{"pattern", pattern}, {"content", by}}); }

// Returns the pairs of pieces that form a piece, highest score first, as published files list them.
json merges(const SentencePieceProcessor &model) {
  struct Merge {
    float score;
    int left, right;
  };
  auto isPiece = [&](int id) { return !model.IsControl(id) && !model.IsUnknown(id) && !model.IsByte(id); };
  std::vector<Merge> all;
  for (int id = 0; id < model.GetPieceSize(); ++id) {
    std::string_view piece = model.IdToPiece(id);
    for (size_t cut = 1; isPiece(id) && cut < piece.size(); ++cut) {
      int left = model.PieceToId(std::string(piece.substr(0, cut))),
          right = model.PieceToId(std::string(piece.substr(cut)));
      if (isPiece(left) && isPiece(right))
        all.push_back({model.GetScore(id), left, right});
    }
  }
  std::ranges::stable_sort(all, [](const Merge &a, const Merge &b) { return a.score > b.score; });
  json list = json::array();
  for (const Merge &merge : all)
    list.push_back(json::array({model.IdToPiece(merge.left), model.IdToPiece(merge.right)}));
  return list;
}

// `file` holds the vocabulary, in a folder of its own.
void expectSameTokens(const SentencePieceProcessor &model, const char *file, const std::string &bytes, bool keepsTexts,
                      size_t mostTies, const std::vector<std::string> &more = {}) {
  TemporaryFolder folder;
  folder.write(file, bytes);
  auto ours = PublishedVocabulary::load(folder.path());
  ASSERT_TRUE(ours.ok()) << ours.message();
  std::vector<std::string> texts = corpus();
  for (const char *text : {"", " ", "a", "  two  spaces ", "Zwölf Boxkämpfer", "東京 at 12:30", "naïve café cafe\u0301",
                           "\u00bd \ufb01 \uff11\uff12 \u2460", "ÄÖÜ ßß xqxq", "twenty-one\u00a0thousand\u3000five",
                           "🙂🙂 ha", "ab\tcd", "quarter/half", "aaaaaaa eeeeeee", "   ", "a<w>  <ww>bee"})
    texts.push_back(text);
  texts.insert(texts.end(), more.begin(), more.end());
  std::mt19937 random(2);
  size_t ties = 0;
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (size_t length = random() % 60; text.size() < length;)
      text += random() % 12 == 0 ? std::string("é") : std::string(1, "etaoin shrdlu-'TW12 z"[random() % 21]);
    texts.push_back(text);
  }
  for (const std::string &text : texts) {
    Ids expected;
    ASSERT_TRUE(model.Encode(text, &expected).ok());
    // If several ways are equally good, SentencePiece's single precision sometimes finds another one.
    Ids actual = ours->encode(text);
    bool isTie = actual.size() == expected.size() && std::ranges::is_permutation(actual, expected);
    ties += actual != expected && isTie;
    ASSERT_TRUE(actual == expected || isTie) << text;
    if (keepsTexts) {
      EXPECT_EQ(ours->decode(expected), text);
    }
  }
  EXPECT_LE(ties, mostTies);
}

// A vocabulary like LLaMA 2's.
TEST(SentencePiece, BytePairs) {
  SentencePieceProcessor model;
  ASSERT_TRUE(model
                  .LoadFromSerializedProto(train({{"model_type", "bpe"},
                                                  {"byte_fallback", "true"},
                                                  {"character_coverage", "0.995"},
                                                  {"normalization_rule_name", "identity"},
                                                  {"remove_extra_whitespaces", "false"},
                                                  {"split_digits", "true"}}))
                  .ok());
  expectSameTokens(model, "tokenizer.model", model.serialized_model_proto(), /*keepsTexts=*/true, /*mostTies=*/0);
  json vocab = json::object();
  for (int id = 0; id < model.GetPieceSize(); ++id)
    vocab[model.IdToPiece(id)] = id;
  json strip = ofType("Strip", {{"content", " "}, {"start", 1}, {"stop", 0}});
  json whole = {
      {"normalizer",
       ofSteps("normalizers", {ofType("Prepend", {{"prepend", "▁"}}), replaceBy({{"String", " "}}, "▁")})},
      {"decoder",
       ofSteps("decoders", {replaceBy({{"String", "▁"}}, " "), ofType("ByteFallback"), ofType("Fuse"), strip})},
      {"model",
       ofType("BPE", {{"byte_fallback", true}, {"unk_token", "<unk>"}, {"vocab", vocab}, {"merges", merges(model)}})}};
  expectSameTokens(model, "tokenizer.json", whole.dump(), /*keepsTexts=*/true, /*mostTies=*/0);
}

// The same vocabulary as in GGUF files: pieces with scores and kinds, but without merges.
TEST(SentencePiece, ScoredPieces) {
  for (bool spaceFirst : {true, false})
    for (const char *fallback : {"true", "false"}) {
      SentencePieceProcessor model;
      ASSERT_TRUE(model
                      .LoadFromSerializedProto(train({{"model_type", "bpe"},
                                                      {"byte_fallback", fallback},
                                                      {"character_coverage", "0.995"},
                                                      {"normalization_rule_name", "identity"},
                                                      {"remove_extra_whitespaces", "false"},
                                                      {"user_defined_symbols", "<w>,<ww>,▁▁"},
                                                      {"add_dummy_prefix", spaceFirst ? "true" : "false"}}))
                      .ok());
      std::vector<std::string> pieces;
      std::vector<float> scores;
      std::vector<int32_t> kinds;
      for (int id = 0; id < model.GetPieceSize(); ++id) {
        pieces.push_back(model.IdToPiece(id));
        scores.push_back(model.GetScore(id));
        bool isOwn = pieces.back().starts_with("<w") || pieces.back() == "▁▁";
        kinds.push_back(model.IsUnknown(id) ? 2 : model.IsControl(id) ? 3 : model.IsByte(id) ? 6 : isOwn ? 4 : 1);
      }
      heddle::test::GgufBytes file;
      file.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", pieces);
      file.numbers("tokenizer.ggml.scores", scores).wholes("tokenizer.ggml.token_type", kinds);
      file.flag("tokenizer.ggml.add_space_prefix", spaceFirst);
      bool keepsTexts = std::string_view(fallback) == "true";
      expectSameTokens(model, "tokenizer.model", model.serialized_model_proto(), keepsTexts, 0, {"<0x41> x"});
      expectSameTokens(model, "vocabulary.gguf", file.file(), keepsTexts, /*mostTies=*/0, {"<0x41> x"});
    }
}

// A vocabulary like T5's, with SentencePiece's own character table.
TEST(SentencePiece, Unigram) {
  for (const char *bytes : {"false", "true"}) {
    std::string proto = train({{"model_type", "unigram"}, {"byte_fallback", bytes}, {"character_coverage", "0.999"}});
    std::string table = base64(field(field(proto, 3), 2));
    ASSERT_GT(table.size(), 10000u);
    SentencePieceProcessor model;
    ASSERT_TRUE(model.LoadFromSerializedProto(proto).ok());
    json vocab = json::array();
    for (int id = 0; id < model.GetPieceSize(); ++id)
      vocab.push_back(json::array({model.IdToPiece(id), model.GetScore(id)}));
    json metaspace = ofType("Metaspace", {{"replacement", "▁"}, {"prepend_scheme", "always"}});
    json strip = ofType("Strip", {{"strip_left", true}, {"strip_right", true}});
    json normalizer = ofSteps("normalizers", {ofType("Precompiled", {{"precompiled_charsmap", table}}), strip,
                                              replaceBy({{"Regex", " {2,}"}}, " ")});
    expectSameTokens(model, "tokenizer.model", proto, /*keepsTexts=*/false, /*mostTies=*/0);
    bool usesBytes = std::string_view(bytes) == "true";
    json whole = {{"normalizer", normalizer},
                  {"pre_tokenizer", metaspace},
                  {"decoder", metaspace},
                  {"model", ofType("Unigram", {{"unk_id", 0}, {"byte_fallback", usesBytes}, {"vocab", vocab}})}};
    expectSameTokens(model, "tokenizer.json", whole.dump(), /*keepsTexts=*/false, /*mostTies=*/3);
  }
}

// A folder with only tokenizer.model, like Vicuna's and OpenLLaMA's: its marks, and the tokens added by other files.
TEST(SentencePiece, FolderWithoutTokenizerJson) {
  std::string model =
      train({{"model_type", "bpe"}, {"byte_fallback", "true"}, {"normalization_rule_name", "identity"}});
  TemporaryFolder folder;
  auto load = [&] { return PublishedVocabulary::load(folder.path()); };
  folder.write("tokenizer.model", model);
  auto plain = load();
  ASSERT_TRUE(plain.ok()) << plain.message();
  EXPECT_EQ(plain->beginId(), 1);
  EXPECT_EQ(plain->endId(), std::nullopt) << "the model's configuration says which mark it is";
  EXPECT_EQ(plain->encode("<s>one</s>").front(), 1);
  EXPECT_EQ(plain->continuation(Ids{1}, plain->encode("one two")), "one two");
  EXPECT_EQ(plain->continuation(plain->encode("one"), plain->encode("<s>two")), " two");
  ASSERT_EQ(plain->files().size(), 1u);
  EXPECT_EQ(plain->files()[0].name, "tokenizer.model");
  EXPECT_EQ(plain->files()[0].bytes, model);
  int32_t pieces = plain->pieces();
  folder.write("added_tokens.json", json({{"<pad>", pieces}}).dump());
  json user = {{"content", "<|user|>"}, {"special", true}};
  folder.write("tokenizer_config.json", json({{"add_bos_token", false},
                                              {"eos_token", {{"content", "<|user|>"}}},
                                              {"added_tokens_decoder", {{std::to_string(pieces + 1), user}}}})
                                            .dump());
  auto more = load();
  ASSERT_TRUE(more.ok()) << more.message();
  EXPECT_EQ(more->beginId(), std::nullopt);
  EXPECT_EQ(more->endId(), pieces + 1);
  EXPECT_EQ(more->encode("<pad><|user|>"), (Ids{pieces, pieces + 1}));
  EXPECT_EQ(more->decode(more->encode("one<pad>")), "one<pad>");
  for (std::string damaged : {std::string(), std::string("not a model"), model.substr(0, model.size() / 2)}) {
    folder.write("tokenizer.model", damaged);
    auto refused = load();
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.message().find("is not a SentencePiece model"), std::string::npos) << refused.message();
  }
  folder.write("tokenizer.model", train({{"model_type", "word"}, {"treat_whitespace_as_suffix", "true"}}));
  EXPECT_NE(load().message().find("words without the mark of a space before them"), std::string::npos);
}

// Every kind of model that Heddle or SentencePiece's programs learn: ids, decoded texts and unknown parts are the library's.
TEST(SentencePiece, LearntVocabularies) {
  using Options = std::unordered_map<std::string, std::string>;
  const Options variants[] = {{},
                              {{"user_defined_symbols", "\n,[MASK]"}},
                              {{"byte_fallback", "true"}, {"character_coverage", "0.98"}},
                              {{"remove_extra_whitespaces", "false"}, {"normalization_rule_name", "identity"}},
                              {{"add_dummy_prefix", "false"}, {"normalization_rule_name", "nfkc_cf"}},
                              {{"treat_whitespace_as_suffix", "true"}, {"normalization_rule_name", "nmt_nfkc_cf"}},
                              {{"unk_surface", "?"}, {"character_coverage", "0.98"}}};
  std::vector<std::string> texts = corpus();
  texts.resize(200);
  for (const char *text : {"",
                           " ",
                           "   ",
                           "a",
                           "  two  spaces ",
                           "a \n b",
                           "\na\n\nb \n",
                           " \n ",
                           "one [MASK] two[MASK]",
                           "caf\u00e9 cafe\u0301 caf\ue000e",
                           "\u00bd \ufb01 \uff11\uff12 \u2460 \u3000x",
                           "\u6771\u4eac at 12:30",
                           "\U0001f642\U0001f642 ha \u6771",
                           "ab\tcd\r\nef\u200b\u00ad",
                           "\xff\xfe broken \xe2\x81",
                           "<s> </s> <unk> <0x41>",
                           "\u2581\u2581 marks \u2581",
                           "ÄÖÜ ßß xqxq",
                           "a\u00a0b \u2003 c",
                           "\u2581"})
    texts.push_back(text);
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (size_t length = random() % 60; text.size() < length;)
      text += random() % 9 == 0 ? std::string("\u00e9") : std::string(1, "etaoin shrdlu-'TW12 z\n\t"[random() % 23]);
    texts.push_back(text);
  }
  for (const char *type : {"bpe", "unigram", "word", "char"})
    for (Options options : variants) {
      if (std::string_view(type) == "word" && options.contains("treat_whitespace_as_suffix"))
        continue;
      std::string name = type;
      for (const auto &[key, value] : options)
        name += " " + key + "=" + value;
      options["model_type"] = type;
      std::string bytes = train(options);
      SentencePieceProcessor model;
      ASSERT_TRUE(model.LoadFromSerializedProto(bytes).ok()) << name;
      auto ours = Tokenizer::fromBytes(bytes, "learnt.model");
      ASSERT_TRUE(ours.ok()) << ours.message();
      for (const std::string &text : texts) {
        Ids ids;
        std::vector<std::string> pieces;
        std::string decoded;
        if (auto encoded = model.Encode(text, &ids); !encoded.ok() || !model.Encode(text, &pieces).ok()) {
          EXPECT_TRUE(text.starts_with("<s>"))
              << encoded.ToString(); // the library fails at a first word that is a mark
          continue;
        }
        EXPECT_EQ(ours->encode(text), ids) << name << ": '" << text << "'";
        ASSERT_TRUE(model.Decode(ids, &decoded).ok());
        EXPECT_EQ(ours->decode(ids), decoded) << name << ": '" << text << "'";
        std::vector<std::string> unknown;
        for (size_t i = 0; i < ids.size(); ++i) {
          if (ids[i] != model.unk_id())
            continue;
          std::string part = pieces[i].substr(pieces[i].starts_with("\u2581") ? 3 : 0);
          if (!part.empty() && std::ranges::find(unknown, part) == unknown.end())
            unknown.push_back(part);
        }
        EXPECT_EQ(ours->unknownParts(text), unknown) << name << ": '" << text << "'";
      }
    }
}

// A long line of unknown text gets the same kind of tokens as a short one, in linear time.
TEST(SentencePiece, LongRunsOfTheUnknown) {
  auto load = [](const char *type) {
    return std::move(Tokenizer::fromBytes(train({{"model_type", type}}), "learnt.model")).value();
  };
  auto repeated = [](std::string_view text, size_t times) {
    std::string all;
    for (size_t i = 0; i < times; ++i)
      all += text;
    return all;
  };
  for (const char *type : {"bpe", "unigram"}) {
    Tokenizer tokenizer = load(type);
    Ids one = tokenizer.encode("ab \u6771x cd"), run = tokenizer.encode("ab " + repeated("\u6771", 9'000) + "x cd");
    EXPECT_EQ(run, one) << "neighbours that are unknown are a single token";
    Ids parts = tokenizer.encode(repeated("\u6771 the weaver ", 3'000)), part = tokenizer.encode("\u6771 the weaver ");
    EXPECT_EQ(parts.size(), 3'000 * part.size());
    std::clock_t begin = std::clock();
    EXPECT_EQ(tokenizer.encode(repeated("\u6771\u4eac\U0001f642", 100'000)), tokenizer.encode("\u6771"));
    EXPECT_LE(tokenizer.unknownParts(repeated("\u6771\u4eac\U0001f642", 20'000)).size(), 60u);
    EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 4) << "1 MB";
  }
  Tokenizer words = load("word");
  Ids one = words.encode("xq xq and"), long_ = words.encode(repeated("xq ", 5'000) + " and " + repeated("xq  ", 5'000));
  EXPECT_EQ(std::vector(long_.begin(), long_.end() - 1), one) << "unknown words are a single token, too";
  EXPECT_EQ(words.encode(repeated("and ", 5'000)).size(), 5'000u);
  std::clock_t begin = std::clock();
  words.encode(repeated("xq ", 100'000));
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 4);
}

// A damaged character table is refused, or changes characters; it never makes a look-up leave the table.
TEST(SentencePiece, DamagedTablesOfCharacters) {
  const std::string model = train({{"model_type", "unigram"}});
  std::string_view table = field(field(model, 3), 2);
  ASSERT_GT(table.size(), 10000u);
  size_t trie = size_t(table.data() - model.data()) + 4;
  auto load = [](const std::string &bytes) { return Tokenizer::fromBytes(bytes, "damaged.model"); };
  ASSERT_TRUE(load(model).ok());
  auto changed = [&](size_t place, std::string_view bytes) {
    return std::string(model).replace(place, bytes.size(), bytes);
  };
  for (std::string_view size : {"\xf0\xff\xff\x7f", "\x01\x02\x03\x01"}) {
    auto refused = load(changed(trie - 4, size));
    ASSERT_FALSE(refused.ok()) << "more trie than there are bytes, or a part of a node";
    EXPECT_NE(refused.message().find("its table of characters ('precompiled_charsmap') is damaged"), std::string::npos)
        << refused.message();
  }
  auto use = [&](const std::string &bytes) {
    load(bytes)->encode("\ufb01ve \u00bd \u00c5 \u2460 \uff41 \u0301 of all");
  };
  for (std::string_view root : {"\xff\xff\xff\x7f", "\x01\xfe\xff\xff"})
    use(changed(trie, root));
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = model;
    for (int change = 0; change < 4; ++change)
      damaged[trie + random() % (table.size() / 2)] = char(random());
    use(damaged);
  }
}

// M2M-100's folders: the pieces have the numbers of vocab.json, and the languages' tokens come behind them.
TEST(SentencePiece, PiecesWithOtherNumbers) {
  std::string model = train({{"model_type", "bpe"}, {"normalization_rule_name", "nmt_nfkc"}});
  SentencePieceProcessor processor;
  ASSERT_TRUE(processor.LoadFromSerializedProto(model).ok());
  json vocab = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"\u6771", 4}}; // the last is unknown to the model
  std::string missing; // a piece of the model that vocab.json lacks
  for (int id = processor.GetPieceSize(); --id > 2;)
    if (const std::string &piece = processor.IdToPiece(id); missing.empty() && piece.size() > 5)
      missing = piece;
    else
      vocab[piece] = vocab.size();
  TemporaryFolder folder;
  folder.write("sentencepiece.bpe.model", model);
  folder.write("vocab.json", vocab.dump());
  auto loaded = PublishedVocabulary::load(folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  PublishedVocabulary &vocabulary = *loaded;
  auto wanted = [&](const std::string &text) {
    std::vector<std::string> pieces;
    EXPECT_TRUE(processor.Encode(text, &pieces).ok());
    Ids ids;
    for (const std::string &piece : pieces)
      ids.push_back(vocab.value(piece, 3));
    return ids;
  };
  for (const std::string &line : corpus())
    ASSERT_EQ(vocabulary.encode(line), wanted(line)) << line;
  for (const char *text : {"", "  two  spaces ", "\xf0\x9f\x99\x82 \xe4\xbd\xa0", "__en__ is text here", "at \u6771"})
    EXPECT_EQ(vocabulary.encode(text), wanted(text)) << text;
  EXPECT_EQ(std::ranges::count(vocabulary.encode(missing.substr(3)), 3), 1);
  EXPECT_EQ(vocabulary.encode("</s>"), Ids{2}) << "a mark is itself";
  EXPECT_EQ(vocabulary.decode(wanted("The weaver's shuttle")), "The weaver's shuttle");
  int32_t languages = int32_t(vocab.size());
  EXPECT_EQ(vocabulary.pieces(), languages + 100);
  EXPECT_EQ(vocabulary.piece(languages), "__af__");
  EXPECT_EQ(vocabulary.piece(languages + 18), "__en__");
  EXPECT_EQ(vocabulary.piece(languages + 99), "__zu__");
  ASSERT_TRUE(vocabulary.inputMarks());
  EXPECT_EQ(vocabulary.inputMarks()->before, Ids{languages + 18});
  EXPECT_EQ(vocabulary.inputMarks()->after, Ids{2});
  EXPECT_EQ(vocabulary.endId(), 2);

  folder.write("tokenizer_config.json", R"({"language_codes": "wmt21", "src_lang": "zh"})");
  auto wmt = PublishedVocabulary::load(folder.path());
  ASSERT_TRUE(wmt.ok()) << wmt.message();
  EXPECT_EQ(wmt->pieces(), languages + 8);
  EXPECT_EQ(wmt->inputMarks()->before, Ids{languages + 6});
  auto refuses = [&](const char *file, const std::string &text, const char *reason) {
    folder.write(file, text);
    std::string message(PublishedVocabulary::load(folder.path()).message());
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  refuses("tokenizer_config.json", R"({"src_lang": "xx"})",
          "has the src_lang 'xx', which is none of the model's languages");
  refuses("tokenizer_config.json", R"({"language_codes": "all"})",
          "has the language_codes 'all', and Heddle knows m2m100 and wmt21");
  refuses("tokenizer_config.json", "{", "tokenizer_config.json'");
  folder.write("tokenizer_config.json", "{}");
  refuses("vocab.json", R"({"a": 0, "<unk>": 1})", "is not a vocabulary of M2M-100: it lacks </s>");
  refuses("sentencepiece.bpe.model", "abc", "sentencepiece.bpe.model'");
}

} // namespace
