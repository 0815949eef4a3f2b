#include "tools/heddle-run/model/Description.h"

#include <algorithm>
#include <array>
#include <set>

namespace heddle::run {
namespace {

// What a weight means depends on these; every other key may change between a training and its continuation.
constexpr std::array<std::string_view, 20> kFunctionKeys = {
    "architecture", "d_model",     "heads",      "d_ff",   "encoder_layers",   "decoder_layers",    "vocab_size",
    "norm",         "positions",   "activation", "head",   "share_embeddings", "scale_embeddings",  "embedding_norm",
    "token_types",  "output_bias", "pooler",     "bos_id", "eos_id",           "layer_norm_epsilon"};

Error lacking(std::string_view key) {
  return makeError(ErrorKind::Unsupported, "the artifact's model description has no positive number '", key,
                   "': it is no Transformer that heddle-run can train or translate with. `heddle-run call` runs the "
                   "entries of any artifact.");
}

} // namespace

Result<ModelDescription> ModelDescription::parse(std::string_view text) {
  ModelDescription description;
  description.json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!description.json.is_object())
    return makeError(ErrorKind::Malformed, "the artifact's model description is no JSON object; compile it anew.");
  const std::pair<const char *, int64_t *> numbers[] = {{"vocab_size", &description.vocabularySize},
                                                        {"max_tokens", &description.maximumTokens},
                                                        {"max_sequences", &description.maximumSequences},
                                                        {"max_length", &description.maximumLength}};
  for (auto [key, value] : numbers) {
    auto found = description.json.find(key);
    if (found == description.json.end() || !found->is_number_integer() || found->get<int64_t>() <= 0)
      return lacking(key);
    *value = found->get<int64_t>();
  }
  if (auto found = description.json.find("beam"); found != description.json.end() && found->is_number_integer())
    description.widestBeam = found->get<int64_t>();
  const std::pair<const char *, int32_t *> marks[] = {
      {"bos_id", &description.marks.begin}, {"eos_id", &description.marks.end}, {"pad_id", &description.paddingId}};
  for (auto [key, value] : marks)
    if (auto found = description.json.find(key); found != description.json.end()) {
      if (!found->is_number_integer() || found->get<int64_t>() < 0 || *found >= description.vocabularySize)
        return makeError(ErrorKind::Malformed, "the artifact's model description has ", key, " = ", found->dump(),
                         ", which is no token of ", description.vocabularySize, "; compile it anew.");
      *value = found->get<int32_t>();
    }
  return description;
}

std::vector<std::string> differences(const nlohmann::json &before, const nlohmann::json &now, bool functionOnly) {
  std::set<std::string> keys;
  if (functionOnly) {
    keys.insert(kFunctionKeys.begin(), kFunctionKeys.end());
  } else {
    for (const nlohmann::json *side : {&before, &now})
      for (const auto &item : side->items())
        keys.insert(item.key());
  }
  auto show = [](const nlohmann::json &side, const std::string &key) {
    return side.contains(key) ? side.at(key).dump() : std::string("absent");
  };
  std::vector<std::string> result;
  for (const std::string &key : keys) {
    // A key that came to be since has its default, which is how models were before.
    if (functionOnly && !before.contains(key))
      continue;
    if (std::string was = show(before, key), is = show(now, key); was != is)
      result.push_back(str(key, " (", was, ", now ", is, ")"));
  }
  return result;
}

Status checkVocabulary(int32_t pieces, std::optional<int32_t> end, const ModelDescription &description) {
  if (pieces > description.vocabularySize)
    return makeError(ErrorKind::InvalidArgument, "the vocabulary has ", pieces, " pieces and the model room for ",
                     description.vocabularySize, "; compile it with --set vocab_size=", pieces,
                     " or use a smaller vocabulary.");
  if (end && *end != description.marks.end)
    return makeError(ErrorKind::InvalidArgument, "a sentence's end is token ", *end, " of the vocabulary and ",
                     description.marks.end, " of the model; use the vocabulary that the model was made with.");
  return Success();
}

Status checkArchitecture(const ModelDescription &description, std::string_view wanted, std::string_view command) {
  struct Architecture {
    std::string_view name, stacks, use;
  };
  constexpr Architecture kArchitectures[] = {
      {kEncoderAndDecoder, "an encoder with a decoder", "`heddle-run translate` translates with it"},
      {kEncoderAlone, "an encoder alone",
       "`heddle-run fill` fills in masked words with it, where it has a head for that"},
      {kDecoderAlone, "a decoder alone", "`heddle-run generate` continues text with it"}};
  std::string name = description.json.value("architecture", std::string(kEncoderAndDecoder));
  auto of = [&](std::string_view name) { return std::ranges::find(kArchitectures, name, &Architecture::name); };
  const Architecture *own = of(name);
  if (name == wanted || own == std::end(kArchitectures))
    return Success();
  return makeError(ErrorKind::Unsupported, "the artifact's model is ", own->stacks, ", and ", command, " takes ",
                   of(wanted)->stacks, "; ", own->use, ", and `heddle-run call` calls its entries.");
}

} // namespace heddle::run
