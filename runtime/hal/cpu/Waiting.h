// Waiting for a few microseconds without sleeping.
#pragma once

#include <cstdint>
#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heddle::hal::cpu {

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb"); // takes about as long as x86's pause; `yield` takes no time
#endif
}

// Returns when `isReady()` is true. Spins at first, then yields to other threads between checks. With `crowded` it
// yields from the start.
template <typename Ready> void waitUntil(Ready isReady, bool crowded) {
  constexpr int kLooks = 2000; // 20 to 100 microseconds
  if (!crowded)
    for (int i = 0; i < kLooks; ++i) {
      if (isReady())
        return;
      relax();
    }
  while (!isReady())
    sched_yield();
}

} // namespace heddle::hal::cpu
