// How much of the machine's processor the runtime uses.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace heddle {

// Returns the number of host threads for parallel work: HEDDLE_THREADS of the environment if it is a number from 1 to
// 1024, otherwise all that this process may run on. At least 1.
inline unsigned hostThreads() {
  if (const char *wanted = std::getenv("HEDDLE_THREADS")) {
    char *end = nullptr;
    long number = std::strtol(wanted, &end, 10);
    if (end != wanted && !*end && number >= 1 && number <= 1024)
      return static_cast<unsigned>(number);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace heddle
