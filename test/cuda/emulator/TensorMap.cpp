#include "test/cuda/emulator/TensorMap.h"

#include "test/cuda/emulator/DriverState.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace heddle::emulator {
namespace {

constexpr uint64_t kMagic = 0x4865646465545f4d;
// By CUtensorMapDataType: u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32 without subnormals, tf32, and tf32
// without subnormals.
constexpr uint8_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

} // namespace

uint32_t TensorMap::sum() const {
  uint32_t hash = 2166136261;
  const auto *bytes = reinterpret_cast<const uint8_t *>(this);
  for (size_t i = 0; i < offsetof(TensorMap, checksum); ++i)
    hash = (hash ^ bytes[i]) * 16777619;
  return hash;
}

void TensorMap::seal() {
  magic = kMagic;
  checksum = sum();
}

bool TensorMap::valid() const { return magic == kMagic && checksum == sum(); }

uint32_t TensorMap::count(uint32_t dimension) const {
  return dimension ? (box[dimension] + steps[dimension] - 1) / steps[dimension] : box[0];
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes;
  for (uint32_t i = 0; i < rank; ++i)
    bytes *= count(i);
  return bytes;
}

void TensorMap::runs(const int32_t *coordinates, uint32_t base,
                     const std::function<void(uint32_t, uint64_t, uint32_t)> &run) const {
  uint32_t rowBytes = box[0] * elementBytes, rows = boxBytes() / rowBytes;
  // The part of a row that lies inside of dimension 0, in bytes from the row's beginning.
  int64_t first = int64_t(coordinates[0]) * elementBytes, extent = (int64_t(last[0]) + 1) * elementBytes;
  auto low = static_cast<uint32_t>(std::clamp<int64_t>(-first, 0, rowBytes));
  auto high = static_cast<uint32_t>(std::clamp<int64_t>(extent - first, low, rowBytes));
  uint32_t swizzled = swizzle ? (kPiece << swizzle) - kPiece : 0; // address bits that change
  for (uint32_t row = 0; row < rows; ++row) {
    bool inside = true;
    auto from = static_cast<int64_t>(address) + first;
    for (uint32_t i = 1, rest = row; i < rank; rest /= count(i++)) {
      int64_t index = int64_t(coordinates[i]) + int64_t(rest % count(i)) * steps[i];
      inside &= index >= 0 && index <= int64_t(last[i]);
      from += index * static_cast<int64_t>(strides[i - 1]);
    }
    for (uint32_t piece = 0; piece < rowBytes; piece += kPiece) {
      uint32_t to = base + row * rowBytes + piece;
      to ^= to >> 3 & swizzled;
      // The bytes before, inside and after the tensor.
      uint32_t ends[] = {piece, std::clamp(low, piece, piece + kPiece), std::clamp(high, piece, piece + kPiece),
                         piece + kPiece};
      if (!inside)
        ends[1] = ends[2] = piece + kPiece;
      for (uint32_t i = 0; i < 3; ++i)
        if (ends[i] < ends[i + 1])
          run(to + ends[i] - piece, i == 1 ? static_cast<uint64_t>(from + ends[i]) : 0, ends[i + 1] - ends[i]);
    }
  }
}

} // namespace heddle::emulator

using namespace heddle::emulator;

// The emulator supports neither interleaved layouts, nor NaN outside of the tensor, nor swizzled boxes whose rows are
// shorter than the swizzle.
HEDDLE_CUDA_API cuTensorMapEncodeTiled(TensorMap *result, unsigned type, uint32_t rank, void *address,
                                       const uint64_t *dimensions, const uint64_t *strides, const uint32_t *box,
                                       const uint32_t *steps, unsigned interleave, unsigned swizzle, unsigned promotion,
                                       unsigned fill) {
  constexpr uint64_t kMostDimension = uint64_t(1) << 32, kMostStride = uint64_t(1) << 40;
  constexpr uint32_t kMostBox = 256, kMostStep = 8, kAlignment = 16;
  if (Driver::get().target < 90)
    return kErrorNotSupported;
  auto bits = reinterpret_cast<uint64_t>(address);
  if (!result || reinterpret_cast<uint64_t>(result) % alignof(TensorMap) || type >= std::size(kElementBytes) ||
      rank == 0 || rank > TensorMap::kMostRank || !address || bits % kAlignment || !dimensions ||
      (rank > 1 && !strides) || !box || !steps || interleave > 2 || swizzle > 3 || promotion > 3 || fill > 1)
    return kErrorInvalidValue;
  if (interleave || fill)
    return kErrorNotSupported;
  TensorMap map{};
  map.address = bits;
  map.rank = static_cast<uint8_t>(rank);
  map.elementBytes = kElementBytes[type];
  map.swizzle = static_cast<uint8_t>(swizzle);
  for (uint32_t i = 0; i < rank; ++i) {
    if (dimensions[i] == 0 || dimensions[i] > kMostDimension || box[i] == 0 || box[i] > kMostBox || steps[i] == 0 ||
        steps[i] > kMostStep)
      return kErrorInvalidValue;
    map.last[i] = static_cast<uint32_t>(dimensions[i] - 1);
    map.box[i] = static_cast<uint16_t>(box[i]);
    map.steps[i] = static_cast<uint8_t>(steps[i]);
    if (i == 0)
      continue;
    if (strides[i - 1] % kAlignment || strides[i - 1] >= kMostStride)
      return kErrorInvalidValue;
    map.strides[i - 1] = strides[i - 1];
  }
  uint32_t rowBytes = box[0] * map.elementBytes, width = TensorMap::kPiece << swizzle;
  if (rowBytes % kAlignment || (swizzle && rowBytes > width))
    return kErrorInvalidValue;
  if (swizzle && rowBytes != width)
    return kErrorNotSupported;
  map.seal();
  std::memcpy(result, &map, sizeof map);
  return kSuccess;
}
