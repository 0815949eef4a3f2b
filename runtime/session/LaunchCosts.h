// Evaluates the costs that the compiler counted, for the inputs of a call.
#pragma once

#include "runtime/session/CallBinding.h"

namespace heddle {

// In the launches' order.
std::vector<LaunchCost> launchCosts(const schema::Module &module, const schema::Entry &entry,
                                    const CallBinding &binding);

// The pairs (q, k) with q < queries[i], k < keys[i] and -below <= k - q <= above, over all i; -1 is no bound, and
// without `queries` each sequence has one.
int64_t countPairs(std::span<const int32_t> queries, std::span<const int32_t> keys, int64_t below, int64_t above);

} // namespace heddle
