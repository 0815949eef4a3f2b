// Evaluates the compiler's cost formulas for the inputs of a call.
#pragma once

#include "runtime/session/CallBinding.h"

namespace heddle {

// The costs of the entry's launches, in order.
std::vector<LaunchCost> launchCosts(const schema::Module &module, const schema::Entry &entry,
                                    const CallBinding &binding);

// The number of pairs (q, k) with q < queries[i], k < keys[i] and -below <= k - q <= above, over all i. A bound of -1
// is no bound. If `queries` is empty, each sequence has one query.
int64_t countPairs(std::span<const int32_t> queries, std::span<const int32_t> keys, int64_t below, int64_t above);

} // namespace heddle
