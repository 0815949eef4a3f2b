// SplitMix64. The standard library's distributions differ between implementations; generated data must be the same
// everywhere.
#pragma once

#include <cstdint>

namespace heddle {

class SplitMix64 {
public:
  explicit SplitMix64(uint64_t seed) : state(seed) {}

  uint64_t below(uint64_t bound) {
    // Rejecting the lowest (2^64 mod bound) values makes every remainder equally likely.
    uint64_t threshold = (0 - bound) % bound;
    uint64_t value;
    do
      value = next();
    while (value < threshold);
    return value % bound;
  }

private:
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state;
};

} // namespace heddle
