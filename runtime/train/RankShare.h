// Operations that a training run does with its other ranks.
#pragma once

#include "runtime/model/Engine.h"
#include "runtime/ranks/Ranks.h"

#include <string>
#include <utility>
#include <vector>

namespace heddle {

// Fails on at least one rank if the ranks' properties differ. Properties are pairs of a name and a text of any length.
Status checkAlike(Ranks &ranks, const std::vector<std::pair<std::string, std::string>> &properties);

// Copies rank 0's weights, counters and optimizer state to all ranks, except sharded variables, whose rows each rank
// already has. Each rank gets its own seed, so that dropout masks of different ranks are independent.
Status shareState(Ranks &ranks, Engine &engine);

} // namespace heddle
