#include "runtime/model/EmbeddingRule.h"
#include "test/runtime/GgufBytes.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

using Vector = std::vector<float>;

Vector pooled(Pooling pooling) {
  static const Vector rows = {1, -4, 2, 8, 6, 0, 3, 4}; // four tokens, two columns
  return EmbeddingRule{.poolings = {pooling}}.apply(rows, 2);
}

// Writes a folder of sentence-transformers whose pooling has these settings.
void write(const TemporaryFolder &folder, const char *pooling, bool normalizes = true) {
  std::string modules = R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
  if (normalizes)
    modules += R"(, {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})";
  folder.write("modules.json", modules + "]");
  std::filesystem::create_directory(folder / "1_Pooling");
  folder.write("1_Pooling/config.json", pooling);
}

std::string errorOf(const TemporaryFolder &folder) {
  Result<EmbeddingRule> rule = readEmbeddingRule(folder.path());
  return rule.ok() ? "none" : rule.error().message;
}

} // namespace

TEST(EmbeddingRule, Pools) {
  EXPECT_EQ(pooled(Pooling::First), (Vector{1, -4}));
  EXPECT_EQ(pooled(Pooling::Last), (Vector{3, 4}));
  EXPECT_EQ(pooled(Pooling::Largest), (Vector{6, 8}));
  EXPECT_EQ(pooled(Pooling::Mean), (Vector{3, 2}));
  EXPECT_EQ(pooled(Pooling::MeanByRoot), (Vector{6, 4}));
  EXPECT_FLOAT_EQ(pooled(Pooling::WeightedMean)[0], (1 + 2 * 2 + 3 * 6 + 4 * 3) / 10.0f);
}

TEST(EmbeddingRule, JoinsAndNormalises) {
  EmbeddingRule rule{.poolings = {Pooling::First, Pooling::Mean}, .normalizes = true};
  const Vector rows = {3, 0, 3, 8}, vector = rule.apply(rows, 2);
  ASSERT_EQ(vector.size(), 4u);
  double squares = 0;
  for (float number : vector)
    squares += double(number) * number;
  EXPECT_NEAR(squares, 1, 1e-6);
  EXPECT_NEAR(vector[3], 4 / std::sqrt(9 + 9 + 16.0), 1e-6);
  EXPECT_EQ(rule.apply(Vector{0, 0}, 2), (Vector{0, 0, 0, 0})); // no division by zero
}

TEST(EmbeddingRule, IsTheMeanWithoutModules) {
  TemporaryFolder folder;
  Result<EmbeddingRule> rule = readEmbeddingRule(folder.path());
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(rule->poolings, std::vector{Pooling::Mean});
  EXPECT_FALSE(rule->normalizes);
  EXPECT_TRUE(readEmbeddingRule(folder.path(), /*normalizes=*/true)->normalizes);
  write(folder, R"({"pooling_mode_mean_tokens": true})", /*normalizes=*/false);
  EXPECT_FALSE(readEmbeddingRule(folder.path(), /*normalizes=*/true)->normalizes);
}

TEST(EmbeddingRule, ReadsTheKeyOfAGgufFile) {
  TemporaryFolder folder;
  auto ruleOf = [&](std::optional<uint32_t> kind) {
    test::GgufBytes keys;
    keys.text("general.architecture", "qwen3");
    if (kind)
      keys.whole("qwen3.pooling_type", *kind);
    folder.write("model.gguf", keys.file());
    return readEmbeddingRule(folder / "model.gguf", /*normalizes=*/true);
  };
  EXPECT_EQ(ruleOf(std::nullopt)->poolings, std::vector{Pooling::Mean});
  EXPECT_EQ(ruleOf(0)->poolings, std::vector{Pooling::Mean});
  EXPECT_EQ(ruleOf(2)->poolings, std::vector{Pooling::First});
  EXPECT_EQ(ruleOf(3)->poolings, std::vector{Pooling::Last});
  EXPECT_TRUE(ruleOf(3)->normalizes);
  EXPECT_NE(ruleOf(4).message().find("'qwen3.pooling_type'"), std::string::npos); // ranks pairs
}

TEST(EmbeddingRule, ReadsModules) {
  TemporaryFolder folder;
  write(folder, R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 7, "do_lower_case": true})");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "query: ", "none": ""}, "default_prompt_name": "query"})");
  Result<EmbeddingRule> rule = readEmbeddingRule(folder.path());
  ASSERT_TRUE(rule.ok()) << rule.error().message;
  EXPECT_EQ(rule->poolings, (std::vector{Pooling::First, Pooling::Mean}));
  EXPECT_TRUE(rule->normalizes);
  EXPECT_EQ(rule->longest, 7);
  EXPECT_TRUE(rule->lowersCase);
  EXPECT_EQ(rule->prompt, "query: ");

  std::filesystem::remove(folder / "sentence_bert_config.json");
  folder.write("sentence_xlm-roberta_config.json", R"({"max_seq_length": 9})");
  write(folder, R"({"pooling_mode": "lasttoken"})", /*normalizes=*/false);
  rule = readEmbeddingRule(folder.path());
  ASSERT_TRUE(rule.ok()) << rule.error().message;
  EXPECT_EQ(rule->poolings, std::vector{Pooling::Last});
  EXPECT_FALSE(rule->normalizes);
  EXPECT_EQ(rule->longest, 9);
}

TEST(EmbeddingRule, PreparesTexts) {
  EXPECT_EQ(EmbeddingRule{}.prepare(" A\tb \n"), "A\tb");
  EmbeddingRule rule{.lowersCase = true, .prompt = " Query: "};
  EXPECT_EQ(rule.prepare("  A "), "query:   a");
  EXPECT_EQ(rule.prepare(""), "query:");
}

TEST(EmbeddingRule, RefusesWhatItDoesNotCompute) {
  TemporaryFolder folder;
  write(folder, R"({"pooling_mode": "attention"})");
  EXPECT_NE(errorOf(folder).find("names no way of pooling that Heddle knows"), std::string::npos);
  folder.write("1_Pooling/config.json", "[]");
  EXPECT_NE(errorOf(folder).find("is missing or is no object of JSON"), std::string::npos);
  folder.write("modules.json", R"([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  EXPECT_NE(errorOf(folder).find("has the module 'sentence_transformers.models.Dense'"), std::string::npos);
  folder.write("modules.json", R"([{"path": "../up", "type": "sentence_transformers.models.Pooling"}])");
  EXPECT_NE(errorOf(folder).find("leads out of the folder"), std::string::npos);
  folder.write("modules.json", "{}");
  EXPECT_NE(errorOf(folder).find("is not a list of modules"), std::string::npos);
  write(folder, R"({"pooling_mode": "mean", "include_prompt": false})");
  folder.write("config_sentence_transformers.json", R"({"prompts": {"q": "x"}, "default_prompt_name": "q"})");
  EXPECT_NE(errorOf(folder).find("whose tokens do not count in the pooling"), std::string::npos);
  folder.write("config_sentence_transformers.json", R"({"default_prompt_name": "q"})");
  EXPECT_NE(errorOf(folder).find("has no prompt 'q'"), std::string::npos);
}
