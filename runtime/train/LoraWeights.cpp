#include "runtime/train/LoraWeights.h"

#include "runtime/published/PublishedWeights.h"

#include <algorithm>

namespace heddle {

static constexpr std::string_view kWeight = ".weight";

std::map<std::string, LoraShape> findLoraShapes(const std::map<std::string, Shape, std::less<>> &weights) {
  std::map<std::string, LoraShape> shapes;
  for (const auto &[name, down] : weights) {
    if (!name.ends_with(kLoraDown) || down.size() != 2 || down[1] == 0)
      continue;
    std::string linear = name.substr(0, name.size() - kLoraDown.size());
    auto found = weights.find(linear + std::string(kLoraUp));
    if (found == weights.end() || found->second.size() != 2)
      continue;
    LoraShape shape{.matrices = found->second[0] / down[1], .rank = down[1], .outputs = found->second[1]};
    shape.inputs = shape.matrices > 0 ? down[0] / shape.matrices : 0;
    if (shape.down() == down && shape.up() == found->second)
      shapes.emplace(std::move(linear), shape);
  }
  return shapes;
}

std::span<const float> matrixOf(const HostTensor &matrices, int64_t index, int64_t rows) {
  auto count = size_t(rows * matrices.shape().back());
  return matrices.values<float>().subspan(size_t(index) * count, count);
}

std::span<float> matrixOf(HostTensor &matrices, int64_t index, int64_t rows) {
  auto count = size_t(rows * matrices.shape().back());
  return matrices.values<float>().subspan(size_t(index) * count, count);
}

void transposeInto(std::span<const float> from, int64_t width, std::span<float> to, int64_t columns, float scale) {
  for (size_t i = 0; i < from.size(); ++i)
    to[i % size_t(width) * size_t(columns) + i / size_t(width)] = scale * from[i];
}

Result<HostTensor> transposePadded(const HostTensor &from, int64_t rows, int64_t columns) {
  HEDDLE_ASSIGN(HostTensor result, HostTensor::uninitialized(ElementType::F32, {rows, columns}));
  std::ranges::fill(result.values<float>(), 0.0f);
  transposeInto(from.values<float>(), from.shape()[1], result.values<float>(), columns);
  return result;
}

std::string weightOf(const std::string &linear, const Description &model) {
  return model.tensors.contains(linear) ? linear : linear + std::string(kWeight);
}

std::string linearOf(std::string_view weight) {
  if (weight.ends_with(kWeight))
    weight.remove_suffix(kWeight.size());
  return std::string(weight);
}

int64_t matricesOf(const WeightOrigin &origin) {
  return origin.stacked > 0 ? origin.stacked : origin.inGguf().matrices;
}

std::optional<std::string> nameOfWhole(const std::string &weight, const Description &model) {
  auto origin = model.tensors.find(weight);
  if (origin == model.tensors.end())
    return model.tensors.empty() ? std::optional(weight) : std::nullopt;
  if (origin->second.parts != 1 || origin->second.rows || origin->second.leadingRows || origin->second.stacked > 0)
    return std::nullopt;
  return origin->second.names.front();
}

std::vector<std::string> namesOfHolder(const std::string &linear, const Description &model) {
  auto found = model.tensors.find(weightOf(linear, model));
  if (found == model.tensors.end())
    return model.tensors.empty() ? std::vector{linear + std::string(kWeight)} : std::vector<std::string>();
  const WeightOrigin &origin = found->second;
  bool dividesInputs = origin.transpose ? origin.parts > 1 : origin.rows.has_value();
  if (dividesInputs || origin.leadingRows || origin.shape.size() != 2)
    return {};
  return origin.names;
}

Result<HostTensor> takeOutputs(HostTensor all, const WeightOrigin &origin) {
  WeightOrigin outputs;
  outputs.rows = origin.parts > 1 ? ChosenRows{1, origin.parts, origin.part} : origin.rows;
  int64_t count = origin.shape.back();
  outputs.transpose = all.shape().size() == 2;
  outputs.shape = outputs.transpose ? Shape{all.shape()[1], count} : Shape{count};
  if (!outputs.rows)
    return all;
  HEDDLE_ASSIGN(std::optional<HostTensor> own, takeWeight(all, outputs));
  if (!own || !outputs.transpose)
    return own ? std::move(*own) : std::move(all);
  return transposePadded(*own, count, all.shape()[1]);
}

std::string findSharedEmbedding(const Description &model) {
  constexpr const char *embedding = "embedding";
  auto isHead = [](const auto &weight) {
    return std::ranges::find(weight.second.names, kSharedHead + std::string(kWeight)) != weight.second.names.end();
  };
  bool isShared = model.architecture == "decoder" && model.tensors.contains(embedding) &&
                  std::ranges::none_of(model.tensors, isHead);
  return isShared ? embedding : "";
}

} // namespace heddle
