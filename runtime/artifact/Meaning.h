// The meaning of a model: the part of its description that decides what its weights compute. The compiler writes it as
// `meaning`. Artifacts and checkpoints store it, and a checkpoint fits an artifact only if both have the same meaning.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

// Returns the values of a nested object with their paths, such as "parameters.heads". Numbers are rounded to f32.
std::vector<std::pair<std::string, nlohmann::json>> flattened(const nlohmann::json &object);

// Returns true if both descriptions have a meaning, in the same format. Old checkpoints have none.
bool sayMeaning(const nlohmann::json &before, const nlohmann::json &now);

// Returns the values in which two meanings differ, as "parameters.heads (8, now 4)". If `before` lacks a key, its value
// is the one with which Heddle computed before the key existed; if Meaning.cpp lists none, the key is not compared.
std::vector<std::string> meaningDifferences(const nlohmann::json &before, const nlohmann::json &now);

// How to treat weights of a model with another meaning. Warn is --force.
enum class OtherMeaning : uint8_t { Refuse, Warn };

} // namespace heddle
