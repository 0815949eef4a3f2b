// What the tensors of GGUF files are in the models that Hugging Face publishes, and how they are stored otherwise than
// there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

// How a tensor of the file differs from the published one, whose shape is the same.
struct GgufStorage {
  // The rows of queries and keys: of each head, those that rotary positions turn together stand side by side (0, 1),
  // and half a head apart in the published model.
  enum class Rows { AsPublished, QueryPairs, KeyPairs } rows = Rows::AsPublished;
  float added = 0; // to each number
};

struct GgufTensor {
  std::string name; // in the published model
  GgufStorage storage;
};

// The architectures that Heddle reads, as `general.architecture` names them.
std::span<const std::string_view> ggufArchitectures();
bool isGgufArchitecture(std::string_view architecture);

// The published tensor that a tensor of the file is; nothing where the architecture has no such tensor.
std::optional<GgufTensor> publishedTensor(std::string_view architecture, std::string_view name);
// The other way round.
std::optional<std::string> ggufTensorName(std::string_view architecture, std::string_view published);

// Puts the rows of a matrix, or the numbers of a vector, from pairs side by side to halves of each head, or back.
// `columns` is 1 for a vector; `heads` divides the rows into even parts.
void splitPairs(std::span<float> values, int64_t columns, int64_t heads);
void joinPairs(std::span<float> values, int64_t columns, int64_t heads);

} // namespace heddle
