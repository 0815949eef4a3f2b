#include "compiler/Kernel/Tiling/Rows/RowFrame.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

/// Columns that a row kernel takes at a time.
static constexpr int64_t kChunk = 64;

/// The maximum number of a row's vectors that each lane holds when all lanes share the row.
static constexpr int64_t kSharedRuns = 8;

/// With at most this many rows, a lane for each row is too little parallel work.
static constexpr int64_t kFewRows = 8;

RowFrame::RowFrame(KernelEmitter &emitter, Matrix matrix, int64_t loops, bool ownsParts)
    : emitter(emitter), matrix(matrix), width(matrix.partColumns()) {
  // The vector must also divide the row's width, which may be one. The kernel's own vector ignores tensors with one
  // column.
  emitter.setVector({width, emitter.getVector()});
  // A thread masks a row's last vector.
  bool masks = matrix.parts == 1 && emitter.setMaskedVector() && width % emitter.getVector() != 0;
  bool shares = masks || emitter.getProfile().rows.shared || emitter.maximumRows(matrix) <= kFewRows;
  if (shares)
    emitter.narrowVector(width);
  int64_t together = emitter.getLanes() * emitter.getVector();
  bool divides = width % together == 0, isNarrow = width < together;
  // Lanes share a row if most of them get a part of it.
  bool shared = shares && (divides || (isNarrow ? 2 * width > together : matrix.parts == 1));
  emitter.setMapping(shared ? tile::LaneMapping::Columns : tile::LaneMapping::Rows);
  // One row per subgroup is enough for lanes that share it, unless a launch cannot have that many workgroups.
  rows = shared || matrix.rows == 1 ? 1 : emitter.getLanes();
  if (matrix.rows != 1) {
    int64_t subgroups =
        emitter.joinSubgroups(llvm::divideCeil(emitter.maximumRows(matrix), rows) * (ownsParts ? 1 : matrix.parts));
    rows = shared ? emitter.fewestRows(matrix, subgroups) : rows * subgroups;
  }
  if (!shared) {
    chunk = chunkOf(width, emitter.getVector(), emitter.stepFor(width, std::min(kChunk, width), loops));
  } else if (divides) {
    chunk = chunkOf(width, together, kSharedRuns * together);
  } else {
    chunk = std::min(kSharedRuns * together, width / together * together);
    // The last piece is also checked element by element, which leaves fewer registers.
    if (!isNarrow && width % chunk > kSharedRuns / 2 * together)
      chunk = kSharedRuns / 2 * together;
    tail = isNarrow ? together : llvm::alignTo(width % chunk, together);
  }
  row = emitter.mul(emitter.setGrid(0, matrix.rows, matrix.size, rows), rows);
  if (matrix.isDynamic() || matrix.rows % rows != 0)
    rowLimit = emitter.rowsOf(matrix);
  part = emitter.index(0);
  if (matrix.parts > 1 && !ownsParts)
    part = emitter.mul(partNumber = emitter.setGrid(1, matrix.parts, {}, 1), width);
}

SmallVector<Value> RowFrame::forBlocks(int64_t groups, ValueRange sums,
                                       function_ref<SmallVector<Value>(ValueRange)> body) {
  group = emitter.setGrid(0, groups, {}, 1);
  return emitter.loop(emitter.mul(group, rows), emitter.rowsOf(matrix), rows * groups, emitter.maximumRows(matrix),
                      sums, [&](Value first, ValueRange state) {
                        row = first;
                        return body(state);
                      });
}

SmallVector<Value> RowFrame::walk(ValueRange state,
                                  function_ref<SmallVector<Value>(const Place &, ValueRange)> body) const {
  if (chunk == 0)
    return body({row, part, rows, tail, rowLimit, emitter.add(part, emitter.index(width)), partNumber}, state);
  int64_t whole = width / chunk * chunk;
  auto at = [&](Value column) { return Place{row, column, rows, chunk, rowLimit, {}, partNumber}; };
  if (whole == chunk && !tail)
    return body(at(part), state);
  SmallVector<Value> values = emitter.loop(part, emitter.add(part, emitter.index(whole)), chunk, whole, state,
                                           [&](Value column, ValueRange state) { return body(at(column), state); });
  return tail ? body({row, emitter.index(whole), rows, tail, rowLimit, emitter.index(width)}, values) : values;
}

Value RowFrame::perColumn(Value vector, const Place &place) const {
  return wide(emitter.evaluate(vector, {emitter.index(0), place.column, 1, place.columns, {}, place.columnLimit}),
              place);
}

Value RowFrame::inside(Value tile, const Place &place, double outside) const {
  if (!place.columnLimit)
    return tile;
  auto &b = emitter.builder();
  Value limit = tile::SplatOp::create(b, emitter.tileType(1, place.columns, b.getI32Type()),
                                      arith::IndexCastOp::create(b, b.getI32Type(), place.columnLimit));
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, emitter.indices(place, 1), limit);
  return arith::SelectOp::create(b, wide(isInside, place), tile, emitter.constant(rows, place.columns, outside));
}

bool heddle::ownsWholeRows(const TargetProfile &profile, int64_t width) {
  int64_t together = profile.lanes * profile.vector;
  return profile.rows.shared && width % together == 0 && width <= kSharedRuns * together;
}
