#include "runtime/core/GgufNames.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace heddle {
namespace {

constexpr std::string_view kArchitectures[] = {"llama", "qwen2", "qwen3", "gemma2"};

struct Name {
  std::string_view gguf, published;
};

constexpr Name kOutside[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

// Of each block: "blk.7." or "model.layers.7." stands before these.
constexpr Name kInBlocks[] = {{"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
                              {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
                              {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
                              {"attn_k_norm", "self_attn.k_norm"}, {"ffn_gate", "mlp.gate_proj"},
                              {"ffn_up", "mlp.up_proj"},           {"ffn_down", "mlp.down_proj"}};
// The norm in front of the feed-forward has another name where there are norms behind both halves of a block.
constexpr Name kTwoNorms[] = {{"ffn_norm", "post_attention_layernorm"}};
constexpr Name kFourNorms[] = {{"ffn_norm", "pre_feedforward_layernorm"},
                               {"post_attention_norm", "post_attention_layernorm"},
                               {"post_ffw_norm", "post_feedforward_layernorm"}};

constexpr std::string_view kBlock = "blk.", kLayer = "model.layers.";

using Side = std::string_view Name::*;

std::string translate(std::span<const Name> names, std::string_view name, Side from, Side to) {
  auto found = std::ranges::find(names, name, from);
  return found == names.end() ? "" : std::string((*found).*to);
}

// "blk.7.attn_q.bias" becomes "model.layers.7.self_attn.q_proj.bias", or the other way round; empty where there is
// none.
std::string translate(std::string_view architecture, std::string_view name, Side from, Side to) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || (name.substr(dot) != ".weight" && name.substr(dot) != ".bias"))
    return {};
  std::string_view stem = name.substr(0, dot), ending = name.substr(dot);
  bool toPublished = to == &Name::published;
  std::string_view before = toPublished ? kBlock : kLayer, after = toPublished ? kLayer : kBlock;
  std::string result;
  if (stem.starts_with(before)) {
    std::string_view rest = stem.substr(before.size());
    std::string_view number = rest.substr(0, rest.find('.'));
    bool isNumber = !number.empty() && number.size() < rest.size() &&
                    number.find_first_not_of("0123456789") == std::string_view::npos;
    if (!isNumber)
      return {};
    std::string_view part = rest.substr(number.size() + 1);
    result = translate(kInBlocks, part, from, to);
    if (result.empty())
      result = translate(architecture == "gemma2" ? std::span<const Name>(kFourNorms) : kTwoNorms, part, from, to);
    if (!result.empty())
      result = std::string(after) + std::string(number) + "." + result;
  } else {
    result = translate(kOutside, stem, from, to);
  }
  return result.empty() ? result : result + std::string(ending);
}

// Moves row `from(i)` of each head to row i.
template <typename From> void moveRows(std::span<float> values, int64_t columns, int64_t heads, From from) {
  auto height = int64_t(values.size()) / columns / heads;
  assert(height * columns * heads == int64_t(values.size()) && height % 2 == 0);
  std::vector<float> head(size_t(height * columns));
  for (int64_t h = 0; h < heads; ++h) {
    std::span<float> place = values.subspan(size_t(h) * head.size(), head.size());
    for (int64_t row = 0; row < height; ++row)
      std::ranges::copy(place.subspan(size_t(from(row, height) * columns), size_t(columns)),
                        head.begin() + row * columns);
    std::ranges::copy(head, place.begin());
  }
}

} // namespace

std::span<const std::string_view> ggufArchitectures() { return kArchitectures; }

bool isGgufArchitecture(std::string_view architecture) {
  return std::ranges::find(kArchitectures, architecture) != std::end(kArchitectures);
}

std::optional<GgufTensor> publishedTensor(std::string_view architecture, std::string_view name) {
  GgufTensor tensor{translate(architecture, name, &Name::gguf, &Name::published), {}};
  if (tensor.name.empty())
    return std::nullopt;
  if (architecture == "llama" && name.find(".attn_q.") != std::string_view::npos)
    tensor.storage.rows = GgufStorage::Rows::QueryPairs;
  if (architecture == "llama" && name.find(".attn_k.") != std::string_view::npos)
    tensor.storage.rows = GgufStorage::Rows::KeyPairs;
  // The published gains of Gemma 2 are by how much more than 1 they are.
  if (architecture == "gemma2" && name.ends_with("norm.weight"))
    tensor.storage.added = 1;
  return tensor;
}

std::optional<std::string> ggufTensorName(std::string_view architecture, std::string_view published) {
  std::string name = translate(architecture, published, &Name::published, &Name::gguf);
  return name.empty() ? std::nullopt : std::optional(std::move(name));
}

void splitPairs(std::span<float> values, int64_t columns, int64_t heads) {
  moveRows(values, columns, heads,
           [](int64_t row, int64_t height) { return row % (height / 2) * 2 + row / (height / 2); });
}

void joinPairs(std::span<float> values, int64_t columns, int64_t heads) {
  moveRows(values, columns, heads, [](int64_t row, int64_t height) { return row % 2 * (height / 2) + row / 2; });
}

} // namespace heddle
