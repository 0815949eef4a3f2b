// What a training run does with the ranks that it is shared out to.
#pragma once

#include "runtime/model/Engine.h"
#include "runtime/ranks/Ranks.h"

#include <string>
#include <utility>
#include <vector>

namespace heddle {

// Fails on some rank where ranks differ in what they should have alike: names, and texts of any length.
Status checkAlike(Ranks &ranks, const std::vector<std::pair<std::string, std::string>> &properties);

// Gives all ranks the weights, the counters and the optimizer's state of rank 0 (of a sharded one each rank has its own
// rows), and each a seed of its own: rows of several ranks then get masks of dropout that have nothing to do with each
// other.
Status shareState(Ranks &ranks, Engine &engine);

} // namespace heddle
