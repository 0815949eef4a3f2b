// Inputs for timing an entry: as large as it was compiled for, and valid.
#pragma once

#include "runtime/session/Session.h"

#include <string>
#include <vector>

namespace heddle::run {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

// Sequences ("X_starts", "X_lengths", "X_positions", and the cache's rows) share what tokens there are evenly; all
// other values are random within their limits, and the same every time.
Result<std::vector<NamedTensor>> randomInputs(const EntryInfo &entry);

} // namespace heddle::run
