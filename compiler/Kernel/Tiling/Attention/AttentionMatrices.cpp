// Attention on cooperative matrices. Subgroups own rows of the tile of scores, but the layout of a matrix's elements
// over lanes is unknown. So phase `layout` converts scores: each lane takes a part of some rows, for masks, softmax and
// dropout. Operands of matmuls go to shared memory as f16. Sums stay matrices through the whole loop. Factors of rows
// reach them as a matrix whose columns are all equal.
#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// A workgroup's tile of scores: `rows` rows for each of its subgroups, and `step` columns.
struct Shape {
  int64_t subgroups, rows, step;

  int64_t allRows() const { return subgroups * rows; }
};

/// Bytes of shared memory for owned and visited operands, scores, their f16 copies as operands, and numbers per row.
int64_t bytesOf(const AttentionSharing::Work &work, const Shape &shape) {
  constexpr int64_t halfPadding = 8, floatPadding = 4; // of rows (KernelEmitter::sharedTile)
  int64_t width = work.attention.width(), side = work.emitter.getProfile().tensor.matrix.rows;
  int64_t sides = work.isGradient() ? 2 : 1;
  int64_t halves = (sides * shape.allRows() + 2 * shape.step) * (width + halfPadding) +
                   work.results() * shape.allRows() * (shape.step + halfPadding);
  int64_t floats = sides * shape.allRows() * (shape.step + floatPadding);
  if (!work.isGradient())
    floats += shape.allRows() * (side + floatPadding);
  return 2 * halves + 4 * floats;
}

/// Returns nothing if matrices are of no use to the attention, or do not fit.
std::optional<Shape> chooseShape(const AttentionSharing::Work &work) {
  const TargetProfile &profile = work.emitter.getProfile();
  int64_t side = profile.tensor.matrix.rows;
  // With one query only one row of a matrix would count.
  if (!profile.tensor.cooperative || profile.attention.tensor.subgroups == 0 ||
      !isTensorOperand(work.attention.query.getType()) || work.attention.pairKeys != 0 ||
      work.attention.width() % side != 0 || work.bounds.maximumOwned() == 1)
    return std::nullopt;
  Shape shape{profile.attention.tensor.subgroups, profile.attention.tensor.rows, profile.attention.tensor.keys};
  while (shape.rows > side && shape.allRows() / 2 >= work.bounds.maximumOwned())
    shape.rows /= 2;
  while (shape.subgroups > 1 && shape.allRows() / 2 >= work.bounds.maximumOwned())
    shape.subgroups /= 2;
  while (shape.step > side && shape.step / 2 >= work.bounds.maximumVisited(shape.allRows(), shape.step))
    shape.step /= 2;
  while (bytesOf(work, shape) > profile.attention.tensor.sharedBytes) {
    if (shape.step > side)
      shape.step /= 2;
    else if (shape.rows > side)
      shape.rows /= 2;
    else if (shape.subgroups > 1)
      shape.subgroups /= 2;
    else
      return std::nullopt;
  }
  int64_t maximum = work.bounds.maximumVisited(shape.allRows(), shape.step);
  if (work.emitter.stepFor(maximum, shape.step) != shape.step)
    return std::nullopt;
  return shape;
}

class MatrixSharing final : public SharedMemorySharing {
public:
  MatrixSharing(const Work &work, const Shape &shape)
      : SharedMemorySharing(work), side(emitter.getProfile().tensor.matrix.rows), rowsOfSubgroup(shape.rows) {
    emitter.setTensorTiles(shape.subgroups);
    emitter.setVector({width});
    rows = shape.allRows();
    step = shape.step;
    emitter.setPartColumns(step); // results leave through the memory of scores
    registersLeft = emitter.getProfile().attention.tensor.registers - work.results() * registersOf(32);
  }

  // Scaling would round 16-bit operands once more.
  Scales scales() const override { return Scales::Unit; }
  bool looksAtEachStep() const override { return false; }
  bool putsLongestFirst() const override { return true; }

  OwnedOperand ownedOperand(Value value, double) override {
    Value shared = share(load(value, owned));
    if (registersOf(16) > registersLeft)
      return [shared] { return shared; };
    registersLeft -= registersOf(16);
    meet();
    return [tile = loadWhole(shared, rows, width)] { return tile; };
  }

  Value products(Value ownedRows, Value visitedRows, Value sums) override {
    meet();
    Value product = multiply(ownedRows, visitedRows, width, /*transposeRhs=*/true, zeros());
    return sums ? arith::AddFOp::create(b, sums, product).getResult() : product;
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    Value right = loadVisited(value, at);
    auto type = cast<RankedTensorType>(weights.getType());
    Value left = share(arith::TruncFOp::create(b, type.clone(b.getF16Type()), weights));
    if (rescale)
      putFactors(rescale);
    meet();
    if (rescale)
      accumulator = timesFactors(accumulator);
    return multiply(left, right, step, /*transposeRhs=*/false, accumulator);
  }

  Value scaleRows(Value sums, Value factors) override {
    tile::WaitOp::create(b, 0); // for lanes that still read the last step's operands
    putFactors(factors);
    meet();
    return timesFactors(sums);
  }

protected:
  Value asLoaded(Value tile) override { return tile; }

private:
  /// Registers per lane for a tile of the owned rows and a head's columns.
  int64_t registersOf(int64_t bits) const { return rowsOfSubgroup * width * bits / (32 * emitter.getLanes()); }

  /// Returns sums + left * right, with depth `depth`. It takes the depth of one matrix at a time, so that no more of
  /// the operands is in registers. Both operands are in shared memory, or the left one is a tile.
  Value multiply(Value left, Value right, int64_t depth, bool transposeRhs, Value sums) {
    int64_t columns = cast<RankedTensorType>(sums.getType()).getDimSize(1);
    Value zero = emitter.index(0);
    for (int64_t k = 0; k < depth; k += side) {
      Value place = emitter.index(k);
      Value lhs = isa<MemRefType>(left.getType())
                      ? emitter.load(left, {zero, place, rows, side, {}, {}}, Padding::Any)
                      : tile::ColumnsOp::create(b, emitter.tileType(rows, side, b.getF16Type()), left, k).getResult();
      // Cooperative matrices take the right side transposed.
      Value rhs = transposeRhs ? emitter.load(right, {zero, place, columns, side, {}, {}}, Padding::Any)
                               : emitter.load(right, {place, zero, side, columns, {}, {}}, Padding::Any, true);
      sums = tile::DotOp::create(b, sums.getType(), lhs, rhs, sums, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
    }
    return sums;
  }

  Value loadWhole(Value shared, int64_t rows, int64_t columns) {
    Value zero = emitter.index(0);
    return emitter.load(shared, {zero, zero, rows, columns, {}, {}}, Padding::Any);
  }

  void putFactors(Value factors) {
    Value repeated = emitter.broadcast(factors, rows, side);
    if (!rowFactors)
      rowFactors = emitter.sharedTile(cast<RankedTensorType>(repeated.getType()));
    put(repeated, rowFactors);
  }
  Value timesFactors(Value sums) {
    return arith::MulFOp::create(b, sums, emitter.broadcast(loadWhole(rowFactors, rows, side), rows, width));
  }

  const int64_t side, rowsOfSubgroup;
  int64_t registersLeft; // per lane, for owned operands
  Value rowFactors;
};

} // namespace

std::unique_ptr<AttentionSharing> heddle::shareByMatrices(const AttentionSharing::Work &work) {
  std::optional<Shape> shape = chooseShape(work);
  return shape ? std::make_unique<MatrixSharing>(work, *shape) : nullptr;
}
