// The number of threads that the runtime uses.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

namespace heddle {

// Returns HEDDLE_THREADS of the environment if it is a number from 1 to 1024.
inline std::optional<unsigned> wantedThreads() {
  if (const char *wanted = std::getenv("HEDDLE_THREADS")) {
    char *end = nullptr;
    long number = std::strtol(wanted, &end, 10);
    if (end != wanted && !*end && number >= 1 && number <= 1024)
      return static_cast<unsigned>(number);
  }
  return std::nullopt;
}

// Returns the number of host threads for parallel work: wantedThreads(), otherwise all processors that this process may
// run on. At least 1.
inline unsigned hostThreads() { return wantedThreads().value_or(std::max(1u, std::thread::hardware_concurrency())); }

} // namespace heddle
