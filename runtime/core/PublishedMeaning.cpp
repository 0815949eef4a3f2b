#include "runtime/core/PublishedMeaning.h"

#include "runtime/core/File.h"
#include "runtime/core/Gguf.h"
#include "runtime/core/Json.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kConfigLimit = 16 << 20;

// Returns the value of a key, or null if there is none.
Json at(const Json &object, const char *key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

class Meaning {
public:
  explicit Meaning(const Json &config) : config(config) {}

  Json read() {
    Json architectures = at(config, "architectures");
    Json name = architectures.is_array() && !architectures.empty() ? architectures[0] : Json();
    std::string architecture = name.is_string() ? name.get<std::string>() : "";
    if (architecture == "GPT2LMHeadModel") {
      set("architecture", "gpt2");
      number("heads", "n_head", {});
      number("layer_norm_epsilon", "layer_norm_epsilon", 1e-5);
      activation("activation_function");
    } else if (std::string family = encoderFamily(architecture); !family.empty()) {
      readEncoder(family);
    } else if (architecture == "MarianMTModel") {
      set("architecture", "marian");
      number("heads", "encoder_attention_heads", {});
      activation("activation_function");
      Json scales = at(config, "scale_embedding");
      set("scale_embeddings", scales.is_boolean() && scales.get<bool>());
    } else if (architecture == "T5ForConditionalGeneration" || architecture == "MT5ForConditionalGeneration") {
      readT5(architecture == "T5ForConditionalGeneration");
    } else if (architecture == "BartForConditionalGeneration" || architecture == "MBartForConditionalGeneration" ||
               architecture == "M2M100ForConditionalGeneration") {
      readBart(architecture);
    } else {
      readLlama(architecture);
    }
    return std::move(result);
  }

private:
  void set(const char *ours, Json value) {
    result[ours] = value.is_number() ? Json(value.get<float>()) : std::move(value);
  }
  void number(const char *ours, const char *theirs, std::optional<double> otherwise) {
    if (Json value = at(config, theirs); value.is_number())
      set(ours, value);
    else if (otherwise && value.is_null())
      set(ours, *otherwise);
  }
  void activation(const char *theirs, const char *otherwise = "") {
    Json value = at(config, theirs);
    std::string name = value.is_string() ? value.get<std::string>() : otherwise;
    if (name.empty())
      return;
    bool isTanh = name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh";
    set("activation", isTanh ? "gelu-tanh" : name == "silu" ? "swish" : name);
  }

  // The family of an encoder, whichever head it has: "bert" of BertModel and BertForMaskedLM. Empty for other models.
  static std::string encoderFamily(std::string_view architecture) {
    constexpr std::pair<std::string_view, const char *> families[] = {
        {"Bert", "bert"},         {"Roberta", "roberta"},       {"XLMRoberta", "roberta"},
        {"Camembert", "roberta"}, {"DistilBert", "distilbert"}, {"ModernBert", "modernbert"}};
    for (const auto &[name, family] : families)
      if (architecture.starts_with(name) &&
          (architecture.substr(name.size()) == "Model" || architecture.substr(name.size()).starts_with("For")))
        return family;
    return "";
  }

  void readEncoder(const std::string &family) {
    set("architecture", family);
    bool isModern = family == "modernbert", isDistilled = family == "distilbert";
    number("heads", isDistilled ? "n_heads" : "num_attention_heads", {});
    activation(isModern ? "hidden_activation" : isDistilled ? "activation" : "hidden_act");
    if (!isDistilled)
      number("layer_norm_epsilon", isModern ? "norm_eps" : "layer_norm_eps", isModern ? 1e-5 : 1e-12);
    if (family == "roberta")
      number("padding", "pad_token_id", 1); // positions begin after it
    if (isModern) {
      number("attention_window", "local_attention", 128);
      number("global_every", "global_attn_every_n_layers", 3);
    }
  }

  void readT5(bool isT5) {
    set("architecture", isT5 ? "t5" : "mt5");
    number("heads", "num_heads", {});
    number("norm_epsilon", "layer_norm_epsilon", 1e-6);
    number("buckets", "relative_attention_num_buckets", 32);
    number("furthest", "relative_attention_max_distance", 128);
    activation("feed_forward_proj", isT5 ? "relu" : "gated-gelu");
    Json scales = at(config, "scale_decoder_outputs"), ties = at(config, "tie_word_embeddings");
    bool isTied = !ties.is_boolean() || ties.get<bool>();
    set("scale_outputs", isT5 && (scales.is_boolean() ? scales.get<bool>() : isTied));
  }

  void readBart(const std::string &architecture) {
    bool hasWaves = architecture.starts_with("M2M100");
    set("architecture", hasWaves ? "m2m100" : architecture.starts_with("MBart") ? "mbart" : "bart");
    number("heads", "encoder_attention_heads", {});
    activation("activation_function", hasWaves ? "relu" : "gelu");
    Json scales = at(config, "scale_embedding");
    set("scale_embeddings", scales.is_boolean() ? scales.get<bool>() : hasWaves);
  }

  void readLlama(const std::string &architecture) {
    std::string name = architecture.substr(0, architecture.find("For"));
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    bool isGemma = name.starts_with("gemma");
    set("architecture", commonArchitecture(name));
    Json width = at(config, "hidden_size"), heads = at(config, "num_attention_heads");
    if (!heads.is_number() || !width.is_number() || !(heads.get<double>() >= 1))
      return;
    number("heads", "num_attention_heads", {});
    if (result["architecture"] != "deepseek2") { // folders and GGUF files count latent rows differently
      number("key_heads", "num_key_value_heads", heads.get<double>());
      number("head_width", "head_dim", isGemma ? 256 : std::floor(width.get<double>() / heads.get<double>()));
    }
    if (result["architecture"] != "nemotron") // folders have no key of this name
      number("norm_epsilon", "rms_norm_eps", 1e-6);
    if (isGemma) {
      activation("hidden_activation");
      for (auto [ours, theirs, published] : {std::tuple("attention_soft_cap", "attn_logit_softcapping", 50.0),
                                             {"logit_soft_cap", "final_logit_softcapping", 30.0}})
        if (config.contains(theirs) && config[theirs].is_null())
          set(ours, 0);
        else
          number(ours, theirs, published);
    } else {
      activation("hidden_act");
    }
    readRotary();
    // Which experts a token has, and how much they count.
    for (const char *key :
         {"num_experts_per_tok", "norm_topk_prob", "routed_scaling_factor", "n_group", "topk_group", "clip_qkv"})
      if (Json value = at(config, key); value.is_number() || value.is_boolean())
        set(key, value);
  }

  void readRotary() {
    Json parameters = at(config, "rope_parameters"),
         scaling = parameters.is_object() ? parameters : at(config, "rope_scaling");
    Json base = at(scaling, "rope_theta");
    number("rotary_base", "rope_theta", 10000);
    if (base.is_number())
      set("rotary_base", base);
    Json kind = at(scaling, at(scaling, "type").is_string() ? "type" : "rope_type");
    if (kind == "unknown") // a GGUF file that has divisors instead of a scaling rule
      return;
    bool isPlain = !kind.is_string() || kind == "default" || kind == "dynamic";
    set("rotary_scaling", isPlain ? Json("none") : kind);
    if (Json factor = at(scaling, "factor"); !isPlain && factor.is_number())
      set("rotary_factor", factor);
  }

  const Json &config;
  Json result = Json::object();
};

// Converts the keys of a GGUF file to those of config.json.
Json configOf(const GgufReader &file) {
  const GgufValue *name = file.value("general.architecture");
  std::string architecture = name && name->text() ? *name->text() : "";
  Json config = Json::object();
  auto copy = [&](const char *theirs, const std::string &ours, Json &into) {
    if (const GgufValue *value = file.value(str(architecture, ".", theirs)); value && value->number())
      into[ours] = *value->number();
  };
  const GgufValue *experts = file.value("llama.expert_count");
  bool hasExperts =
      architecture == "llama" && experts && experts->whole().value_or(0) > 0; // Mixtral's files are called so
  config["architectures"] = {hasExperts ? "llama with experts" : architecture};
  // GGUF has no key for the activation: the architecture decides.
  if (architecture.starts_with("gemma"))
    config["hidden_activation"] = "gelu_pytorch_tanh";
  else if (architecture == "llama" || architecture == "qwen2" || architecture == "qwen3")
    config["hidden_act"] = "silu";
  for (auto [theirs, ours] : {std::pair("embedding_length", "hidden_size"),
                              {"attention.head_count", "num_attention_heads"},
                              {"attention.head_count_kv", "num_key_value_heads"},
                              {"attention.key_length", "head_dim"},
                              {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
                              {"rope.freq_base", "rope_theta"},
                              {"expert_used_count", "num_experts_per_tok"},
                              {"attn_logit_softcapping", "attn_logit_softcapping"},
                              {"final_logit_softcapping", "final_logit_softcapping"}})
    copy(theirs, ours, config);
  if (!config.contains("head_dim") && config.contains("hidden_size") && config.contains("num_attention_heads"))
    config["head_dim"] =
        std::floor(config["hidden_size"].get<double>() / std::max(1.0, config["num_attention_heads"].get<double>()));
  Json scaling = Json::object();
  const GgufValue *kind = file.value(str(architecture, ".rope.scaling.type"));
  copy("rope.scale_linear", "factor", scaling);
  copy("rope.scaling.factor", "factor", scaling);
  if (kind && kind->text() && *kind->text() != "none")
    scaling["rope_type"] = *kind->text();
  else if (file.find("rope_freqs.weight"))
    scaling["rope_type"] = "unknown";
  else if (!kind && scaling.contains("factor") && scaling["factor"] != 1.0)
    scaling["rope_type"] = "linear";
  config["rope_scaling"] = std::move(scaling);
  return config;
}

} // namespace

std::string commonArchitecture(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {{"mistral", "llama"},
                                                                      {"llama with experts", "mixtral"},
                                                                      {"granitemoeshared", "granitemoe"},
                                                                      {"gptoss", "gpt-oss"},
                                                                      {"cohere", "command-r"},
                                                                      {"deepseekv2", "deepseek2"},
                                                                      {"deepseekv3", "deepseek2"},
                                                                      {"glm4moelite", "deepseek2"},
                                                                      {"ernie4_5_moe", "ernie4_5-moe"},
                                                                      {"hunyuanmoev1", "hunyuan-moe"},
                                                                      {"hunyuandensev1", "hunyuan-dense"},
                                                                      {"seedoss", "seed_oss"},
                                                                      {"phi", "phi2"},
                                                                      {"minimaxm2", "minimax-m2"}};
  const auto *other = std::ranges::find(others, name, [](const auto &pair) { return pair.first; });
  return std::string(other == std::end(others) ? name : other->second);
}

Result<Json> readPublishedMeaning(const std::filesystem::path &path) {
  if (isGgufFile(path)) {
    HEDDLE_ASSIGN(GgufReader file, GgufReader::open(path));
    return publishedMeaning(configOf(file));
  }
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path / "config.json", kConfigLimit));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  HEDDLE_ASSIGN(Json config, parseJson(text, str("'", (path / "config.json").string(), "'")));
  return publishedMeaning(config);
}

Json publishedMeaning(const Json &config) { return Meaning(config).read(); }

} // namespace heddle
