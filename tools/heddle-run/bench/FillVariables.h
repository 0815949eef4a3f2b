// Fills the variables of a model that is benchmarked without having been trained.
#pragma once

#include "runtime/session/Session.h"

#include <span>
#include <string>

namespace heddle::run {

// Prepares the entries and fills the variables. `init` draws the weights as for training. Variables that `init` leaves
// at zero because something else fills them (caches), and all variables of a model without `init`, get random numbers,
// the same every time: kernels may run faster on zeros.
Status fillVariables(Session &session, std::span<const std::string> entries, uint64_t seed = 1);

} // namespace heddle::run
