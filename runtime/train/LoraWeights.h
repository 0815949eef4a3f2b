// The weights of adapters in an artifact, and the places of the weights that they change in a published model.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

inline constexpr std::string_view kLoraDown = ".lora_a", kLoraUp = ".lora_b";

// The adapter of a linear transformation: `down` is inputs x rank, `up` is rank x outputs. Those of all experts' linear
// transformations stand one below the other.
struct LoraShape {
  int64_t matrices = 1, inputs = 0, rank = 0, outputs = 0; // of one matrix, except for `matrices`

  Shape down() const { return {matrices * inputs, rank}; }
  Shape up() const { return {matrices * rank, outputs}; }
};

// Finds the adapters among a checkpoint's weights, by linear transformation.
std::map<std::string, LoraShape> findLoraShapes(const std::map<std::string, Shape, std::less<>> &weights);

// Matrix number `index` of matrices that stand one below the other.
std::span<float> matrixOf(HostTensor &matrices, int64_t index, int64_t rows);
std::span<const float> matrixOf(const HostTensor &matrices, int64_t index, int64_t rows);

// Writes the transposed matrix `from`, `width` columns wide, times `scale` into the first columns of `to`, `columns`
// columns wide.
void transposeInto(std::span<const float> from, int64_t width, std::span<float> to, int64_t columns, float scale = 1);
// The same into a tensor of zeros with `rows` rows.
Result<HostTensor> transposePadded(const HostTensor &from, int64_t rows, int64_t columns);

// The name of a linear transformation's weight: its own name, with or without ".weight".
std::string weightOf(const std::string &linear, const Description &model);
std::string linearOf(std::string_view weight); // the reverse

// The number of matrices that stand one below the other in a weight of a published model.
int64_t matricesOf(const WeightOrigin &origin);

// The published tensor that consists of exactly this weight; the weight's own name if the model was not published.
// nullopt if the tensor holds more than the weight.
std::optional<std::string> nameOfWhole(const std::string &weight, const Description &model);

// The names of the published tensor that holds all outputs of a linear transformation, and perhaps those of others; its
// own name with ".weight" if the model was not published. A `*` stands for the number of an expert. Empty if there is no
// such tensor.
std::vector<std::string> namesOfHolder(const std::string &linear, const Description &model);

// Takes the outputs of a linear transformation from B or magnitudes of all outputs of its tensor. Returns `all` if the
// shapes do not fit.
Result<HostTensor> takeOutputs(HostTensor all, const WeightOrigin &origin);

// The embedding that is also the head's matrix, if the model has one matrix for both; empty otherwise. The published
// name of the head is kSharedHead.
inline constexpr const char *kSharedHead = "lm_head";
std::string findSharedEmbedding(const Description &model);

} // namespace heddle
