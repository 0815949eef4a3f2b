// Attention in blocks: the lanes of several subgroups share the rows and the columns of a tile of scores out, and its
// operands come through shared memory, in f32. Values of operands are then shared memory, and not tiles; owned operands
// of the widest heads are values of the graph.
#include "compiler/Tiling/AttentionSharing.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class BlockSharing final : public SharedMemorySharing {
public:
  explicit BlockSharing(const Work &work) : SharedMemorySharing(work), isWide(width > kWidestOwned) {
    const TargetProfile &profile = emitter.getProfile();
    emitter.setBlocks();
    emitter.setVector({width / profile.blockRowLanes});
    // Rows of a group's heads read the same keys, so that twice of them are worth a workgroup of twice the lanes.
    int64_t lanes = 2 * profile.blockLanes;
    if (lanes <= profile.subgroupsOfRow * profile.lanes && chooseShape(work, lanes) && work.isWorthTwice(rows))
      emitter.setSubgroups(lanes / profile.lanes);
    else
      chooseShape(work, profile.blockLanes);
  }

  Scales scales() const override { return isWide ? Scales::Products : Scales::Owned; }

  OwnedOperand ownedOperand(Value value, double scale) override {
    if (isWide)
      return [value] { return value; };
    Value tile = load(value, owned);
    return [shared = share(scale == 1 ? tile : mul(tile, scale))] { return shared; };
  }

  Value products(Value ownedRows, Value visitedRows, Value sums) override {
    // Where keys are values two products read the same rows, one after the other. A barrier between them keeps
    // compilers from holding all that the first one read in registers for the second, which AMD's spilled.
    if (visitedRows == multiplied)
      tile::WaitOp::create(b, 0);
    multiplied = visitedRows;
    return multiply(ownedRows, visitedRows, width, /*transposeRhs=*/true, sums ? sums : zeros());
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    if (rescale)
      accumulator = scaleRows(accumulator, rescale);
    Value right = loadVisited(value, at);
    return multiply(share(weights), right, step, /*transposeRhs=*/false, accumulator);
  }

private:
  /// The rows and the step of a workgroup of `lanes`. Returns whether shared memory has room for a long step, of which
  /// each lane then brings a part there.
  bool chooseShape(const Work &work, int64_t lanes) {
    // Bytes of shared memory that most devices have. Of the widest heads even the shortest step takes more.
    constexpr int64_t longestStep = 16, room = 32768;
    int64_t rowLanes = emitter.getProfile().blockRowLanes, down = lanes / rowLanes;
    // Narrow heads leave room for more rows, which make more of each operand that a lane reads.
    rows = (work.isGradient() || isWide ? 1 : 2) * (width <= 32 ? 2 : 1) * down;
    while (rows > down && rows / 2 >= work.bounds.maximumOwned())
      rows /= 2;
    step = longestStep;
    // Owned and visited operands, and tiles of scores that go into products.
    auto bytes = [&] {
      int64_t owned = isWide ? 0 : work.isGradient() ? 2 : 1;
      return 4 * ((owned * rows + 2 * step) * (width + 4) + work.results() * rows * (step + 4));
    };
    bool fits = bytes() <= room;
    int64_t inRows = width & -width; // lanes side by side, of a power of two
    // A step that visits fewer rows has to have some of each for all lanes.
    auto isTooLong = [&] {
      return step / 2 >= work.bounds.maximumVisited(rows, step) && step / 2 * inRows >= emitter.getProfile().blockLanes;
    };
    while (step > rowLanes && (isTooLong() || bytes() > room))
      step /= 2;
    step = emitter.stepFor(work.bounds.maximumVisited(rows, step), step);
    return fits && lanes <= inRows * step;
  }

  /// accumulator + lhs * rhs, `depth` places of the contracted dimension. Both are in shared memory; the left side may
  /// be a value of the graph instead, of which the owned rows are meant.
  Value multiply(Value lhs, Value rhs, int64_t depth, bool transposeRhs, Value accumulator) {
    meet();
    ArrayRef<int64_t> shape = cast<RankedTensorType>(accumulator.getType()).getShape();
    // Of so many places a lane has the operands' registers at once.
    int64_t part = shape[1] > kWidestOwned ? 4 : depth >= kWidestOwned ? 16 : 8;
    Value zero = emitter.index(0);
    return emitter.loop(zero, emitter.index(depth), part, depth, accumulator, [&](Value k, ValueRange state) {
      Place rows = owned; // of a value of the graph
      rows.column = emitter.add(owned.column, k), rows.columns = part;
      Value left = isa<MemRefType>(lhs.getType()) ? emitter.load(lhs, {zero, k, shape[0], part, {}, {}}, Padding::Any)
                                                  : load(lhs, rows);
      Place place = transposeRhs ? Place{zero, k, shape[1], part, {}, {}} : Place{k, zero, part, shape[1], {}, {}};
      Value right = emitter.load(rhs, place, Padding::Any);
      return SmallVector<Value>{
          tile::DotOp::create(b, accumulator.getType(), left, right, state[0], /*transpose_lhs=*/false, transposeRhs)};
    })[0];
  }

  const bool isWide;
  Value multiplied; // the visited rows of the last product
};

} // namespace

bool heddle::canShareByBlocks(const TargetProfile &profile, int64_t width) {
  // The lanes along a row have a part of each of its columns, and shared memory has room.
  constexpr int64_t widest = 256;
  return profile.blockLanes > 0 && width % profile.blockRowLanes == 0 && width <= widest;
}

std::unique_ptr<AttentionSharing> heddle::shareByBlocks(const AttentionSharing::Work &work) {
  return std::make_unique<BlockSharing>(work);
}
