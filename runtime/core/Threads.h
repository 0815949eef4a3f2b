// The number of threads that the runtime uses.
#pragma once

#include <algorithm>
#include <atomic>
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

// The number of processes, this one included, that share the processors of this process. The ranks of a training run
// set it when they have met. Threads that already run are not counted again.
inline std::atomic<unsigned> processesThatShare = 1;

// The number of processes, this one included, that share the quota of this process's control group (ProcessorCount.h).
inline std::atomic<unsigned> processesInQuota = 1;

// Divides `processors` among the processes that share them. `quota` is the CPU time that the control group allows, in
// processors (0: no limit): the result is at most this process's part of the quota. Returns at least 1.
inline unsigned shareOf(unsigned processors, unsigned quota = 0) {
  unsigned share = processors / std::max(1u, processesThatShare.load(std::memory_order_relaxed));
  if (quota)
    share = std::min(share, quota / std::max(1u, processesInQuota.load(std::memory_order_relaxed)));
  return std::max(1u, share);
}

// Returns the number of host threads for parallel work: wantedThreads(), otherwise this process's part of the processors
// that it may run on. At least 1.
inline unsigned hostThreads() { return wantedThreads().value_or(shareOf(std::thread::hardware_concurrency())); }

} // namespace heddle
