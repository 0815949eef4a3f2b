// Random numbers that depend only on a training run's seed and its position in the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle {

// The standard leaves the algorithm of std::shuffle open, but a training run must draw the same order everywhere.
class OrderRandom {
public:
  OrderRandom(uint64_t seed, uint64_t epoch, uint64_t window)
      : state(mix(mix(mix(seed) ^ (epoch + 0x632be59bd9b4e019)) ^ (window + 0xd1342543de82ef95))) {}

  template <typename T> void shuffle(std::vector<T> &values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[below(i)]);
  }

  // A number below `bound`. `bound` must be positive.
  uint64_t below(uint64_t bound) { return uint64_t((unsigned __int128)(mix(state += kStep)) * bound >> 64); }

private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t mix(uint64_t z) {
    z += kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state;
};

} // namespace heddle
