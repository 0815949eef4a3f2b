// Rows of a sequence that stand so many rows further on, as kernels read them.
#ifndef HEDDLE_COMPILER_TILING_WINDOWS_H
#define HEDDLE_COMPILER_TILING_WINDOWS_H

#include "compiler/Tiling/KernelEmitter.h"

namespace mlir::heddle {

/// A matrix whose row i stands in memory `offset` rows further on, if that is a row of the same sequence, and is zero
/// else. Which rows are is asked once for all columns.
class MovedRows {
public:
  /// Of `place`, whose columns may be any.
  MovedRows(KernelEmitter &emitter, Value memory, Value positions, int64_t offset, const Place &place);

  /// The tile at a place of these rows, `firstColumn` further on in memory. Past its limits anything may stand in it
  /// where `padding` allows.
  Value read(const Place &place, Padding padding, int64_t firstColumn = 0) const;

private:
  Place move(Place place) const;
  Value load(Value memory, const Place &place, Padding padding) const;

  KernelEmitter &emitter;
  Value memory;
  int64_t offset;
  Value limit, inside;
  Value distance; // how far away the rows are, as a number of the launch; null if the kernel knows `offset`
};

/// The rows that an `unfold` of one offset reads at a place.
MovedRows movedRowsOf(UnfoldOp unfold, KernelEmitter &emitter, const Place &place);

} // namespace mlir::heddle

#endif
