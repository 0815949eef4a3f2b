// How a model's hidden states become the vector of a text, as sentence-transformers stores it in a model's folder.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A vector of the columns of a text's hidden states. `MeanByRoot` divides the sum by the square root of the number of
// tokens. `WeightedMean` weights the tokens by 1, 2, 3, ...
enum class Pooling { First, Largest, Mean, MeanByRoot, WeightedMean, Last };

// The name of a pooling in model texts, such as "average" or "first".
std::string_view nameOf(Pooling pooling);

// The file that says how sentence-transformers makes vectors.
inline constexpr const char *kModulesFile = "modules.json";

struct EmbeddingRule {
  std::vector<Pooling> poolings = {Pooling::Mean};       // their vectors are joined
  bool normalizes = false;                               // the result has length 1
  int64_t longest = std::numeric_limits<int64_t>::max(); // tokens of a text, marks included
  bool lowersCase = false;
  std::string prompt; // precedes each text

  // Returns the text that the model reads for a given text. Spaces of the given text behind a prompt stay.
  std::string prepare(std::string_view text) const;

  // Makes the vector of a text. `rows` has at least one row of `width` hidden states for each token, in order.
  std::vector<float> apply(std::span<const float> rows, size_t width) const;
};

// Reads modules.json and the files that it names. Without modules.json the rule is the mean, or what the key
// `pooling_type` of a GGUF file says; `normalizes` says whether it is divided by its length then. Fails if a module is
// neither a Transformer, nor Pooling, nor Normalize, or if a file is malformed.
Result<EmbeddingRule> readEmbeddingRule(const std::filesystem::path &place, bool normalizes = false);

} // namespace heddle
