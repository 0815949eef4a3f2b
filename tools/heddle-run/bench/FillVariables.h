// The variables of a model that is measured without having been trained.
#pragma once

#include "runtime/session/Session.h"

#include <span>
#include <string>

namespace heddle::run {

// Prepares the entries and fills the variables: weights as training finds them, drawn by `init`. Variables that a
// model's `init` leaves at zero because something else fills them (the caches), and all of a model without `init`, get
// random numbers, the same every time: work on zeros may be quicker.
Status fillVariables(Session &session, std::span<const std::string> entries, uint64_t seed = 1);

} // namespace heddle::run
