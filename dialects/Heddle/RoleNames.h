// What the variables that training adds are called in checkpoints. All else knows them by their roles.
#ifndef HEDDLE_DIALECTS_HEDDLE_ROLENAMES_H
#define HEDDLE_DIALECTS_HEDDLE_ROLENAMES_H

#include <array>
#include <string_view>

namespace mlir::heddle {

/// By the role's number; those of runtime/schema/RoleNames.h. A name that ends in a dot goes on with the weight's;
/// copies of fewer bits are in no checkpoint.
inline constexpr std::array<std::string_view, 15> kRoleNames = {
    "",           "adam.m.",       "adam.v.", "ema.", "grad.", "", "loss_scale", "step", "micro_step",
    "good_steps", "skipped_steps", "seed",    "",     "",      ""};

} // namespace mlir::heddle

#endif
