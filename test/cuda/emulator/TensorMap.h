// Tensor maps: tiles of a tensor in global memory, which bulk copies move to and from shared memory.
#pragma once

#include <cstdint>
#include <functional>

namespace heddle::emulator {

// The 128 bytes that the driver encodes. Programs may only copy them. Dimension 0 is contiguous.
struct alignas(64) TensorMap {
  static constexpr uint32_t kMostRank = 5, kPiece = 16; // pieces of 16 bytes are swizzled

  uint64_t magic, address;
  uint64_t strides[kMostRank - 1]; // bytes, of the dimensions from 1 on
  uint32_t last[kMostRank];        // the last index in each dimension
  uint16_t box[kMostRank];         // elements
  uint8_t steps[kMostRank];        // of the elements that a box takes, from dimension 1 on
  uint8_t rank, elementBytes, swizzle;
  uint32_t checksum;

  void seal();
  // Returns true if these are the bytes of a sealed map.
  bool valid() const;

  // The number of bytes of a box in shared memory.
  uint32_t boxBytes() const;
  // Calls `run` for ranges of the box at these coordinates: their shared address, their global address (0 if they lie
  // outside of the tensor), and their bytes, at most 16. The box begins at shared address `base`.
  void runs(const int32_t *coordinates, uint32_t base,
            const std::function<void(uint32_t, uint64_t, uint32_t)> &run) const;

private:
  uint32_t sum() const;
  uint32_t count(uint32_t dimension) const; // indices that a box takes
};
static_assert(sizeof(TensorMap) == 128);

} // namespace heddle::emulator
