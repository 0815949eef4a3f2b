// Tiles of heddle.dequantize: packed numbers with their scales and offsets, which may be packed as well.
#ifndef HEDDLE_COMPILER_KERNEL_TILING_FRAMES_DEQUANTIZE_H
#define HEDDLE_COMPILER_KERNEL_TILING_FRAMES_DEQUANTIZE_H

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// The elements of a matrix that a tile holds.
struct PackedPlace {
  Place place;
  Value rows = {};     // the matrix's row for each row of the tile; null: those of `place`
  int64_t repeats = 1; // adjacent tile columns that share an element
};

/// Returns the numbers in f32, without scales and offsets.
Value packedNumbers(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &place);

/// Prefetches the words of the numbers at a place, which need not exist.
void prefetchWords(KernelEmitter &emitter, DequantizeOp unpacked, const Place &place);

/// Returns the place of the scales and offsets of `place`. It has a single row if all rows of `place` are in one group.
PackedPlace placeOfGroups(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &place);

/// Returns a tile of a matrix in memory, of a 16-bit matrix that an `arith.extf` widens, or of packed numbers with
/// their scales.
Value packedValues(KernelEmitter &emitter, Value matrix, const PackedPlace &place);

} // namespace mlir::heddle

#endif
