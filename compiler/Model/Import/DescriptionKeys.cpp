// The table of a description's keys. Reading, checks, suggestions, the artifact's JSON and docs/description.md are made
// from it.
#include "compiler/Model/Import/Description.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

namespace {

const double kBelowOne = std::nextafter(1.0, 0.0);

const NumberRange kAny{0, 0, ""};
const NumberRange kRate{0, kBelowOne, "from 0 to below 1"};
const NumberRange kWidth{1, 65536, "from 1 to 65536"};
const NumberRange kLayers{0, 512, "from 0 to 512"};
const NumberRange kTypes{0, 65536, "from 0 to 65536"};
// The smallest vocabulary holds the three special tokens and one other; token ids are 32-bit and signed.
const NumberRange kVocabulary{4, 1 << 24, "from 4 to 16777216"};
const NumberRange kTokens{1, 1 << 20, "from 1 to 1048576"};
const NumberRange kWindow{0, 1 << 20, "from 0 to 1048576"};
const NumberRange kSequences{1, 65535, "from 1 to 65535"}; // attention has a row of workgroups for each sequence
const NumberRange kBeam{1, 64, "from 1 to 64"};
const NumberRange kSteps{1, 1 << 30, "from 1 to 1073741824"};
const NumberRange kFallSteps{0, 1 << 30, "from 0 to 1073741824"};
const NumberRange kEpsilon{1e-30, 1, "above 0 and at most 1"};
const NumberRange kLearningRate{0, 1000, "from 0 to 1000"};
const NumberRange kNorm{0, 1e30, "from 0 to 1e30"};

const StringLiteral kArchitectures[] = {"transformer", "encoder", "decoder"};
const StringLiteral kNorms[] = {"post", "pre"};
const StringLiteral kPositions[] = {"sinusoidal", "sinusoidal-halves", "learned"};
const StringLiteral kActivations[] = {"relu", "gelu", "gelu-tanh", "swish"};
const StringLiteral kSchedules[] = {"paper", "constant", "linear", "cosine"};
const StringLiteral kHeads[] = {"linear", "transform", "none"};

constexpr bool kRequired = true;
constexpr bool kOptional = false;
constexpr bool kStructure = true;
constexpr bool kSetting = false;

} // namespace

ArrayRef<DescriptionKey> heddle::getDescriptionKeys() {
  using D = Description;
  // clang-format off
  static const DescriptionKey keys[] = {
      {"architecture", &D::architecture, kRequired, kStructure, kAny, kArchitectures,
       "Which stacks the model has: an encoder and a decoder (transformer), or an encoder or a decoder alone."},
      {"d_model", &D::dModel, kRequired, kStructure, kWidth, {}, "The width of every layer's input and output."},
      {"heads", &D::heads, kRequired, kStructure, kWidth, {}, "Attention heads of a layer; their number divides d_model (3.2.2)."},
      {"d_ff", &D::dFF, kRequired, kStructure, kWidth, {}, "The width inside the feed-forward networks (3.3)."},
      {"encoder_layers", &D::encoderLayers, kRequired, kStructure, kLayers, {},
       "Layers of the encoder (3.1); 0 for a decoder alone."},
      {"decoder_layers", &D::decoderLayers, kRequired, kStructure, kLayers, {},
       "Layers of the decoder (3.1); 0 for an encoder alone."},
      {"vocab_size", &D::vocabSize, kRequired, kSetting, kVocabulary, {},
       "Tokens of the vocabulary, which both sides share; the marks for unknown text, begin, end and padding count "
       "too."},
      {"norm", &D::norm, kOptional, kStructure, kAny, kNorms,
       "Layer normalisation after each residual sum, as in the paper (3.1), or before each sub-layer and at the end of "
       "each stack."},
      {"positions", &D::positions, kOptional, kStructure, kAny, kPositions,
       "Fixed or learned position encodings (3.5); fixed encodings are sines and cosines in turn, or all sines first."},
      {"activation", &D::activation, kOptional, kStructure, kAny, kActivations,
       "The function between the two products of a feed-forward network (3.3)."},
      {"head", &D::head, kOptional, kStructure, kAny, kHeads,
       "How hidden states become logits: by a linear transformation (3.4), by another layer of the same width with "
       "activation and norm in front of it (transform), or not at all. A decoder's head is linear."},
      {"attention_window", &D::attentionWindow, kOptional, kStructure, kWindow, {},
       "The neighbourhood that self-attention is restricted to (4): a token sees tokens at a distance of at most half "
       "of "
       "it, rounded down; 0 lets a token see all others."},
      {"attention_soft_cap", &D::attentionSoftCap, kOptional, kStructure, kNorm, {},
       "The bound c of attention's scores: a score s becomes c tanh(s / c); 0 leaves scores as they are."},
      {"share_embeddings", &D::shareEmbeddings, kOptional, kStructure, kAny, {},
       "Whether source embedding, target embedding and output projection are the same matrix (3.4)."},
      {"scale_embeddings", &D::scaleEmbeddings, kOptional, kStructure, kAny, {},
       "Whether embeddings are multiplied by the root of d_model (3.4)."},
      {"embedding_norm", &D::embeddingNorm, kOptional, kStructure, kAny, {},
       "Whether the sum of embedding and position is normalised before the first layer."},
      {"token_types", &D::tokenTypes, kOptional, kStructure, kTypes, {},
       "Kinds of tokens that an encoder tells apart, such as tokens of a first and of a second sentence; 0 gives "
       "tokens no "
       "kind."},
      {"output_bias", &D::outputBias, kOptional, kStructure, kAny, {}, "Whether each token's logit has a bias."},
      {"pooler", &D::pooler, kOptional, kStructure, kAny, {},
       "Whether an encoder also gives a vector for each sequence, made of its first token's hidden state."},
      {"layer_norm_epsilon", &D::layerNormEpsilon, kOptional, kStructure, kEpsilon, {},
       "The number that a layer norm adds to the variance before it takes the root."},
      {"dropout", &D::dropout, kOptional, kStructure, kRate, {},
       "Rate of dropout on each sub-layer's output and on the embeddings (5.4)."},
      {"attention_dropout", &D::attentionDropout, kOptional, kStructure, kRate, {}, "Rate of dropout on attention's weights."},
      {"label_smoothing", &D::labelSmoothing, kOptional, kStructure, kRate, {}, "Target mass spread over all tokens (5.4)."},
      {"learning_rate", &D::learningRate, kOptional, kSetting, kLearningRate, {},
       "The rate at the end of warm-up, where it peaks; 0 stands for the paper's d_model^-0.5 * warmup^-0.5 (5.3)."},
      {"schedule", &D::schedule, kOptional, kSetting, kAny, kSchedules,
       "How the learning rate goes on after warm-up: it falls with the root of the steps (paper, 5.3), stays (constant), "
       "or falls from step `warmup` to step `decay_steps`, where it is `final_learning_rate` and stays, along a straight "
       "line (linear) or half a wave (cosine)."},
      {"warmup", &D::warmup, kOptional, kSetting, kSteps, {},
       "Steps over which the learning rate rises (5.3), along a straight line from 0; 1 lets it begin at its peak."},
      {"decay_steps", &D::decaySteps, kOptional, kSetting, kFallSteps, {},
       "The step at which a linear or cosine schedule ends; warm-up counts too. These schedules need it."},
      {"final_learning_rate", &D::finalLearningRate, kOptional, kSetting, kLearningRate, {},
       "The rate at the end of a linear or cosine schedule."},
      {"adam_beta1", &D::adamBeta1, kOptional, kSetting, kRate, {}, "Decay of Adam's first moment (5.3)."},
      {"adam_beta2", &D::adamBeta2, kOptional, kSetting, kRate, {}, "Decay of Adam's second moment (5.3)."},
      {"adam_epsilon", &D::adamEpsilon, kOptional, kSetting, kEpsilon, {},
       "The number that Adam adds to the root of its second moment (5.3)."},
      {"clip_norm", &D::clipNorm, kOptional, kSetting, kNorm, {}, "The gradient's largest norm; 0 leaves gradients as they are."},
      {"weight_decay", &D::weightDecay, kOptional, kSetting, kRate, {},
       "By how much of itself, times the learning rate, each step shrinks every matrix (AdamW); biases and gains of norms stay."},
      {"ema_decay", &D::emaDecay, kOptional, kSetting, kRate, {},
       "Decay of an average of the weights over all steps, kept beside them (`heddle-run average --ema`); 0 keeps no "
       "average."},
      {"loss_scale", &D::lossScale, kOptional, kSetting, kNorm, {},
       "The factor of the loss while it is differentiated, so that 16 bits hold small gradients; it is halved where "
       "gradients overflow; 0 leaves the loss as it is. With --precision=f16 the default is 65536."},
      {"loss_scale_interval", &D::lossScaleInterval, kOptional, kSetting, kSteps, {},
       "Steps in a row without overflow after which the loss's scale is doubled."},
      {"accumulate", &D::accumulate, kOptional, kSetting, kAny, {},
       "Whether gradients may be summed over several batches before a step: adds the entries `accumulate_step` and "
       "`apply_step`."},
      {"token_weights", &D::tokenWeights, kOptional, kSetting, kAny, {},
       "Whether training takes a weight for each token's loss: a decoder alone needs it to learn completions of prompts "
       "(`heddle-run train --data`)."},
      {"source_end", &D::sourceEnd, kOptional, kSetting, kAny, {},
       "Whether the source of a translation ends with the end mark, in training and afterwards. A model that was trained "
       "without needs false, and its checkpoints fit only artifacts with false."},
      {"logits_entry", &D::logitsEntry, kOptional, kSetting, kAny, {},
       "Whether there is an entry `logits`, which gives the logits of all target tokens; memory holds all of them "
       "then."},
      {"explain_entry", &D::explainEntry, kOptional, kSetting, kAny, {},
       "Whether there is an entry `explain`, which gives the weights of every attention (`heddle-run explain`)."},
      {"beam", &D::beam, kOptional, kSetting, kBeam, {}, "The widest beam that a translation may ask for (6.1)."},
      {"max_tokens", &D::maxTokens, kOptional, kSetting, kTokens, {}, "The most tokens that a call holds, on each side."},
      {"max_sequences", &D::maxSequences, kOptional, kSetting, kSequences, {}, "The most sequences that a call holds."},
      {"max_length", &D::maxLength, kOptional, kSetting, kTokens, {},
       "The longest sequence in tokens, begin or end mark included; at most max_tokens, which is the default where it "
       "is "
       "smaller."},
  };
  // clang-format on
  return keys;
}

const DescriptionKey *heddle::findDescriptionKey(StringRef name) {
  const auto *found = llvm::find_if(getDescriptionKeys(), [&](const DescriptionKey &key) { return key.name == name; });
  return found == getDescriptionKeys().end() ? nullptr : found;
}

/// A name that contains `name`, or is part of it, counts as near: `layers` means `encoder_layers`.
const DescriptionKey *heddle::findNearestKey(StringRef name) {
  std::string lower = StringRef(name).lower();
  auto distance = [&](const DescriptionKey &key) -> size_t {
    bool isPart = lower.size() > 2 && (key.name.contains(lower) || StringRef(lower).contains(key.name));
    return isPart ? 2 : StringRef(lower).edit_distance(key.name);
  };
  const DescriptionKey *nearest =
      llvm::min_element(getDescriptionKeys(),
                        [&](const DescriptionKey &a, const DescriptionKey &b) { return distance(a) < distance(b); });
  return distance(*nearest) <= std::max<size_t>(2, name.size() / 2) ? nearest : nullptr;
}

std::string DescriptionKey::describeValues() const {
  auto quote = [](StringRef choice) { return "\"" + choice.str() + "\""; };
  if (!choices.empty())
    return llvm::join(llvm::map_range(choices, quote), " or ");
  if (std::holds_alternative<bool Description::*>(member))
    return "true or false";
  StringRef type = std::holds_alternative<int64_t Description::*>(member) ? "a whole number" : "a number";
  return (type + " " + range.text).str();
}

std::string heddle::showNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value);
  return text;
}

std::string DescriptionKey::describeDefault() const {
  if (required)
    return "";
  Description defaults;
  if (const auto *string = std::get_if<std::string Description::*>(&member))
    return "\"" + defaults.**string + "\"";
  if (const auto *flag = std::get_if<bool Description::*>(&member))
    return defaults.**flag ? "true" : "false";
  if (const auto *whole = std::get_if<int64_t Description::*>(&member))
    return std::to_string(defaults.**whole);
  return showNumber(defaults.*std::get<double Description::*>(member));
}

Location Description::whereIs(StringRef key) const {
  auto found = given.find(key);
  return Location(found == given.end() ? start : found->second);
}

language::Settings Description::getStructure() const {
  language::Settings settings;
  for (const DescriptionKey &key : getDescriptionKeys())
    if (key.isStructure)
      settings[key.name] = {
          std::visit([&](auto member) -> decltype(language::Setting::value) { return this->*member; }, key.member),
          whereIs(key.name)};
  return settings;
}

llvm::json::Object Description::toJSON() const {
  llvm::json::Object object;
  for (const DescriptionKey &key : getDescriptionKeys())
    if (!text || !key.isStructure || given.contains(key.name) || key.name == "architecture") // others are unused
      std::visit([&](auto member) { object[key.name] = this->*member; }, key.member);
  if (unknownId)
    object["unk_id"] = *unknownId;
  object["bos_id"] = beginId;
  object["eos_id"] = endId;
  if (!otherEnds.empty())
    object["other_end_ids"] = llvm::json::Array(otherEnds);
  if (paddingId)
    object["pad_id"] = *paddingId;
  if (classes)
    object["classes"] = *classes;
  if (neighbours)
    object["neighbours"] = *neighbours;
  if (sentences)
    object["sentences"] = *sentences;
  if (image.height) {
    object["image_height"] = image.height;
    object["image_width"] = image.width;
    object["channels"] = image.channels;
  }
  if (text) {
    llvm::json::Object parameters;
    for (const auto &parameter : text->getParameters())
      std::visit([&](const auto &value) { parameters[parameter.getKey()] = value; }, parameter.getValue().value);
    object["parameters"] = std::move(parameters);
  }
  if (start) // a description of defaults has no location, and describes no model
    object["meaning"] = describeMeaning();
  if (!published.empty())
    object["published"] = llvm::json::Object(published);
  if (!tensors.empty())
    object["tensors"] = llvm::json::Object(tensors);
  if (!ignoredTensors.empty())
    object["ignored_tensors"] = llvm::json::Array(ignoredTensors);
  return object;
}
