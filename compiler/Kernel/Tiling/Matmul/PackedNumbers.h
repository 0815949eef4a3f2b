// The right side of a matmul, if it is packed numbers with scales and offsets.
#pragma once

#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "compiler/Kernel/Tiling/Matmul/TileProduct.h"

namespace mlir::heddle {

/// Packed numbers that are multiplied before they are scaled. If a sum of products has one scale, the scale multiplies
/// the sum. If it has one offset, the offset multiplies the sum of the left side's numbers.
class PackedNumbers {
public:
  /// Returns nothing if the right side is not packed, or can only be multiplied with its scales.
  static std::optional<PackedNumbers> of(KernelEmitter &emitter, const MatmulOperands &operands);

  DequantizeOp op() const { return unpacked; }
  /// The number of packed numbers in a word.
  int64_t ofWord() const { return 32 / static_cast<int64_t>(unpacked.getBits()); }
  /// Returns true if each column of the result has one scale and no offset.
  bool haveScalesOfColumns() const;
  /// Returns true if each column of a step of `length` rows has one scale. Offsets also need the sum of the left side's
  /// elements, which only a thread has at hand, and only if a step is whole vectors.
  bool haveScalesOfSteps(int64_t length) const;

  /// Returns the numbers in f32.
  Value at(const Place &place) const { return packedNumbers(emitter, unpacked, {place}); }
  /// Multiplies a tile of the result by the scales of its columns.
  Value scaleColumns(Value total, const Place &tile) const;
  /// Returns the sum of each row of the left side, which an offset multiplies. Null if there are no offsets.
  Value totalOf(Value left) const;
  /// Returns `sum` plus the product of a step's left side and the numbers at `place`, with their scales and offsets.
  /// `total`: of the left side.
  Value addScaled(Value sum, Value product, Value total, const Place &place) const;

private:
  PackedNumbers(KernelEmitter &emitter, DequantizeOp unpacked, bool transposed)
      : emitter(emitter), unpacked(unpacked), transposed(transposed) {}

  KernelEmitter &emitter;
  mutable DequantizeOp unpacked;
  bool transposed;
};

} // namespace mlir::heddle
