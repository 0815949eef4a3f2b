// PEFT's adapters of a tensor that holds the weights of all experts (`target_parameters`). A of all experts stand one
// below the other, matrices * rank x inputs. B is outputs x rank * matrices, with the experts' columns side by side. The
// tensor may hold the outputs of several linear transformations, such as gates and inner matrices.
#pragma once

#include "runtime/train/LoraWeights.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

// The outputs of a linear transformation in the tensor of all experts.
struct JoinedPart {
  std::string tensor;
  int64_t part = 0, parts = 1;
  bool isInterleaved = false; // the part is every `parts`-th output

  int64_t row(int64_t output, int64_t outputs) const {
    return isInterleaved ? output * parts + part : part * outputs + output;
  }
};

// `name` is one of the names of the weight's own tensor. nullopt if there is no tensor of all experts.
std::optional<JoinedPart> joinedPart(const WeightOrigin &origin, const std::string &name);

// An adapter in PEFT's tensors A and B, of `matrices` experts.
struct JoinedHalves {
  HostTensor down, up;
  int64_t matrices = 1;

  // The ranks whose columns of B are not zeros for all of the part's outputs. If each part had an adapter of its own,
  // PEFT has one of the sum of their ranks, and these ranks are the part's. All ranks if B is zero.
  std::vector<int64_t> ranksOf(const JoinedPart &part) const;
  // Take A, matrices * ranks x inputs, or the part's B, matrices * outputs x ranks.
  Result<HostTensor> takeDown(const std::vector<int64_t> &ranks) const;
  Result<HostTensor> takeUp(const std::vector<int64_t> &ranks, const JoinedPart &part) const;
};

// The adapters of a tensor's linear transformations, which PEFT has as one of the sum of their ranks.
struct JoinedAdapters {
  LoraShape shape;                  // of each of them
  int64_t parts = 1;                // of the tensor
  std::vector<std::string> linears; // that have adapters
  std::vector<JoinedPart> adapted;  // their parts

  int64_t rank() const { return int64_t(adapted.size()) * shape.rank; }
  Shape down() const { return {shape.matrices * rank(), shape.inputs}; }
  Shape up() const { return {shape.outputs * parts, rank() * shape.matrices}; }
  // Write A or B of linear transformation number `index` into the tensors of all, in the artifact's form.
  void putDown(const HostTensor &down, size_t index, HostTensor &all) const;
  void putUp(const HostTensor &up, size_t index, HostTensor &all) const;
};

} // namespace heddle
