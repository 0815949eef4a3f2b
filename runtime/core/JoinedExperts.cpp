#include "runtime/core/JoinedExperts.h"

namespace heddle {

std::optional<JoinedExperts> joinExperts(std::string_view name) {
  struct Part {
    std::string_view module, joined;
    int64_t part, parts;
  };
  constexpr std::string_view experts = "experts.*.", weight = ".weight", former = "block_sparse_moe.", now = "mlp.";
  constexpr Part parts[] = {{"gate_proj", "gate_up_proj", 0, 2}, {"up_proj", "gate_up_proj", 1, 2},
                            {"down_proj", "down_proj", 0, 1},    {"w1", "gate_up_proj", 0, 2},
                            {"w3", "gate_up_proj", 1, 2},        {"w2", "down_proj", 0, 1}};
  size_t place = name.find(experts);
  if (place == std::string_view::npos || !name.ends_with(weight))
    return std::nullopt;
  std::string_view module = name.substr(place + experts.size());
  module.remove_suffix(weight.size());
  for (const Part &part : parts)
    if (module == part.module) {
      std::string owner(name.substr(0, place));
      if (size_t old = owner.find(former); old != std::string::npos) // Mixtral
        owner.replace(old, former.size(), now);
      return JoinedExperts{owner + "experts." + std::string(part.joined), part.part, part.parts};
    }
  return std::nullopt;
}

} // namespace heddle
