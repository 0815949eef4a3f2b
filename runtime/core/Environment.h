// The variables of the environment that the runtime reads.
#pragma once

#include "runtime/core/Status.h"

namespace heddle {

// Fails if a variable has a value that means nothing: HEDDLE_THREADS is a number from 1 to 1024, and HEDDLE_VALIDATION,
// HEDDLE_PERF_MAP and HEDDLE_SEPARATE_VALUES are 0 or 1. An empty variable counts as one that is not set.
Status checkEnvironment();

} // namespace heddle
