#include "runtime/model/EmbeddingRule.h"

#include "runtime/core/File.h"
#include "runtime/core/Gguf.h"
#include "runtime/core/Json.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kFileLimit = 16 << 20;

// Returns null if there is no such file.
Result<Json> readOptional(const fs::path &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return Json();
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kFileLimit));
  return parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, str("'", path.string(), "'"));
}

// The value of a key if `json` is an object that has it with a value of this type.
template <typename T> std::optional<T> valueAt(const Json &json, const char *key) {
  if (!json.is_object() || !json.contains(key))
    return std::nullopt;
  const Json &value = json[key];
  bool fits = std::is_same_v<T, bool>          ? value.is_boolean()
              : std::is_same_v<T, std::string> ? value.is_string()
                                               : value.is_number_integer();
  return fits ? std::optional(value.get<T>()) : std::nullopt;
}

class Reader {
public:
  explicit Reader(fs::path folder) : folder(std::move(folder)) {}

  Result<EmbeddingRule> read(bool normalizes) {
    HEDDLE_ASSIGN(Json modules, readOptional(folder / kModulesFile));
    rule.normalizes = modules.is_null() && normalizes;
    if (modules.is_null())
      return rule;
    if (!modules.is_array())
      return malformed(kModulesFile, "is not a list of modules");
    for (const Json &module : modules)
      HEDDLE_CHECK(readModule(module));
    HEDDLE_CHECK(readPrompt());
    return rule;
  }

private:
  Error malformed(const std::string &file, const std::string &what) const {
    return makeError(ErrorKind::Malformed, "'", (folder / file).string(), "' ", what, "; download it again.");
  }

  Status readModule(const Json &module) {
    std::string type = valueAt<std::string>(module, "type").value_or("");
    std::string kind = type.substr(type.rfind('.') + 1), path = valueAt<std::string>(module, "path").value_or("");
    fs::path below(path);
    if (below.is_absolute() || std::ranges::find(below, fs::path("..")) != below.end())
      return malformed(kModulesFile, str("has a module in '", path, "', which leads out of the folder"));
    if (kind == "Transformer")
      return readTransformer(below);
    if (kind == "Pooling")
      return readPooling((below / "config.json").string());
    if (kind != "Normalize")
      return makeError(ErrorKind::Unsupported, "'", (folder / kModulesFile).string(), "' has the module '", type,
                       "', and Heddle computes Transformer, Pooling and Normalize; `heddle-run call` gives the hidden "
                       "states before it.");
    rule.normalizes = true;
    return Success();
  }

  // The length at which texts are cut. Old folders have the kind of model in the file's name; the first file counts.
  Status readTransformer(const fs::path &below) {
    Json settings;
    for (const char *kind : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"})
      if (settings.is_null()) {
        HEDDLE_ASSIGN(settings, readOptional(folder / below / str("sentence_", kind, "_config.json")));
      }
    if (auto longest = valueAt<int64_t>(settings, "max_seq_length"); longest && *longest > 0)
      rule.longest = *longest;
    rule.lowersCase = valueAt<bool>(settings, "do_lower_case").value_or(false);
    return Success();
  }

  Status readPooling(const std::string &file) {
    HEDDLE_ASSIGN(Json settings, readOptional(folder / file));
    if (!settings.is_object())
      return malformed(file, "is missing or is no object of JSON");
    struct Mode {
      const char *flag, *name; // of old and of new folders
      Pooling pooling;
    };
    // In the order in which their vectors are joined.
    constexpr Mode kModes[] = {{"pooling_mode_cls_token", "cls", Pooling::First},
                               {"pooling_mode_max_tokens", "max", Pooling::Largest},
                               {"pooling_mode_mean_tokens", "mean", Pooling::Mean},
                               {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::MeanByRoot},
                               {"pooling_mode_weightedmean_tokens", "weightedmean", Pooling::WeightedMean},
                               {"pooling_mode_lasttoken", "lasttoken", Pooling::Last}};
    std::optional<std::string> name = valueAt<std::string>(settings, "pooling_mode");
    rule.poolings.clear();
    for (const Mode &mode : kModes)
      if (name ? *name == mode.name : valueAt<bool>(settings, mode.flag).value_or(false))
        rule.poolings.push_back(mode.pooling);
    if (rule.poolings.empty())
      return malformed(file, "names no way of pooling that Heddle knows");
    poolsPrompt = valueAt<bool>(settings, "include_prompt").value_or(true);
    return Success();
  }

  // The prompt that precedes every text unless a program names another.
  Status readPrompt() {
    constexpr const char *kFile = "config_sentence_transformers.json";
    HEDDLE_ASSIGN(Json settings, readOptional(folder / kFile));
    std::optional<std::string> name = valueAt<std::string>(settings, "default_prompt_name");
    if (!name)
      return Success();
    std::optional<std::string> prompt = valueAt<std::string>(settings.value("prompts", Json()), name->c_str());
    if (!prompt)
      return malformed(kFile, "has no prompt '" + *name + "', which it names");
    if (!prompt->empty() && !poolsPrompt)
      return makeError(ErrorKind::Unsupported, "'", (folder / kFile).string(),
                       "' has a prompt whose tokens do not count in the pooling, which Heddle does not compute.");
    rule.prompt = *prompt;
    return Success();
  }

  fs::path folder;
  EmbeddingRule rule;
  bool poolsPrompt = true;
};

// Adds the rows, each times its weight.
template <typename Weight> std::vector<float> sumOf(std::span<const float> rows, size_t width, Weight weight) {
  std::vector<double> sums(width);
  for (size_t token = 0; token < rows.size() / width; ++token)
    for (size_t column = 0; column < width; ++column)
      sums[column] += double(rows[token * width + column]) * weight(token);
  return {sums.begin(), sums.end()};
}

std::vector<float> pool(Pooling pooling, std::span<const float> rows, size_t width) {
  auto tokens = double(rows.size() / width);
  switch (pooling) {
  case Pooling::First:
    return {rows.begin(), rows.begin() + ptrdiff_t(width)};
  case Pooling::Last:
    return {rows.end() - ptrdiff_t(width), rows.end()};
  case Pooling::Largest: {
    std::vector<float> largest(rows.begin(), rows.begin() + ptrdiff_t(width));
    for (size_t i = width; i < rows.size(); ++i)
      largest[i % width] = std::max(largest[i % width], rows[i]);
    return largest;
  }
  case Pooling::Mean:
    return sumOf(rows, width, [&](size_t) { return 1 / tokens; });
  case Pooling::MeanByRoot:
    return sumOf(rows, width, [&](size_t) { return 1 / std::sqrt(tokens); });
  case Pooling::WeightedMean:
    return sumOf(rows, width, [&](size_t token) { return double(token + 1) * 2 / (tokens * (tokens + 1)); });
  }
  return {};
}

// llama.cpp's key for how hidden states are pooled.
Result<EmbeddingRule> readGgufRule(const fs::path &path, bool normalizes) {
  HEDDLE_ASSIGN(GgufReader file, GgufReader::open(path));
  EmbeddingRule rule{.normalizes = normalizes};
  const GgufValue *architecture = file.value("general.architecture");
  std::string key = str(architecture && architecture->text() ? *architecture->text() : "", ".pooling_type");
  const GgufValue *kind = file.value(key);
  if (!kind || kind->whole() == 0)
    return rule;
  constexpr Pooling kKinds[] = {Pooling::Mean, Pooling::First, Pooling::Last}; // from 1 on
  std::optional<uint64_t> number = kind->whole();
  if (!number || *number > std::size(kKinds))
    return makeError(ErrorKind::Unsupported, "'", path.string(), "' has a '", key,
                     "' that Heddle does not know; it pools by the mean (1), the first token (2) or the last one (3).");
  rule.poolings = {kKinds[*number - 1]};
  return rule;
}

} // namespace

std::string_view nameOf(Pooling pooling) {
  constexpr std::string_view kNames[] = {"first",         "largest", "average", "the sum over the root of the length",
                                         "weighted mean", "last"};
  return kNames[size_t(pooling)];
}

std::string EmbeddingRule::prepare(std::string_view text) const {
  std::string whole = prompt + std::string(text);
  whole = std::string(withoutTrailingSpace(withoutLeadingSpace(whole)));
  return lowersCase ? toUtf8(lowerCase(codePoints(whole))) : whole;
}

std::vector<float> EmbeddingRule::apply(std::span<const float> rows, size_t width) const {
  std::vector<float> vector;
  for (Pooling pooling : poolings) {
    std::vector<float> part = pool(pooling, rows, width);
    vector.insert(vector.end(), part.begin(), part.end());
  }
  if (!normalizes)
    return vector;
  double squares = 0;
  for (float number : vector)
    squares += double(number) * number;
  double length = std::max(std::sqrt(squares), 1e-12);
  for (float &number : vector)
    number = float(number / length);
  return vector;
}

Result<EmbeddingRule> readEmbeddingRule(const fs::path &place, bool normalizes) {
  return isGgufFile(place) ? readGgufRule(place, normalizes) : Reader(place).read(normalizes);
}

} // namespace heddle
