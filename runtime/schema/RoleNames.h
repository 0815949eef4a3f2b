// The names of the variables that training adds. The runtime finds these variables by their roles. The names are used
// for tensors in checkpoints, and to find the roles in old artifacts, whose variables have none.
#pragma once

#include <array>
#include <string_view>

namespace heddle::schema {

// Indexed by the role's number in artifact.fbs. The owner's name follows a name that ends in a dot. A role without a
// name is not in checkpoints.
inline constexpr std::array<std::string_view, 16> kRoleNames = {
    "",           "adam.m.",    "adam.v.",       "ema.", "grad.", "", "loss_scale", "step",
    "micro_step", "good_steps", "skipped_steps", "seed", "",      "", "",           ""};

} // namespace heddle::schema
