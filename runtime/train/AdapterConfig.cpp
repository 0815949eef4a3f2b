#include "runtime/train/AdapterConfig.h"

#include "runtime/core/File.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kConfigLimit = 1 << 20;

// Patterns match a module's whole name or the part after a dot, as in PEFT.
bool isOrEndsWith(std::string_view module, const std::string &name) {
  return module == name || module.ends_with("." + name);
}

const Json *find(const Json &patterns, std::string_view module) {
  for (const auto &[pattern, value] : patterns.items())
    if (isOrEndsWith(module, pattern))
      return &value;
  return nullptr;
}

bool isRank(const Json &value) {
  return value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= 65536;
}
bool isDropout(const Json &value) { return value.is_number() && value.get<double>() >= 0 && value.get<double>() < 1; }
bool isAlpha(const Json &value) { return value.is_number() && value.get<double>() > 0; }

// Reads an object that maps plain module names to numbers; null is an empty object. nullopt for regular expressions,
// which PEFT also accepts.
template <typename Fits> std::optional<Json> readPatterns(const Json &value, Fits fits) {
  Json patterns = Json::object();
  if (value.is_null())
    return patterns;
  if (!value.is_object())
    return std::nullopt;
  for (const auto &[pattern, number] : value.items()) {
    std::string_view name = pattern;
    for (std::string_view start : {"^", ".*\\."}) // of any module with this end
      if (name.starts_with(start))
        name.remove_prefix(start.size());
    bool isPlain = !name.empty() && name.find_first_of("\\*+?()[]{}|^$") == std::string_view::npos;
    if (!isPlain || !fits(number))
      return std::nullopt;
    patterns[std::string(name)] = number;
  }
  return patterns;
}

} // namespace

Result<AdapterConfig> AdapterConfig::read(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kConfigLimit));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  HEDDLE_ASSIGN(Json json, parseJson(text, str("'", path.string(), "'")));
  auto value = [&](const char *key) { return json.is_object() && json.contains(key) ? json[key] : Json(); };
  auto unsupported = [&](const char *key, const char *wanted) {
    return makeError(ErrorKind::Unsupported, "'", path.string(), "' has ", key, " = ", value(key).dump().substr(0, 60),
                     ", and Heddle reads adapters ", wanted, ".");
  };
  if (value("peft_type") != "LORA")
    return unsupported("peft_type", "of the type \"LORA\"");
  if (value("lora_bias") == true)
    return unsupported("lora_bias", "without biases");
  // Some initializations move a part of the base's weights into the adapter: PEFT changes the base when it loads such
  // adapters.
  if (const Json start = value("init_lora_weights");
      !start.is_null() && !start.is_boolean() && start != "gaussian" && start != "orthogonal" && start != "eva")
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' has init_lora_weights = ", start.dump().substr(0, 60),
                     ": the adapter belongs to a base whose weights PEFT changes when it loads the adapter, and Heddle "
                     "leaves the base as it is. Convert it to plain LoRA: PEFT's save_pretrained does so with "
                     "path_initial_model_for_weight_conversion.");
  for (const char *key : {"layer_replication", "alora_invocation_tokens", "use_qalora", "use_bdlora"})
    if (const Json given = value(key); !given.empty() && given != false)
      return unsupported(key, "of the layers that the base has, each as it is");
  if (const Json bias = value("bias"); !bias.is_null() && bias != "none")
    return unsupported("bias", "without biases (\"none\")");
  AdapterConfig config;
  if (const Json saved = value("modules_to_save"); !saved.is_null()) {
    auto isName = [](const Json &name) { return name.is_string() && !name.get_ref<const std::string &>().empty(); };
    if (!saved.is_array() || !std::ranges::all_of(saved, isName))
      return unsupported("modules_to_save", "whose saved modules are a list of names");
    config.modulesToSave = saved.get<std::vector<std::string>>();
  }
  std::optional<Json> ranks = readPatterns(value("rank_pattern"), isRank),
                      alphas = readPatterns(value("alpha_pattern"), isAlpha);
  if (!ranks || !alphas)
    return unsupported(ranks ? "alpha_pattern" : "rank_pattern",
                       "whose patterns are names of modules, or ends of names, with a number each");
  const Json rank = value("r"), alpha = value("lora_alpha");
  if (!isRank(rank) || !isAlpha(alpha))
    return makeError(ErrorKind::Malformed, "'", path.string(), "' has r = ", rank.dump().substr(0, 60),
                     " and lora_alpha = ", alpha.dump().substr(0, 60),
                     ", which should be a whole number and a number above 0; save the adapter again.");
  const Json dropout = value("lora_dropout");
  if (!dropout.is_null() && !isDropout(dropout))
    return makeError(ErrorKind::Malformed, "'", path.string(), "' has lora_dropout = ", dropout.dump().substr(0, 60),
                     ", which should be a number from 0 to below 1; save the adapter again.");
  config.rank = rank.get<int64_t>();
  config.alpha = alpha.get<double>();
  config.dropout = dropout.is_null() ? 0 : dropout.get<double>();
  config.hasMagnitudes = value("use_dora") == true;
  config.byRoot = value("use_rslora") == true;
  config.tiesSaved = value("ensure_weight_tying") == true;
  config.ranks = std::move(*ranks);
  config.alphas = std::move(*alphas);
  return config;
}

int64_t AdapterConfig::rankOf(std::string_view module) const {
  const Json *own = find(ranks, module);
  return own ? own->get<int64_t>() : rank;
}

double AdapterConfig::scaleOf(std::string_view module) const {
  const Json *own = find(alphas, module);
  auto order = double(rankOf(module));
  return (own ? own->get<double>() : alpha) / (byRoot ? std::sqrt(order) : order);
}

bool AdapterConfig::saves(std::string_view module) const {
  return std::ranges::any_of(modulesToSave, [&](const std::string &name) { return module.ends_with(name); });
}

} // namespace heddle
