// How kernels read the rows of a sequence at a row offset.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// A matrix whose row i is row i + `offset` of the memory if that row belongs to the same sequence, and zero otherwise.
/// This is checked once for all columns.
class MovedRows {
public:
  /// For the rows of `place`. Its columns do not matter.
  MovedRows(KernelEmitter &emitter, Value memory, Value positions, int64_t offset, const Place &place);

  /// Returns the tile at a place of these rows. In memory its columns begin `firstColumn` further right. If `padding`
  /// allows it, elements past the limits are arbitrary.
  Value read(const Place &place, Padding padding, int64_t firstColumn = 0) const;

private:
  Place move(Place place) const;
  Value load(Value memory, const Place &place, Padding padding) const;

  KernelEmitter &emitter;
  Value memory;
  int64_t offset;
  Value limit, inside;
  Value distance; // absolute offset, as an argument of the launch; null if the program contains `offset`
};

/// Returns the rows that an `unfold` with a single offset reads at a place.
MovedRows movedRowsOf(UnfoldOp unfold, KernelEmitter &emitter, const Place &place);

/// Attaches the models of Analysis/Kernels/KernelInterfaces.td to `heddle.unfold` and other ops that move rows.
void registerWindowTiles(DialectRegistry &registry);

} // namespace mlir::heddle
