// Names of experts' tensors. Many folders have a tensor for each expert. transformers 5 joins those of all experts when it
// loads a folder, and PEFT names adapters of experts (`target_parameters`) after the joined tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

struct JoinedExperts {
  std::string name;            // of the joined tensor
  int64_t part = 0, parts = 1; // the experts' tensors are this part of its outputs, which are cut into equal parts
};

// "model.layers.0.mlp.experts.*.up_proj.weight" is part 1 of 2 of "model.layers.0.mlp.experts.gate_up_proj". nullopt if
// the name is no such name.
std::optional<JoinedExperts> joinExperts(std::string_view name);

} // namespace heddle
