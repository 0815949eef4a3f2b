// The frame that kernels on whole rows share.
#pragma once

#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

namespace mlir::heddle {

/// The frame of a kernel that owns whole rows (or rows of one part, if the matrix has several parts): its rows, and the
/// loops over their columns. Either a lane owns whole rows and nothing crosses lanes, or all lanes share a row, on
/// targets where adjacent lanes should read adjacent columns. A lane with rows of its own takes chunks that divide the
/// width, so that no column needs a check. Lanes that share a row have few chunk sizes to choose from. If none divides
/// the width, the last piece lies partly outside.
struct RowFrame {
  KernelEmitter &emitter;
  Matrix matrix;
  int64_t width, rows, chunk, tail = 0;
  Value row, rowLimit, part;
  Value partNumber; // if a workgroup owns a single part
  Value group;      // the workgroup's number, if it takes blocks of rows in turn

  /// `loops` loops over the row share the target's limit on iterations. With `ownsParts` a workgroup owns all parts of
  /// its rows, and walks over the part at column `part`.
  RowFrame(KernelEmitter &emitter, Matrix matrix, int64_t loops, bool ownsParts = false);

  /// Emits a loop over blocks of rows, which `groups` workgroups take in turn. `body` gets the sums of the workgroup's
  /// blocks so far, and returns them with its own rows.
  SmallVector<Value> forBlocks(int64_t groups, ValueRange sums, function_ref<SmallVector<Value>(ValueRange)> body);

  /// Emits `body` for each piece of the row, with the state of the piece before, and returns the last state.
  SmallVector<Value> walk(ValueRange state, function_ref<SmallVector<Value>(const Place &, ValueRange)> body) const;

  Place column() const { return {row, emitter.index(0), rows, 1, rowLimit, {}}; }
  /// The place of a column of numbers, one for each row's part that the workgroup owns.
  Place numberOfPart() const { return {row, partNumber, rows, 1, rowLimit, {}}; }
  Value zero() const { return emitter.constant(rows, 1, 0); }
  Value wide(Value tile, const Place &place) const { return emitter.broadcast(tile, rows, place.columns); }
  /// The elements of a vector with one element per column, at `place`, repeated for all rows.
  Value perColumn(Value vector, const Place &place) const;
  /// Replaces the elements of `tile` past the column limit by `outside`. In a freshly loaded tile they are zero.
  Value inside(Value tile, const Place &place, double outside) const;
};

/// Returns true if the lanes of a subgroup share a row of `width` columns and hold all of it at once.
bool ownsWholeRows(const TargetProfile &profile, int64_t width);

} // namespace mlir::heddle
