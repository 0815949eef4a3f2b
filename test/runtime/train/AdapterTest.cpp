#include "runtime/train/Adapter.h"
#include "runtime/core/Safetensors.h"
#include "runtime/train/PublishedCopy.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

using namespace heddle;
using heddle::test::TemporaryFolder;

namespace {

// A model of one 3 x 2 linear transformation, with an adapter of rank 2.
Description model() {
  Description description;
  description.adapter = {2, 4};
  description.tensors["layer.query.weight"] = {.names = {"model.q_proj.weight"}, .shape = {3, 2}, .transpose = true};
  return description;
}

std::vector<VariableInfo> weights() {
  return {{"layer.query.weight", VariableKind::Frozen, ElementType::F32, {3, 2}, 24},
          {"layer.query.lora_a", VariableKind::Weight, ElementType::F32, {3, 2}, 24},
          {"layer.query.lora_b", VariableKind::Weight, ElementType::F32, {2, 2}, 16}};
}

constexpr std::string_view kConfig = R"({"peft_type": "LORA", "r": 1, "lora_alpha": 6, "bias": "none"})";

void writeTensors(const TemporaryFolder &folder) {
  Result<SafetensorsWriter> writer =
      SafetensorsWriter::create(folder.path() / "adapter_model.safetensors",
                                {{"base_model.model.model.q_proj.lora_A.weight", ElementType::F32, {1, 3}},
                                 {"base_model.model.model.q_proj.lora_B.weight", ElementType::F32, {2, 1}}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const float values[] = {1, 2, 3, 4, 5};
  ASSERT_TRUE(writer->write(std::as_bytes(std::span(values))).ok());
  ASSERT_TRUE(writer->commit().ok());
}

TEST(AdapterTest, LowerRanksAndOtherScales) {
  TemporaryFolder folder;
  folder.write("adapter_config.json", kConfig);
  writeTensors(folder);
  std::vector<VariableInfo> variables = weights();
  Result<Adapter> found = readAdapter(folder.path(), model(), variables);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const LowRank &query = found->pairs.at("layer.query");
  auto values = [](const HostTensor &tensor) {
    return std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end());
  };
  EXPECT_EQ(values(query.down), (std::vector<float>{1, 0, 2, 0, 3, 0}));
  EXPECT_EQ(values(query.up), (std::vector<float>{12, 15, 0, 0})) << "6 / 1 in the place of 4 / 2";
}

TEST(AdapterTest, DropoutIsARate) {
  TemporaryFolder folder;
  writeTensors(folder);
  std::vector<VariableInfo> variables = weights();
  auto read = [&](std::string_view rate) {
    folder.write("adapter_config.json", str(kConfig.substr(0, kConfig.size() - 1), R"(, "lora_dropout": )", rate, "}"));
    return readAdapter(folder.path(), model(), variables);
  };
  for (const char *good : {"0", "0.05", "null"})
    EXPECT_TRUE(read(good).ok()) << good;
  for (const char *bad : {"1", "-0.1", "\"0.1\"", "true", "[0.1]"}) {
    Result<Adapter> found = read(bad);
    ASSERT_FALSE(found.ok()) << bad;
    EXPECT_NE(found.error().message.find(str("lora_dropout = ", bad)), std::string::npos) << found.error().message;
  }
}

TEST(AdapterTest, PatternsOfRankAndAlpha) {
  TemporaryFolder folder;
  writeTensors(folder);
  std::vector<VariableInfo> variables = weights();
  auto read = [&](const char *keys) {
    folder.write("adapter_config.json",
                 str(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none", )", keys, "}"));
    return readAdapter(folder.path(), model(), variables);
  };
  for (const char *name : {"q_proj", "model.q_proj", "^model.q_proj"}) {
    Result<Adapter> found =
        read(str(R"("rank_pattern": {")", name, R"(": 1}, "alpha_pattern": {")", name, R"(": 4})").c_str());
    ASSERT_TRUE(found.ok()) << found.error().message;
    std::span<const float> up = found->pairs.at("layer.query").up.values<float>();
    EXPECT_EQ(std::vector<float>(up.begin(), up.end()), (std::vector<float>{8, 10, 0, 0}))
        << "4 / 1 in the place of 4 / 2";
  }
  EXPECT_FALSE(read(R"("rank_pattern": {"k_proj": 1})").ok()) << "the adapter has not the rank 2";
  EXPECT_FALSE(read(R"("rank_pattern": {"proj": 1})").ok()) << "a part of a name";
  for (const char *bad : {R"({"q.*": 1})", R"({"q_proj": 0})", R"({"q_proj": "1"})", R"([1])"}) {
    Result<Adapter> found = read(str(R"("rank_pattern": )", bad).c_str());
    ASSERT_FALSE(found.ok()) << bad;
    EXPECT_NE(found.error().message.find("rank_pattern"), std::string::npos) << found.error().message;
  }
}

TEST(AdapterTest, InitialisationsThatChangeTheBase) {
  TemporaryFolder folder;
  writeTensors(folder);
  std::vector<VariableInfo> variables = weights();
  auto read = [&](const char *keys) {
    folder.write("adapter_config.json", str(R"({"peft_type": "LORA", "r": 1, "lora_alpha": 6, )", keys, "}"));
    return readAdapter(folder.path(), model(), variables);
  };
  for (const char *value : {"\"pissa\"", "\"pissa_niter_4\"", "\"olora\"", "\"corda\"", "\"loftq\"", "3"}) {
    Result<Adapter> found = read(str(R"("init_lora_weights": )", value).c_str());
    ASSERT_FALSE(found.ok()) << value;
    EXPECT_NE(found.error().message.find(value), std::string::npos) << found.error().message;
  }
  for (const char *value : {"true", "false", "null", "\"gaussian\"", "\"orthogonal\"", "\"eva\""})
    EXPECT_TRUE(read(str(R"("init_lora_weights": )", value).c_str()).ok()) << value;
  EXPECT_FALSE(read(R"("layer_replication": [[0, 2], [1, 3]])").ok());
  EXPECT_TRUE(read(R"("layer_replication": null)").ok());
}

// A merge would lose the blocks of experts in MXFP4.
TEST(AdapterTest, aBaseInMxfp4IsNotCopied) {
  TemporaryFolder folder, other;
  const std::string header = R"({"w_blocks":{"dtype":"U8","shape":[2,1,16],"data_offsets":[0,32]},)"
                             R"("w_scales":{"dtype":"U8","shape":[2,1],"data_offsets":[32,34]}})";
  std::string file(8, '\0');
  file[0] = char(header.size());
  folder.write("config.json", R"({"model_type": "gpt_oss"})");
  folder.write("model.safetensors", file + header + std::string(34, '\1'));
  Description description;
  description.tensors["weight"] = {.names = {"w"}, .shape = {32, 2}};
  Status copied = copyPublished(folder.path(), other.path() / "copy", description, {});
  ASSERT_FALSE(copied.ok());
  EXPECT_NE(copied.error().message.find("has 'w' in MXFP4"), std::string::npos) << copied.error().message;
  EXPECT_FALSE(std::filesystem::exists(other.path() / "copy"));
}

// A copy has the base's tokenizer and settings, but no file with its weights, in whatever format.
TEST(AdapterTest, aCopyLeavesOutOldWeights) {
  TemporaryFolder folder, other;
  writeTensors(folder);
  std::filesystem::rename(folder.path() / "adapter_model.safetensors", folder.path() / "model.safetensors");
  folder.write("config.json", R"({"torch_dtype": "bfloat16"})");
  folder.write("tokenizer.json", "{}");
  for (const char *old : {"tf_model.h5", "flax_model.msgpack", "rust_model.ot", "model.fp16.safetensors",
                          "pytorch_model.bin.index.json", "model.onnx"})
    folder.write(old, "");
  Status copied = copyPublished(folder.path(), other.path() / "copy", Description(), {});
  ASSERT_TRUE(copied.ok()) << copied.message();
  std::set<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(other.path() / "copy"))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"config.json", "model.safetensors", "tokenizer.json"}));
}

// A tensor replaces the base's: two weights that are parts of one, in reverse order.
TEST(AdapterTest, WholeTensors) {
  TemporaryFolder folder;
  folder.write("adapter_config.json",
               R"({"peft_type": "LORA", "r": 1, "lora_alpha": 6, "modules_to_save": ["norm", "up_proj"]})");
  Description description = model();
  description.tensors["norm.gain"] = {.names = {"model.norm.weight"}, .shape = {2}};
  for (int64_t part : {0, 1})
    description.tensors[str("up.", part)] = {
        .names = {"model.up_proj.weight"}, .shape = {2, 1}, .transpose = true, .rows = ChosenRows{1, 2, part}};
  std::vector<VariableInfo> variables = weights();
  for (const auto &[name, origin] : description.tensors)
    if (name != "layer.query.weight")
      variables.push_back({name, VariableKind::Weight, ElementType::F32, origin.shape, 8});
  auto write = [&](bool hasNorm) {
    std::vector<SafetensorsEntry> entries = {{"base_model.model.model.up_proj.weight", ElementType::F32, {2, 2}}};
    if (hasNorm)
      entries.push_back({"base_model.model.model.norm.weight", ElementType::F32, {2}});
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(folder.path() / "adapter_model.safetensors", entries);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const float values[] = {1, 2, 3, 4, 5, 6};
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(values).first(hasNorm ? 6 : 4))).ok());
    ASSERT_TRUE(writer->commit().ok());
  };
  write(true);
  Result<Adapter> found = readAdapter(folder.path(), description, variables);
  ASSERT_TRUE(found.ok()) << found.error().message;
  auto values = [&](const char *name) {
    std::span<const float> all = found->whole.at(name).values<float>();
    return std::vector<float>(all.begin(), all.end());
  };
  EXPECT_EQ(values("norm.gain"), (std::vector<float>{5, 6}));
  EXPECT_EQ(values("up.0"), (std::vector<float>{1, 2}));
  EXPECT_EQ(values("up.1"), (std::vector<float>{3, 4}));
  write(false);
  found = readAdapter(folder.path(), description, variables);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("lacks 'model.norm.weight'"), std::string::npos) << found.error().message;
}

// Two experts, whose weights are 3 x 2 and a tensor each in a folder.
struct Experts {
  TemporaryFolder folder;
  Description description;
  std::vector<VariableInfo> variables;

  explicit Experts(const std::vector<std::pair<std::string, std::string>> &weights) {
    description.adapter = {2, 4};
    for (const auto &[name, published] : weights) {
      description.tensors[name] = {.names = {"m.mlp.experts.*." + published + ".weight"},
                                   .shape = {6, 2},
                                   .transpose = true,
                                   .stacked = 2,
                                   .matrices = 2};
      variables.push_back({name, VariableKind::Frozen, ElementType::F32, {6, 2}, 48});
      variables.push_back({name + ".lora_a", VariableKind::Weight, ElementType::F32, {6, 2}, 48});
      variables.push_back({name + ".lora_b", VariableKind::Weight, ElementType::F32, {4, 2}, 32});
    }
  }

  // Writes tensors whose elements are 1, 2, 3, ...
  void write(std::string_view config, const std::vector<std::pair<std::string, Shape>> &tensors) {
    folder.write("adapter_config.json", config);
    std::vector<SafetensorsEntry> entries;
    size_t count = 0;
    for (const auto &[name, shape] : tensors) {
      entries.push_back({"base_model.model.m.mlp.experts." + name + ".weight", ElementType::F32, shape});
      count += size_t(*elementCount(shape));
    }
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0f);
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(folder.path() / "adapter_model.safetensors", entries);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(values))).ok());
    ASSERT_TRUE(writer->commit().ok());
  }

  Result<Adapter> read() const { return readAdapter(folder.path(), description, variables); }
};

std::vector<float> valuesOf(const HostTensor &tensor) {
  return std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end());
}

TEST(AdapterTest, anExpertWithoutAdapterHasZeros) {
  Experts experts({{"moe.gate", "gate_proj"}});
  experts.write(kConfig, {{"1.gate_proj.lora_A", {1, 3}}, {"1.gate_proj.lora_B", {2, 1}}});
  Result<Adapter> found = experts.read();
  ASSERT_TRUE(found.ok()) << found.error().message;
  const LowRank &gate = found->pairs.at("moe.gate");
  EXPECT_EQ(valuesOf(gate.down), (std::vector<float>{0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0}));
  EXPECT_EQ(valuesOf(gate.up), (std::vector<float>{0, 0, 0, 0, 12, 15, 0, 0})) << "6 / 1 in the place of 4 / 2";
  experts.write(kConfig, {{"0.gate_proj.lora_A", {1, 3}}, {"1.gate_proj.lora_B", {2, 1}}});
  found = experts.read();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("lacks 'base_model.model.m.mlp.experts.0.gate_proj.lora_B"), std::string::npos);
  experts.write(kConfig, {{"2.gate_proj.lora_A", {1, 3}}, {"2.gate_proj.lora_B", {2, 1}}});
  EXPECT_FALSE(experts.read().ok()) << "there are two experts";
}

// PEFT's target_parameters: A of all experts below each other, and B with the experts' columns side by side. Gates and
// inner matrices share A, and each has half of B. This test's tensor is down_proj's, which has one part.
TEST(AdapterTest, ExpertsInOneTensor) {
  Experts experts({{"moe.gate", "gate_proj"}, {"moe.inner", "up_proj"}});
  constexpr std::string_view config =
      R"({"peft_type": "LORA", "r": 1, "lora_alpha": 6, "target_parameters": ["mlp.experts.gate_up_proj"],)"
      R"( "rank_pattern": {".*\\.gate_up_proj": 2}, "alpha_pattern": {"mlp.experts.gate_up_proj": 4}})";
  experts.write(config, {{"lora_A", {4, 3}}, {"lora_B", {4, 4}}});
  Result<Adapter> found = experts.read();
  ASSERT_TRUE(found.ok()) << found.error().message;
  for (const char *name : {"moe.gate", "moe.inner"})
    EXPECT_EQ(valuesOf(found->pairs.at(name).down), (std::vector<float>{1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}));
  EXPECT_EQ(valuesOf(found->pairs.at("moe.gate").up), (std::vector<float>{13, 17, 15, 19, 14, 18, 16, 20}));
  EXPECT_EQ(valuesOf(found->pairs.at("moe.inner").up), (std::vector<float>{21, 25, 23, 27, 22, 26, 24, 28}));

  experts.write(config,
                {{"lora_A", {4, 5}}, {"lora_B", {4, 4}}, {"base_layer.lora_A", {4, 3}}, {"base_layer.lora_B", {4, 4}}});
  found = experts.read();
  ASSERT_FALSE(found.ok()) << "nothing takes the outer tensors";
  EXPECT_NE(found.error().message.find("has 'base_model.model.m.mlp.experts.lora_"), std::string::npos);

  experts.write(config, {{"lora_A", {4, 3}}, {"lora_B", {4, 4}}});
  std::erase_if(experts.variables, [](const VariableInfo &variable) { return variable.name == "moe.inner.lora_a"; });
  found = experts.read();
  ASSERT_FALSE(found.ok()) << "half of the tensor is dropped";
  EXPECT_NE(found.error().message.find("has no adapter"), std::string::npos) << found.error().message;
}

// Experts' adapters are read from both kinds of files as they were written.
TEST(AdapterTest, ExpertsInFiles) {
  for (bool isJoined : {false, true}) {
    Experts experts({{"moe.gate", "gate_proj"}, {"moe.inner", "up_proj"}, {"moe.outer", "down_proj"}});
    for (int64_t part : {0, 1}) { // gpt-oss has all experts in one tensor, and gates between inner columns
      WeightOrigin &origin = experts.description.tensors[part == 0 ? "moe.gate" : "moe.inner"];
      if (isJoined)
        origin = {
            .names = {"m.mlp.experts.gate_up_proj"}, .shape = {6, 2}, .part = part, .parts = 2, .isInterleaved = true};
      origin.gguf = GgufPlace{.name = str("blk.0.ffn_", part, "_exps.weight"), .transpose = true, .matrices = 2};
    }
    WeightOrigin &outer = experts.description.tensors["moe.outer"];
    if (isJoined)
      outer = {.names = {"m.mlp.experts.down_proj"}, .shape = {6, 2}};
    outer.gguf = GgufPlace{.name = "blk.0.ffn_down_exps.weight", .transpose = true, .matrices = 2};

    std::vector<SafetensorsEntry> entries;
    for (const VariableInfo &variable : experts.variables)
      if (variable.kind == VariableKind::Weight)
        entries.push_back({variable.name, ElementType::F32, variable.shape});
    std::vector<float> values(3 * (6 * 2 + 4 * 2));
    std::iota(values.begin(), values.end(), 1.0f);
    const std::filesystem::path folder = experts.folder.path();
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(folder / "weights.safetensors", entries);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(values))).ok());
    ASSERT_TRUE(writer->commit().ok());
    Result<bool> isWritten = writePeftAdapter(folder / "weights.safetensors", folder, experts.description, "");
    ASSERT_TRUE(isWritten.ok() && *isWritten);
    EXPECT_EQ(experts.folder.read("adapter_config.json").find("gate_up_proj") != std::string::npos, isJoined);
    ASSERT_TRUE(
        writeGgufAdapter(folder / "weights.safetensors", folder / "adapter.gguf", experts.description, "llama").ok());
    for (const std::filesystem::path &path : {folder, folder / "adapter.gguf"}) {
      Result<Adapter> found = readAdapter(path, experts.description, experts.variables);
      ASSERT_TRUE(found.ok()) << found.error().message;
      auto expected = values.begin();
      for (const char *name : {"moe.gate", "moe.inner", "moe.outer"})
        for (const HostTensor *half : {&found->pairs.at(name).down, &found->pairs.at(name).up}) {
          auto next = expected + std::ssize(half->values<float>());
          EXPECT_EQ(valuesOf(*half), std::vector<float>(expected, next)) << name << " of " << path;
          expected = next;
        }
    }
  }
}

// The joined tensor has gates and inner matrices, so PEFT has no form for an adapter of only the gates.
TEST(AdapterTest, APartOfATensorHasNoFile) {
  Experts experts({{"moe.gate", "gate_proj"}});
  experts.description.tensors["moe.gate"] = {
      .names = {"m.mlp.experts.gate_up_proj"}, .shape = {6, 2}, .parts = 2, .isInterleaved = true};
  Result<SafetensorsWriter> writer = SafetensorsWriter::create(
      experts.folder.path() / "weights.safetensors",
      {{"moe.gate.lora_a", ElementType::F32, {6, 2}}, {"moe.gate.lora_b", ElementType::F32, {4, 2}}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const std::vector<float> values(6 * 2 + 4 * 2);
  ASSERT_TRUE(writer->write(std::as_bytes(std::span(values))).ok());
  ASSERT_TRUE(writer->commit().ok());
  Result<bool> isWritten =
      writePeftAdapter(experts.folder.path() / "weights.safetensors", experts.folder.path(), experts.description, "");
  ASSERT_TRUE(isWritten.ok()) << isWritten.error().message;
  EXPECT_FALSE(*isWritten);
}

TEST(AdapterTest, DamagedFilesAreErrors) {
  TemporaryFolder folder;
  folder.write("adapter_config.json", kConfig);
  writeTensors(folder);
  std::string whole = folder.read("adapter_model.safetensors");
  std::vector<VariableInfo> variables = weights();
  std::mt19937_64 random(1);
  auto below = [&](uint64_t bound) { return random() % bound; };
  int refused = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    bool damagesConfig = i % 2 == 0;
    std::string text(damagesConfig ? kConfig : std::string_view(whole));
    for (uint64_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
      size_t at = size_t(below(text.size()));
      switch (below(3)) {
      case 0:
        text[at] = char(below(256));
        break;
      case 1:
        text.erase(at, size_t(1 + below(8)));
        break;
      default:
        text.insert(at, 1, char(below(256)));
      }
    }
    folder.write(damagesConfig ? "adapter_config.json" : "adapter_model.safetensors", text);
    Result<Adapter> found = readAdapter(folder.path(), model(), variables);
    refused += !found.ok();
    if (!found.ok())
      EXPECT_FALSE(found.error().message.empty());
    folder.write(damagesConfig ? "adapter_config.json" : "adapter_model.safetensors",
                 damagesConfig ? kConfig : std::string_view(whole));
  }
  // Some changes affect only numbers, or keys without a meaning.
  EXPECT_GT(refused, count / 2);
  EXPECT_LT(refused, count);
}

} // namespace
