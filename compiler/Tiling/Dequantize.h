// Tiles of heddle.dequantize: packed numbers, their scales and their offsets, which may be packed themselves.
#ifndef HEDDLE_COMPILER_TILING_DEQUANTIZE_H
#define HEDDLE_COMPILER_TILING_DEQUANTIZE_H

#include "compiler/Tiling/KernelEmitter.h"

namespace mlir::heddle {

/// Which elements of a matrix a tile has.
struct PackedPlace {
  Place place;
  Value rows = {};     // the number of the matrix's row for each row of the tile; null: those of the place
  int64_t repeats = 1; // columns of the tile that an element counts for
};

/// The numbers in f32, without scales and offsets.
Value packedNumbers(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &place);

/// Where scales and offsets of a place are: a single row of them if all its rows are of one group.
PackedPlace placeOfGroups(KernelEmitter &emitter, DequantizeOp unpacked, const PackedPlace &place);

/// A tile of a matrix in memory, of one of 16 bits that an `arith.extf` widens, or of packed numbers with their scales.
Value packedValues(KernelEmitter &emitter, Value matrix, const PackedPlace &place);

} // namespace mlir::heddle

#endif
