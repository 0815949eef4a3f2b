#include "runtime/model/SamplingDefaults.h"

#include "runtime/core/Json.h"

#include <algorithm>

namespace heddle {
namespace {

using Json = nlohmann::json;

constexpr double kMostTokens = 2147483647;

// The valid range of a key; `off` is the value with which it has no effect.
struct Key {
  const char *name;
  double low, high, off;
};
constexpr Key kTemperature = {"temperature", 1e-3, 1e3, 1}, kTopK = {"top_k", 0, kMostTokens, 0},
              kTopP = {"top_p", 1e-6, 1, 1}, kMinP = {"min_p", 0, 1, 0},
              kPenalty = {"repetition_penalty", 1e-2, 1e2, 1};
constexpr std::pair<const char *, double> kOthers[] = {{"typical_p", 1},
                                                       {"top_h", 0},
                                                       {"epsilon_cutoff", 0},
                                                       {"eta_cutoff", 0},
                                                       {"no_repeat_ngram_size", 0},
                                                       {"encoder_repetition_penalty", 1},
                                                       {"penalty_alpha", 0}};

std::string shown(double value) { return Json(value).dump(); }

} // namespace

std::string SamplingDefaults::describe() const {
  std::string text;
  auto add = [&](std::string_view name, double value, double off) {
    if (value != off)
      text += str(text.empty() ? "" : ", ", name, " ", shown(value));
  };
  add("temperature", sampling.temperature, kTemperature.off);
  if (sampling.topK != 0)
    text += str(text.empty() ? "" : ", ", "top-k ", sampling.topK);
  add("top-p", sampling.topP, kTopP.off);
  add("min-p", sampling.minP, kMinP.off);
  add("repetition-penalty", repetitionPenalty, kPenalty.off);
  return text.empty() ? "all tokens" : text;
}

Result<std::optional<SamplingDefaults>> readSamplingDefaults(std::string_view text, const std::string &path) {
  HEDDLE_ASSIGN(Json json, parseJson(text, str("'", path, "'")));
  auto value = [&](const char *key) { return json.is_object() && json.contains(key) ? json[key] : Json(); };
  if (value("do_sample") != true)
    return std::optional<SamplingDefaults>();
  SamplingDefaults defaults;
  std::string wrong;
  auto read = [&](const Key &key) {
    const Json given = value(key.name);
    if (given.is_null())
      return key.off;
    if (given.is_number() && given.get<double>() >= key.low && given.get<double>() <= key.high)
      return given.get<double>();
    if (wrong.empty())
      wrong = str(key.name, " = ", given.dump().substr(0, 60), ", and the value of this key is a number from ",
                  shown(key.low), " to ", shown(key.high));
    return key.off;
  };
  defaults.sampling.temperature = read(kTemperature);
  defaults.sampling.topK = int64_t(read(kTopK));
  defaults.sampling.topP = read(kTopP);
  defaults.sampling.minP = read(kMinP);
  defaults.repetitionPenalty = read(kPenalty);
  if (!wrong.empty())
    return makeError(
        ErrorKind::Malformed, "'", path, "' has ", wrong,
        ". Say how to choose tokens by --greedy, or by --sample and its flags; the file is not read then.");
  for (auto [name, off] : kOthers)
    if (const Json given = value(name); given.is_number() && given.get<double>() != off)
      defaults.ignored.emplace_back(name);
  return std::optional(std::move(defaults));
}

} // namespace heddle
