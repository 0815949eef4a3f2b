// What the variables that training adds are called. The runtime knows them by their roles; the names are those of
// the tensors in checkpoints, and all that there is to tell roles by in artifacts from before variables had them.
#pragma once

#include <array>
#include <string_view>

namespace heddle::schema {

// By the role's number in artifact.fbs. A name that ends in a dot goes on with the name of the variable that it belongs
// to; a role without a name here is in no checkpoint.
inline constexpr std::array<std::string_view, 15> kRoleNames = {
    "",           "adam.m.",       "adam.v.", "ema.", "grad.", "", "loss_scale", "step", "micro_step",
    "good_steps", "skipped_steps", "seed",    "",     "",      ""};

} // namespace heddle::schema
