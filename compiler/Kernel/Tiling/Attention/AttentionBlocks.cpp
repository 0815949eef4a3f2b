// Attention in blocks: the lanes of several subgroups share the rows and the columns of a tile of scores. Operands of
// matmuls come through shared memory, in f32, so a `Value` that stands for an operand is a shared memref instead of a
// tile. For wide heads, an owned operand is a tile in registers. For the widest, it is a value of the graph.
#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The widest heads whose owned operands are in shared memory. With owned operands of wider heads, shared memory has no
/// room for two subgroups on a SIMD unit of AMD's Vega GPUs.
constexpr int64_t kWidestShared = 64;

class BlockSharing final : public SharedMemorySharing {
public:
  explicit BlockSharing(const Work &work)
      : SharedMemorySharing(work), isWide(width > kWidestOwned), keepsOwned(!isWide && width > kWidestShared) {
    const TargetProfile &profile = emitter.getProfile();
    emitter.setBlocks();
    emitter.setVector({width / profile.blocks.rowLanes});
    // All heads of a group read the same keys, so twice the rows justify a workgroup of twice the lanes.
    int64_t lanes = 2 * profile.blocks.lanes;
    if (lanes <= profile.rows.subgroupsOfRow * profile.lanes && chooseShape(work, lanes) && work.isWorthTwice(rows))
      emitter.setSubgroups(lanes / profile.lanes);
    else
      chooseShape(work, profile.blocks.lanes);
  }

  Scales scales() const override { return isWide ? Scales::Products : Scales::Owned; }

  OwnedOperand ownedOperand(Value value, double scale) override {
    if (isWide)
      return [value] { return value; };
    Value tile = load(value, owned);
    if (scale != 1)
      tile = mul(tile, scale);
    return [operand = keepsOwned ? tile : share(tile)] { return operand; };
  }

  Value products(Value ownedRows, Value visitedRows, Value sums) override {
    // If keys are also the values, two matmuls in a row read the same rows. A barrier between them keeps the compiler
    // from holding all operands of the first in registers for the second. AMD's compiler spilled them.
    if (visitedRows == multiplied)
      tile::WaitOp::create(b, 0);
    multiplied = visitedRows;
    if (keepsOwned) {
      Value all = multiplyKept(ownedRows, visitedRows);
      return sums ? arith::AddFOp::create(b, all, sums) : all;
    }
    return multiply(ownedRows, visitedRows, width, /*transposeRhs=*/true, sums ? sums : zeros());
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    if (rescale)
      accumulator = scaleRows(accumulator, rescale);
    Value right = loadVisited(value, at);
    return multiply(share(weights), right, step, /*transposeRhs=*/false, accumulator);
  }

private:
  /// Sets the rows and the step for a workgroup of `lanes` lanes. Returns true if shared memory has room for a long
  /// step, of which every lane copies a part.
  bool chooseShape(const Work &work, int64_t lanes) {
    // Bytes of shared memory that most devices have. The widest heads exceed them even with the shortest step.
    constexpr int64_t longestStep = 16, room = 32768;
    int64_t rowLanes = emitter.getProfile().blocks.rowLanes, down = lanes / rowLanes;
    // Narrow heads leave room for more rows. With more rows a lane uses each operand that it reads more often.
    rows = (work.isGradient() || isWide ? 1 : 2) * (width <= 32 ? 2 : 1) * down;
    while (rows > down && rows / 2 >= work.bounds.maximumOwned())
      rows /= 2;
    step = longestStep;
    // Owned and visited operands, and tiles of scores that are operands of matmuls.
    auto bytes = [&] {
      int64_t owned = isWide || keepsOwned ? 0 : work.isGradient() ? 2 : 1;
      return 4 * ((owned * rows + 2 * step) * (width + 4) + work.results() * rows * (step + 4));
    };
    bool fits = bytes() <= room;
    int64_t inRows = width & -width; // lanes side by side: a power of two
    // A shorter step must still have elements for all lanes to copy.
    auto isTooLong = [&] {
      return step / 2 >= work.bounds.maximumVisited(rows, step) &&
             step / 2 * inRows >= emitter.getProfile().blocks.lanes;
    };
    while (step > rowLanes && (isTooLong() || bytes() > room))
      step /= 2;
    step = emitter.stepFor(work.bounds.maximumVisited(rows, step), step);
    return fits && lanes <= inRows * step;
  }

  /// Returns the dot product of each owned row, a tile in registers, with each visited row in shared memory. Each lane
  /// along a row multiplies its part of the columns, and the lanes add up their parts. So a lane reads its part of a
  /// visited row once for all of its owned rows. `multiply` reads whole rows of both sides.
  Value multiplyKept(Value ownedRows, Value visitedRows) {
    constexpr int64_t atOnce = 2; // visited rows: independent sums hide each other's latency
    meet();
    Value zero = emitter.index(0);
    Value columns = emitter.broadcast(emitter.indices({zero, zero, 1, step, {}, {}}, 1), rows, step);
    return emitter.loop(zero, emitter.index(step), atOnce, step, zeros(), [&](Value first, ValueRange state) {
      Value sums = state[0];
      for (int64_t i = 0; i < atOnce; ++i) {
        Value visited = emitter.add(first, emitter.index(i));
        Value row = emitter.load(visitedRows, {visited, zero, 1, width, {}, {}}, Padding::Any);
        Value products = arith::MulFOp::create(b, ownedRows, emitter.broadcast(row, rows, width));
        Value number = arith::IndexCastOp::create(b, b.getI32Type(), visited);
        Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columns,
                                             tile::SplatOp::create(b, columns.getType(), number));
        Value sum = emitter.reduce(tile::Combine::Sum, products, 1);
        sums = arith::SelectOp::create(b, isHere, emitter.broadcast(sum, rows, step), sums);
      }
      return SmallVector<Value>{sums};
    })[0];
  }

  /// Returns accumulator + lhs * rhs, with depth `depth`. Both operands are in shared memory. The left one may instead
  /// be a value of the graph, whose owned rows are then loaded.
  Value multiply(Value lhs, Value rhs, int64_t depth, bool transposeRhs, Value accumulator) {
    meet();
    ArrayRef<int64_t> shape = cast<RankedTensorType>(accumulator.getType()).getShape();
    // The depth for which a lane holds the operands in registers at once.
    int64_t part = shape[1] > kWidestOwned ? 4 : depth >= kWidestOwned ? 16 : 8;
    Value zero = emitter.index(0);
    return emitter.loop(zero, emitter.index(depth), part, depth, accumulator, [&](Value k, ValueRange state) {
      Place rows = owned; // if `lhs` is a value of the graph
      rows.column = emitter.add(owned.column, k), rows.columns = part;
      Value left = isa<MemRefType>(lhs.getType()) ? emitter.load(lhs, {zero, k, shape[0], part, {}, {}}, Padding::Any)
                                                  : load(lhs, rows);
      Place place = transposeRhs ? Place{zero, k, shape[1], part, {}, {}} : Place{k, zero, part, shape[1], {}, {}};
      Value right = emitter.load(rhs, place, Padding::Any);
      return SmallVector<Value>{
          tile::DotOp::create(b, accumulator.getType(), left, right, state[0], /*transpose_lhs=*/false, transposeRhs)};
    })[0];
  }

  const bool isWide, keepsOwned;
  Value multiplied; // visited rows of the last matmul
};

} // namespace

bool heddle::canShareByBlocks(const TargetProfile &profile, int64_t width) {
  // The lanes along a row each have a part of its columns. Shared memory must have room.
  constexpr int64_t widest = 256;
  return profile.blocks.lanes > 0 && width % profile.blocks.rowLanes == 0 && width <= widest;
}

std::unique_ptr<AttentionSharing> heddle::shareByBlocks(const AttentionSharing::Work &work) {
  return std::make_unique<BlockSharing>(work);
}
