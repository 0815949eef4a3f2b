// The names that checkpoints give to the variables that training adds. All other code finds these variables by role.
#ifndef HEDDLE_DIALECTS_HEDDLE_ROLENAMES_H
#define HEDDLE_DIALECTS_HEDDLE_ROLENAMES_H

#include <array>
#include <string_view>

namespace mlir::heddle {

/// Indexed by the role's number, as in runtime/schema/RoleNames.h. A name that ends in a dot is a prefix of the
/// weight's name. Rounded copies of weights have no name: checkpoints do not store them.
inline constexpr std::array<std::string_view, 15> kRoleNames = {
    "",           "adam.m.",       "adam.v.", "ema.", "grad.", "", "loss_scale", "step", "micro_step",
    "good_steps", "skipped_steps", "seed",    "",     "",      ""};

} // namespace mlir::heddle

#endif
