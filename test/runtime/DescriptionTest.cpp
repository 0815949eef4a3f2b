// The model description inside an artifact: every key with invalid values, and the bounds that the artifact sets.
#include "runtime/artifact/Description.h"
#include "runtime/artifact/Artifact.h"
#include "test/runtime/ArtifactBuilder.h"

#include <functional>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using Json = nlohmann::json;

// Returns a description with all keys, as the compiler writes them; the adder has room for what it promises.
Json goodDescription() {
  return Json::parse(R"({
    "architecture": "transformer", "d_model": 8, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1,
    "vocab_size": 100, "norm": "post", "positions": "learned", "activation": "relu", "head": "linear",
    "attention_window": 0, "attention_soft_cap": 0.0, "share_embeddings": true, "scale_embeddings": true,
    "embedding_norm": false, "token_types": 0, "output_bias": false, "pooler": false, "layer_norm_epsilon": 1e-5,
    "dropout": 0.1, "attention_dropout": 0.1, "label_smoothing": 0.1, "learning_rate": 0.01, "warmup": 4000,
    "adam_beta1": 0.9, "adam_beta2": 0.98, "adam_epsilon": 1e-9, "clip_norm": 0.5, "ema_decay": 0.5, "loss_scale": 65536.0,
    "weight_decay": 0.1, "token_weights": true, "adapter": {"rank": 8, "alpha": 16.0, "targets": ["query"]},
    "loss_scale_interval": 2000, "accumulate": false, "logits_entry": false, "explain_entry": false, "beam": 4,
    "max_tokens": 512, "max_sequences": 32, "max_length": 64, "cache_rows": 512, "unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": 3,
    "tensors": {"weight": {"from": ["model.weight"], "shape": [1000], "part": [1, 3]}}
  })");
}

// Returns "accepted", or why the adder with this description is refused.
std::string verdict(const std::string &description, const std::function<void(schema::ModuleT &)> &change = {}) {
  std::vector<std::byte> bytes = test::buildAdder();
  std::unique_ptr<schema::ModuleT> module(schema::GetModule(bytes.data())->UnPack());
  module->seal = 0;
  module->description = description;
  if (change)
    change(*module);
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModuleBuffer(builder, schema::Module::Pack(builder, module.get()));
  const auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  auto artifact = Artifact::fromBytes({begin, begin + builder.GetSize()}, "x.heddle");
  return artifact.ok() ? "accepted" : artifact.message();
}

void expectRefused(const std::string &description, const std::string &part,
                   const std::function<void(schema::ModuleT &)> &change = {}) {
  std::string message = verdict(description, change);
  EXPECT_NE(message.find("'x.heddle' is not a usable Heddle artifact: its model description"), std::string::npos)
      << description << "\n"
      << message;
  EXPECT_NE(message.find(part), std::string::npos) << description << "\n" << message;
}

TEST(DescriptionTest, isAcceptedWhole) {
  Json good = goodDescription();
  EXPECT_EQ(verdict(good.dump()), "accepted");
  EXPECT_EQ(verdict("{}"), "accepted");
  EXPECT_EQ(verdict(""), "accepted");
  EXPECT_EQ(verdict(R"({"key_of_tomorrow": [1, {"a": null}]})"), "accepted");
}

TEST(DescriptionTest, everyKeyHasOneTypeAndRange) {
  const Json good = goodDescription();
  const Json others[] = {nullptr, true, "x", 7, 0.5, Json::array({1}), Json::object({{"a", 1}})};
  for (const auto &[key, value] : good.items()) {
    for (const Json &other : others) {
      bool bothNumbers = value.is_number() && other.is_number() && !(value.is_number_integer() && other == 0.5);
      if (other.type() == value.type() || bothNumbers)
        continue;
      Json changed = good;
      changed[key] = other;
      expectRefused(changed.dump(), key);
    }
    std::vector<const char *> texts = {"-1", "1e300", "1e999", "NaN", "-Infinity"};
    bool mayBeLarge = value.is_number_float() && !key.ends_with("dropout") && !key.starts_with("adam_") &&
                      key != "layer_norm_epsilon" && key != "label_smoothing" && key != "ema_decay" &&
                      key != "weight_decay";
    if (!mayBeLarge)
      texts.insert(texts.end(),
                   {"1000000000000", "9223372036854775808", "18446744073709551615", "123456789012345678901234567890"});
    for (const char *text : texts) {
      Json changed = good;
      changed[key] = "%";
      std::string dump = changed.dump();
      expectRefused(dump.replace(dump.find("\"%\""), 3, text), "");
    }
    Json without = good;
    without.erase(key);
    EXPECT_EQ(verdict(without.dump()), "accepted") << key;
    std::string twice = good.dump();
    twice.insert(1, "\"" + key + "\":" + value.dump() + ",");
    expectRefused(twice, "'" + key + "' occurs twice");
  }
}

TEST(DescriptionTest, anAdapterHasARankAndAScale) {
  for (const char *adapter :
       {"{}", R"({"rank": 8})", R"({"alpha": 16})", R"({"rank": 0, "alpha": 16})", R"({"rank": -1, "alpha": 16})",
        R"({"rank": 8.5, "alpha": 16})", R"({"rank": 8, "alpha": 0})", R"({"rank": 8, "alpha": "x"})",
        R"({"rank": 8, "alpha": 16, "dropout": 1})", R"({"rank": 8, "alpha": 16, "dropout": "0.1"})"}) {
    Json changed = goodDescription();
    changed["adapter"] = Json::parse(adapter);
    expectRefused(changed.dump(), "adapter");
  }
}

TEST(DescriptionTest, saysWhereAWeightComesFromOrIsRefused) {
  auto withOrigin = [](const char *origin, const char *name = "weight") {
    Json changed = goodDescription();
    changed["tensors"] = Json::object({{name, Json::parse(origin)}});
    return changed.dump();
  };
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a", "b"], "shape": [1000]})")), "accepted");
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a"], "shape": [1000], "pick": [4, 3, 2]})")), "accepted");
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a"], "shape": [1000], "rows": [7]})")), "accepted");
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "paired": 2, "plus": 1}})")),
            "accepted");
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a.*"], "shape": [1000], "stack": 4})")), "accepted");
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "rows": [7]}})")),
            "accepted");
  EXPECT_EQ(verdict(withOrigin(R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "pick": [4, 3, 2]}})")),
            "accepted");
  // A folder's tensor and a GGUF file's may hold the weight in different ways.
  EXPECT_EQ(
      verdict(withOrigin(R"({"from": ["a"], "shape": [1000], "part": [0, 2], "gguf": {"from": ["b"], "rows": [1]}})")),
      "accepted");
  Json ignored = goodDescription();
  ignored["ignored_tensors"] = {"vision."};
  EXPECT_EQ(verdict(ignored.dump()), "accepted");
  ignored["ignored_tensors"] = {7};
  expectRefused(ignored.dump(), "ignored_tensors");
  for (const char *origin : {"7",
                             R"({"from": ["a"], "shape": [1000], "pick": [3, 3, 2]})",
                             R"({"from": ["a"], "shape": [1000], "pick": [4, 3, 3]})",
                             R"({"from": ["a"], "shape": [1000], "pick": [4, 0, 0]})",
                             R"({"from": ["a"], "shape": [1000], "pick": [4, 3]})",
                             R"({"from": ["a"], "shape": [1000], "rows": [-1]})",
                             R"({"from": ["a"], "shape": [1000], "rows": [1], "part": [0, 2]})",
                             R"({"from": ["a"], "shape": [1000], "stack": 4})",
                             R"({"from": ["a"], "shape": [8, 6], "transpose": true, "interleaved": [0, 2]})",
                             R"({"from": ["a"], "shape": [8, 6], "interleaved": [2, 2]})",
                             R"({"from": ["a"], "shape": [8], "interleaved": [0, 2]})",
                             R"({"from": ["a"], "shape": [8, 6], "gguf": {"from": ["b"], "matrices": 3}})",
                             R"({"from": ["a.*", "b"], "shape": [1000], "stack": 4})",
                             R"({"from": ["a.*.*"], "shape": [1000], "stack": 4})",
                             R"({"from": ["a.*"], "shape": [1000], "stack": 0})",
                             R"({"from": ["a.*"], "shape": [1000], "stack": 2147483647})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "rows": [-1]}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "pick": [3, 3, 2]}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "transpose": true}})",
                             R"({"from": ["a"], "shape": [10, 100], "gguf": {"from": ["b"], "transpose": 1}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": 7})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["a", "b"]}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "paired": 0}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "plus": "1"}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "beside": 2}})",
                             R"({"from": ["a"], "shape": [8, 6], "gguf": {"from": ["b"], "beside": 4}})",
                             R"({"from": ["a"], "shape": [8, 6], "gguf": {"from": ["b"], "beside": 0}})",
                             R"({"from": ["a"], "shape": [8, 6], "gguf": {"from": ["b"], "beside": 2, "rows": [0]}})",
                             R"({"from": ["a"], "shape": [8, 6], "gguf": {"from": ["b"], "beside": 2, "paired": 2}})",
                             R"({"from": ["a"], "shape": [1000], "gguf": {"from": ["b"], "more": 1}})",
                             "null",
                             "[]",
                             "{}",
                             R"({"from": ["a"]})",
                             R"({"shape": [1000]})",
                             R"({"from": [], "shape": [1000]})",
                             R"({"from": "a", "shape": [1000]})",
                             R"({"from": [7], "shape": [1000]})",
                             R"({"from": ["a"], "shape": []})",
                             R"({"from": ["a"], "shape": [-1]})",
                             R"({"from": ["a"], "shape": [1e3]})",
                             R"({"from": ["a"], "shape": 1000})",
                             R"({"from": ["a"], "shape": [10, 10, 10]})",
                             R"({"from": ["a"], "shape": [1000], "transpose": true})",
                             R"({"from": ["a"], "shape": [1000], "transpose": 1})",
                             R"({"from": ["a"], "shape": [1000], "rows": "last"})",
                             R"({"from": ["a"], "shape": [1000], "skip": 1})",
                             R"({"from": ["a"], "shape": [10, 100], "flat": "columns"})",
                             R"({"from": ["a"], "shape": [10, 100], "rows": "leading", "skip": -1})",
                             R"({"from": ["a"], "shape": [1000], "part": 1})",
                             R"({"from": ["a"], "shape": [1000], "part": [1]})",
                             R"({"from": ["a"], "shape": [1000], "part": [1, 1]})",
                             R"({"from": ["a"], "shape": [1000], "part": [-1, 3]})",
                             R"({"from": ["a"], "shape": [1000], "part": [18446744072635809792, 1]})",
                             R"({"from": ["a"], "shape": [1000], "part": [0, 9223372036854775807]})",
                             R"({"from": ["a"], "shape": [1000], "surprise": 1})"})
    expectRefused(withOrigin(origin), "'weight' comes from");
  expectRefused(withOrigin(R"({"from": ["a"], "shape": [999]})"), "is f32[999], and it is f32[1000]");
  expectRefused(withOrigin(R"({"from": ["a"], "shape": [2]})", "seed"), "it is i32[2]");
  expectRefused(withOrigin(R"({"from": ["a"], "shape": [1000]})", "absent"), "no such variable");
}

TEST(DescriptionTest, promisesNoMoreThanTheArtifactHas) {
  auto with = [](const char *key, const Json &value) {
    Json changed = goodDescription();
    changed[key] = value;
    return changed.dump();
  };
  auto rename = [](const char *name) {
    return [name](schema::ModuleT &module) {
      if (std::string_view(name) != "beam") {
        module.sizes[0]->name = name; // the size `n`, whose maximum is 1000
        return;
      }
      module.sizes.push_back(std::make_unique<schema::SizeT>());
      module.sizes.back()->name = name;
      module.sizes.back()->maximum = 60;
    };
  };
  const std::pair<const char *, const char *> bounds[] = {
      {"max_tokens", "source_tokens"}, {"max_tokens", "target_tokens"}, {"max_sequences", "sequences"},
      {"max_length", "source_length"}, {"max_length", "target_length"}, {"beam", "beam"}};
  for (auto [key, size] : bounds) {
    int most = std::string_view(key) == "beam" ? 60 : 1000;
    EXPECT_EQ(verdict(with(key, most), rename(size)), "accepted") << key;
    expectRefused(with(key, most + 1), str(key, " = ", most + 1), rename(size));
  }
  expectRefused(with("heads", 3), "does not divide d_model");
  expectRefused(with("encoder_layers", 500), "layers, and the artifact has");
  for (const char *key : {"bos_id", "eos_id", "pad_id", "unk_id"})
    expectRefused(with(key, 100), "the vocabulary has 100 tokens");
  auto logits = [](schema::ModuleT &module) { module.entries[0]->outputs[0]->name = "logits"; };
  expectRefused(with("vocab_size", 999), "the logits of entry 'add' are f32[1000]", logits);
  EXPECT_EQ(verdict(with("vocab_size", 1000), logits), "accepted");
  auto caches = [](schema::ModuleT &module) {
    for (auto &entry : module.entries)
      if (entry->name == "lookup") {
        entry->inputs[0]->name = "cache_row";
        entry->inputs[0]->value_limit = 700;
      }
  };
  EXPECT_EQ(verdict(with("cache_rows", 700), caches), "accepted");
  expectRefused(with("cache_rows", 701), "the caches of entry 'lookup' have 700 rows", caches);
}

TEST(DescriptionTest, mayNotNestDeeply) {
  std::string deep(200'000, '[');
  expectRefused("{\"a\": " + deep + "}", "nest more than 64 deep");
  expectRefused("{\"a\": " + deep + std::string(deep.size(), ']') + "}", "nest more than 64 deep");
}

} // namespace
} // namespace heddle
