// The processor's clock, which takes a few nanoseconds to read.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace heddle::hal::cpu {

#if defined(__x86_64__)
inline uint64_t ticks() { return __rdtsc(); }
// A rough estimate: counters run at 2 to 4 GHz.
inline float microseconds(uint64_t ticks) { return static_cast<float>(ticks) / 2500; }
#elif defined(__aarch64__)
inline uint64_t ticks() {
  uint64_t count = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}
inline float microseconds(uint64_t ticks) {
  uint64_t hertz = 0;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return static_cast<float>(ticks) * (1e6f / static_cast<float>(std::max<uint64_t>(hertz, 1)));
}
#else
inline uint64_t ticks() { return 0; }
inline float microseconds(uint64_t) { return 0; }
#endif

} // namespace heddle::hal::cpu
