// Random inputs for timing an entry: of the sizes it was compiled for, valid, and similar to real ones.
#pragma once

#include "runtime/session/Session.h"

#include <string>
#include <vector>

namespace heddle::run {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
  bool isBlind = false; // drawn at random, as the valid range is unknown
};

struct RandomInputOptions {
  int64_t sequences = 0; // per batch; 0: as many as make each about as long as a sentence, within the maximum
  uint64_t seed = 1;
};

// Draws inputs; the same seed gives the same inputs. Sequences ("X_starts", "X_lengths", "X_positions", and the cache's
// rows) have random lengths that together fill the available tokens. Tokens are random below the vocabulary's size.
// Other integers lie within their limits, matrices in [-1, 1), and single numbers (a loss's scale) are small and
// positive. Inputs of other names are sequences if the entry's rows refer to them as such. Integers about which nothing
// is known are 1 to 7.
Result<std::vector<NamedTensor>> randomInputs(const EntryInfo &entry, const RandomInputOptions &options = {});

// Returns a warning that names the blind inputs; empty if there are none.
std::string warningOfBlind(const std::string &entry, const std::vector<NamedTensor> &inputs);

} // namespace heddle::run
