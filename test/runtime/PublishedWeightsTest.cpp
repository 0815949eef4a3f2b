// Where a weight's numbers are in the tensors of published models.
#include "runtime/published/PublishedWeights.h"
#include "runtime/core/PublishedMeaning.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace heddle {
namespace {

// Numbers that count from `first`.
HostTensor counting(Shape shape, float first = 0) {
  HostTensor values = std::move(HostTensor::uninitialized(ElementType::F32, shape)).value();
  std::iota(values.values<float>().begin(), values.values<float>().end(), first);
  return values;
}

std::vector<float> numbers(const HostTensor &tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

HostTensor take(const HostTensor &tensor, const WeightOrigin &origin) {
  Result<std::optional<HostTensor>> weight = takeWeight(tensor, origin);
  EXPECT_TRUE(weight.ok() && *weight);
  return weight.ok() && *weight ? std::move(**weight) : HostTensor();
}

TEST(PublishedWeightsTest, aVectorMayHaveAnyShapeInTheFile) {
  WeightOrigin origin{.names = {"gain"}, .shape = {12}};
  for (const Shape &stored : {Shape{12}, Shape{1, 12}, Shape{3, 4}, Shape{2, 3, 2}})
    EXPECT_EQ(numbers(take(counting(stored), origin)), numbers(counting({12})));
  Result<std::optional<HostTensor>> weight = takeWeight(counting({3, 3}), origin);
  EXPECT_TRUE(weight.ok() && !*weight);
}

TEST(PublishedWeightsTest, meaningOfEncodersWithDecoders) {
  using Json = nlohmann::json;
  auto meaningOf = [](const char *architecture, Json config) {
    config["architectures"] = Json::array({architecture});
    return publishedMeaning(config);
  };
  Json t5 = meaningOf("T5ForConditionalGeneration", {{"num_heads", 4}});
  EXPECT_EQ(t5, Json({{"architecture", "t5"},
                      {"heads", 4.0f},
                      {"norm_epsilon", 1e-6f},
                      {"buckets", 32.0f},
                      {"furthest", 128.0f},
                      {"activation", "relu"},
                      {"scale_outputs", true}}));
  Json untied = meaningOf("T5ForConditionalGeneration", {{"num_heads", 4}, {"tie_word_embeddings", false}});
  EXPECT_EQ(untied["scale_outputs"], false);
  Json mt5 = meaningOf("MT5ForConditionalGeneration", {{"num_heads", 2}, {"feed_forward_proj", "gated-silu"}});
  EXPECT_EQ(mt5["activation"], "gated-silu");
  EXPECT_EQ(mt5["scale_outputs"], false);
  EXPECT_EQ(meaningOf("BartForConditionalGeneration", {{"encoder_attention_heads", 2}}),
            Json({{"architecture", "bart"}, {"heads", 2.0f}, {"activation", "gelu"}, {"scale_embeddings", false}}));
  EXPECT_EQ(meaningOf("M2M100ForConditionalGeneration", {{"encoder_attention_heads", 2}}),
            Json({{"architecture", "m2m100"}, {"heads", 2.0f}, {"activation", "relu"}, {"scale_embeddings", true}}));
}

TEST(PublishedWeightsTest, meaningOfMixtures) {
  using Json = nlohmann::json;
  auto meaningOf = [](const char *architecture) {
    return publishedMeaning({{"architectures", Json::array({architecture})},
                             {"hidden_size", 8},
                             {"num_attention_heads", 2},
                             {"num_experts_per_tok", 3},
                             {"norm_topk_prob", true},
                             {"clip_qkv", nullptr}});
  };
  Json mixtral = meaningOf("MixtralForCausalLM");
  EXPECT_EQ(mixtral["num_experts_per_tok"], 3.0f);
  EXPECT_EQ(mixtral["norm_topk_prob"], true);
  EXPECT_FALSE(mixtral.contains("clip_qkv"));
  EXPECT_EQ(mixtral, meaningOf("llama with experts"));
  EXPECT_EQ(meaningOf("GraniteMoeSharedForCausalLM"), meaningOf("granitemoe"));
  EXPECT_EQ(meaningOf("DeepseekV2ForCausalLM"), meaningOf("deepseek2"));
  EXPECT_EQ(meaningOf("DeepseekV3ForCausalLM"), meaningOf("Glm4MoeLiteForCausalLM"));
  EXPECT_EQ(meaningOf("Ernie4_5_MoeForCausalLM"), meaningOf("ernie4_5-moe"));
  EXPECT_EQ(meaningOf("HunYuanMoEV1ForCausalLM"), meaningOf("hunyuan-moe"));
  EXPECT_EQ(meaningOf("MiniMaxM2ForCausalLM"), meaningOf("minimax-m2"));
  EXPECT_EQ(meaningOf("GptOssForCausalLM"), meaningOf("gpt-oss"));
  EXPECT_EQ(meaningOf("CohereForCausalLM"), meaningOf("command-r"));
  EXPECT_EQ(meaningOf("CohereForCausalLM")["architecture"], "command-r");
  EXPECT_NE(mixtral["architecture"], meaningOf("llama")["architecture"]);
}

TEST(PublishedWeightsTest, aWeightHasSeveralPartsOfEachGroup) {
  // Two heads of five rows, of which the first three are the keys' and the others the values'.
  WeightOrigin keys{.names = {"both"}, .shape = {2, 6}, .transpose = true, .rows = ChosenRows{2, 5, 0, 3}};
  WeightOrigin values{.names = {"both"}, .shape = {4}, .rows = ChosenRows{2, 5, 3, 2}};
  EXPECT_EQ(numbers(take(counting({10, 2}), keys)), (std::vector<float>{0, 2, 4, 10, 12, 14, 1, 3, 5, 11, 13, 15}));
  EXPECT_EQ(numbers(take(counting({10}), values)), (std::vector<float>{3, 4, 8, 9}));
}

TEST(PublishedWeightsTest, eachMatrixHasRowsOfItsOwn) {
  // Two experts of two gates above two inner rows, each of three columns.
  WeightOrigin gates{.names = {"both"}, .shape = {6, 2}, .transpose = true, .rows = ChosenRows{2, 2, 0}, .matrices = 2};
  WeightOrigin inner = gates;
  inner.rows->index = 1;
  HostTensor both = counting({2, 4, 3});
  EXPECT_EQ(numbers(take(both, gates)), (std::vector<float>{0, 3, 1, 4, 2, 5, 12, 15, 13, 16, 14, 17}));
  EXPECT_EQ(numbers(take(both, inner)), (std::vector<float>{6, 9, 7, 10, 8, 11, 18, 21, 19, 22, 20, 23}));
  HostTensor copy = counting({2, 4, 3}, 100);
  EXPECT_TRUE(putWeight(take(both, gates), gates, copy) && putWeight(take(both, inner), inner, copy));
  EXPECT_EQ(numbers(copy), numbers(both));
}

TEST(PublishedWeightsTest, aGgufFileHasMatricesBelowEachOther) {
  // Two heads of two inputs and three outputs, side by side in the weight.
  WeightOrigin origin{.names = {"kv_b"}, .shape = {2, 6}, .transpose = true, .rows = ChosenRows{2, 5, 0, 3}};
  origin.gguf = GgufPlace{.name = "k_b", .beside = 2};
  WeightOrigin place = origin.inGguf();
  HostTensor weight = take(counting({2, 2, 3}), place), back = counting({2, 2, 3}, 100), other = counting({2, 3, 2});
  EXPECT_EQ(numbers(weight), (std::vector<float>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  ASSERT_TRUE(putWeight(weight, place, back));
  EXPECT_EQ(numbers(back), numbers(counting({2, 2, 3})));
  EXPECT_FALSE(putWeight(weight, place, other));
}

TEST(PublishedWeightsTest, aVectorHasNoRowsToSkip) {
  WeightOrigin origin{.names = {"positions"}, .shape = {4}, .leadingRows = true, .skippedRows = 2};
  EXPECT_EQ(numbers(take(counting({3, 4}), origin)), numbers(counting({4}, 8)));
  for (const Shape &stored : {Shape{4}, Shape{1, 4}, Shape{2, 2}}) {
    HostTensor tensor = counting(stored);
    Result<std::optional<HostTensor>> weight = takeWeight(tensor, origin);
    EXPECT_TRUE(weight.ok() && !*weight);
    EXPECT_FALSE(putWeight(counting({4}), origin, tensor));
  }
}

TEST(PublishedWeightsTest, firstDimensionsOfAMatrixAreRows) {
  WeightOrigin origin{.names = {"w"}, .shape = {4, 6}, .transpose = true};
  HostTensor weight = take(counting({2, 3, 4}), origin);
  EXPECT_EQ(weight.values<float>()[1], 4); // the second output of the first input
  HostTensor back = counting({2, 3, 4}, 100);
  ASSERT_TRUE(putWeight(weight, origin, back));
  EXPECT_EQ(numbers(back), numbers(counting({2, 3, 4})));
}

TEST(PublishedWeightsTest, aStackIsWrittenTensorByTensor) {
  WeightOrigin origin{.names = {"expert.*.weight"}, .shape = {4, 6}, .transpose = true, .stacked = 3};
  EXPECT_EQ(origin.namesInStack(2), std::vector<std::string>{"expert.2.weight"});
  HostTensor weight = take(counting({6, 4}), origin);
  for (int64_t i = 0; i < origin.stacked; ++i) {
    HostTensor part = counting({2, 4}, 100);
    Result<bool> isPut = putInStack(weight, origin, i, part);
    EXPECT_TRUE(isPut.ok() && *isPut);
    EXPECT_EQ(numbers(part), numbers(counting({2, 4}, float(8 * i))));
  }
  HostTensor other = counting({3, 4});
  Result<bool> isPut = putInStack(weight, origin, 0, other);
  EXPECT_TRUE(isPut.ok() && !*isPut);
}

TEST(PublishedWeightsTest, interleavedColumnsAreTwoWeights) {
  WeightOrigin gate{.names = {"gate_up"}, .shape = {4, 3}, .parts = 2, .isInterleaved = true};
  gate.gguf = GgufPlace{.name = "gate", .transpose = true, .matrices = 2};
  WeightOrigin up = gate;
  up.part = 1;
  HostTensor both = counting({2, 2, 6}), back = counting({2, 2, 6}, 100);
  HostTensor ofGate = take(both, gate), ofUp = take(both, up);
  EXPECT_EQ(numbers(ofGate), (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}));
  EXPECT_EQ(numbers(ofUp), (std::vector<float>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}));
  ASSERT_TRUE(putWeight(ofGate, gate, back) && putWeight(ofUp, up, back));
  EXPECT_EQ(numbers(back), numbers(both));
  // A GGUF file has both apart, and each matrix transposed.
  HostTensor inFile = take(counting({2, 3, 2}), gate.inGguf());
  EXPECT_EQ(numbers(inFile), (std::vector<float>{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
}

// A file with the MXFP4 tensor "w": 2 groups of 2 outputs with 32 inputs each.
std::string mxfp4File(std::string_view scalesShape = "[2,2,1]") {
  std::string header =
      R"({"w_blocks":{"dtype":"U8","shape":[2,2,1,16],"data_offsets":[0,64]},"w_scales":{"dtype":"U8","shape":)";
  header += std::string(scalesShape) + R"(,"data_offsets":[64,68]}})";
  std::string file(8, '\0');
  file[0] = char(header.size()), file[1] = char(header.size() >> 8);
  file += header;
  for (int i = 0; i < 64; ++i)
    file += char(i * 37 + 11);
  for (int exponent : {127, 0, 130, 90})
    file += char(exponent);
  return file;
}

TEST(PublishedWeightsTest, mxfp4IsReadAsNumbersAndAsParts) {
  test::TemporaryFolder folder;
  Result<TensorFiles> files = TensorFiles::open(folder.write("model.safetensors", mxfp4File()), Description());
  ASSERT_TRUE(files.ok()) << files.message();
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const int exponents[] = {0, -127, 3, -37};
  auto expected = [&](size_t output, size_t input) { // outputs of all groups
    int byte = int(16 * output + input / 2) * 37 + 11, code = byte >> (input % 2 * 4) & 15;
    return std::ldexp(values[code & 7], exponents[output]) * (code < 8 ? 1.0f : -1.0f);
  };
  Result<HostTensor> whole = files->read("w", {.names = {"w"}, .shape = {64, 2}});
  ASSERT_TRUE(whole.ok()) << whole.message();
  ASSERT_EQ(whole->shape(), (Shape{2, 32, 2}));
  for (int64_t part : {0, 1}) {
    WeightOrigin origin{.names = {"w"}, .shape = {64, 1}, .part = part, .parts = 2, .isInterleaved = true};
    HostTensor weight = take(*whole, origin);
    ASSERT_TRUE(files->packedFormat(origin));
    Result<PackedTensor> packed = files->readPacked(origin);
    ASSERT_TRUE(packed.ok()) << packed.message();
    HostTensor codes = take(packed->numbers, origin);
    origin.shape[0] /= 32;
    HostTensor scales = take(packed->scales, origin);
    for (size_t row = 0; row < 64; ++row) {
      float number = weight.values<float>()[row];
      EXPECT_EQ(number, expected(row / 32 * 2 + size_t(part), row % 32));
      EXPECT_EQ(number,
                float(packed->format.table[int(codes.values<float>()[row])]) * scales.values<float>()[row / 32]);
    }
  }
}

TEST(PublishedWeightsTest, mxfp4OfOtherShapesIsRefused) {
  test::TemporaryFolder folder;
  Result<TensorFiles> files = TensorFiles::open(folder.write("model.safetensors", mxfp4File("[4,1]")), Description());
  ASSERT_TRUE(files.ok()) << files.message();
  Result<HostTensor> whole = files->read("w", {.names = {"w"}, .shape = {64, 2}});
  ASSERT_FALSE(whole.ok());
  EXPECT_NE(whole.message().find("MXFP4"), std::string::npos) << whole.message();
}

TEST(PublishedWeightsTest, aGgufFileHasRowsOfItsOwn) {
  WeightOrigin origin{.names = {"query_key_value"},
                      .shape = {2, 4},
                      .transpose = true,
                      .rows = ChosenRows{.groups = 2, .of = 3, .index = 1},
                      .gguf = GgufPlace{.name = "attn_qkv", .rows = ChosenRows{.first = 4}}};
  HostTensor inFolder = take(counting({12, 2}), origin), inFile = take(counting({12, 2}), origin.inGguf());
  // Row 2 is the folder's first key.
  EXPECT_EQ(numbers(inFolder), (std::vector<float>{4, 6, 16, 18, 5, 7, 17, 19}));
  EXPECT_EQ(numbers(inFile), (std::vector<float>{8, 10, 12, 14, 9, 11, 13, 15}));
  EXPECT_EQ(origin.inGguf().names, std::vector<std::string>{"attn_qkv"});
  origin.gguf.reset();
  EXPECT_EQ(origin.inGguf().names, origin.names);
}

} // namespace
} // namespace heddle
