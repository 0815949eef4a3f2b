// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include "compiler/Reference/Array.h"

#include <array>
#include <cstdint>

namespace mlir::heddle::reference {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    auto high = [](uint64_t product) { return static_cast<uint32_t>(product >> 32); };
    auto low = [](uint64_t product) { return static_cast<uint32_t>(product); };
    counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1], low(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// Returns the uniform number in [0, 1) at an index, with 24 bits.
inline double uniform(std::array<uint32_t, 2> seed, uint32_t step, uint32_t stream, uint32_t row, uint32_t column) {
  uint32_t word = philox({column / 4, row, stream, step}, seed)[column % 4];
  return static_cast<double>(word >> 8) * 0x1p-24;
}

/// Returns the key for a seed of two numbers.
inline std::array<uint32_t, 2> keyOf(const Array &seed) {
  return {static_cast<uint32_t>(seed.whole(0)), static_cast<uint32_t>(seed.whole(1))};
}

} // namespace mlir::heddle::reference
