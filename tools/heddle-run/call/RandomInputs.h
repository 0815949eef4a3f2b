// Inputs for timing an entry: as large as it was compiled for, valid, and like real ones.
#pragma once

#include "runtime/session/Session.h"

#include <string>
#include <vector>

namespace heddle::run {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
  bool isBlind = false; // drawn at random with nothing known of what its numbers may be
};

struct RandomInputOptions {
  int64_t sequences = 0; // of a batch; 0: as many as make them about as long as sentences are, within the maximum
  uint64_t seed = 1;
};

// Inputs of the same seed are the same. Sequences ("X_starts", "X_lengths", "X_positions", and the cache's rows) have
// random lengths that together fill the tokens there is room for; tokens are random below the vocabulary; other
// integers lie within their limits, matrices in [-1, 1), and single numbers (a loss's scale) are small and positive.
// Inputs of other names are sequences where the entry takes rows as they say; integers of which nothing is known are 1
// to 7.
Result<std::vector<NamedTensor>> randomInputs(const EntryInfo &entry, const RandomInputOptions &options = {});

// A warning of the inputs that are blind; empty where none is.
std::string warningOfBlind(const std::string &entry, const std::vector<NamedTensor> &inputs);

} // namespace heddle::run
