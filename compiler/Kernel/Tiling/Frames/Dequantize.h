// Tiles of weights as they are stored: packed numbers with their scales and offsets, which may be packed as well
// (heddle.dequantize), 16-bit numbers, and matrices in panels (heddle.join_panels).
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// The elements of a matrix that a tile holds.
struct PackedPlace {
  Place place;
  Value rows = {};     // the matrix's row for each row of the tile; null: those of `place`
  int64_t repeats = 1; // adjacent tile columns that share an element
  int64_t columns = 0; // of the matrix, whose memory may be panels of columns; 0: of the memory
};

/// Returns the numbers in f32, without scales and offsets.
Value packedNumbers(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &place);

/// Returns the words of the numbers at a place, which has the rows of whole words.
Value packedWords(KernelEmitter &emitter, DequantizeOp unpacked, const Place &place);

/// Packed numbers that are masked but not shifted within their words, for a thread's matmul with up to 8 rows. Number i
/// of a word then reads as `factor` times (number + `bias`), where the factor is a power of two. The kernel divides the
/// left operand's elements by the factors, and subtracts the sum of the elements times the biases. An infinite element
/// gives NaN if numbers are signed.
struct NumbersInPlace {
  /// Returns nothing if the numbers of `rows` rows cannot stay in place.
  static std::optional<NumbersInPlace> of(KernelEmitter &emitter, DequantizeOp unpacked, int64_t rows);
  /// Returns the numbers in f32.
  Value numbers(KernelEmitter &emitter, DequantizeOp unpacked, const Place &place) const;

  Value dividing; // 1 / factor for each row, as a tile with one row
  Value biases;   // -bias for each row, as a tile with one row; null if all are zero
};

/// Prefetches the words of the numbers at a place, which need not exist.
void prefetchWords(KernelEmitter &emitter, DequantizeOp unpacked, const Place &place);
/// The same for any matrix, as it is stored. A matrix that the kernel computes is not prefetched.
void prefetchStored(KernelEmitter &emitter, Value matrix, const Place &place);

/// Returns the 16-bit value that an `arith.extf` widens to `value`, or `value` itself.
Value beforeWidening(Value value);

/// Converts a place in the joined matrix to the place in its panels.
Place placeInPanel(KernelEmitter &emitter, JoinPanelsOp joined, const Place &place);

/// Returns the place of the scales and offsets of `place`. It has a single row if all rows of `place` are in one group.
PackedPlace placeOfGroups(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &place);

/// Returns a tile of a matrix in memory, of a 16-bit matrix that an `arith.extf` widens, or of packed numbers with
/// their scales.
Value packedValues(KernelEmitter &emitter, Value matrix, const PackedPlace &place);

} // namespace mlir::heddle
