// The meaning of a model: the part of its description that decides what its weights compute. The compiler writes it as
// `meaning`, artifacts and checkpoints hold it, and a checkpoint fits an artifact only if both mean the same.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

// The values of a nested object by their paths, "parameters.heads". Numbers are as f32.
std::vector<std::pair<std::string, nlohmann::json>> flattened(const nlohmann::json &object);

// Whether both descriptions have a meaning, of the same format. Checkpoints of earlier versions have none.
bool sayMeaning(const nlohmann::json &before, const nlohmann::json &now);

// The values in which two meanings differ, as "parameters.heads (8, now 4)". A value that `before` does not have is the
// one that Heddle computed with before it knew the key.
std::vector<std::string> meaningDifferences(const nlohmann::json &before, const nlohmann::json &now);

// What becomes of weights that another model was trained or published with. Warn is --force.
enum class OtherMeaning : uint8_t { Refuse, Warn };

} // namespace heddle
