// Attention whose tiles stay in registers: lanes with whole rows, or, for single queries, lanes that share rows of
// keys.
#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class RowSharing final : public AttentionSharing {
public:
  explicit RowSharing(const Work &work) : AttentionSharing(work) {
    emitter.setMapping(tile::LaneMapping::Rows);
    emitter.setVector({width, attention.pairKeys});
    const TargetProfile &profile = emitter.getProfile();
    // If sequences are short, a lane owns fewer rows than it could.
    int64_t rowsOfLane =
        std::min<int64_t>(profile.attention.rows, llvm::divideCeil(work.bounds.maximumOwned(), emitter.getLanes()));
    step = profile.attention.keys;
    auto amount = [&] { return rowsOfLane * step * width * work.products; };
    while (amount() > profile.attention.work && step % (2 * emitter.getVector()) == 0)
      step /= 2;
    while (amount() > profile.attention.work && rowsOfLane > 1)
      rowsOfLane = (rowsOfLane + 1) / 2;
    rows = rowsOfLane * emitter.getLanes();
    while (step / 2 >= work.bounds.maximumVisited(rows, step) && step % (2 * emitter.getVector()) == 0)
      step /= 2;
    step = emitter.stepFor(work.bounds.maximumVisited(rows, step), step);
  }

  Value products(Value ownedRows, Value visitedRows, Value sums) override {
    if (!sums)
      sums = zeros();
    return tile::DotOp::create(b, sums.getType(), ownedRows, visitedRows, sums, false, /*transpose_rhs=*/true);
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    if (rescale)
      accumulator = scaleRows(accumulator, rescale);
    return tile::DotOp::create(b, accumulator.getType(), weights, loadVisited(value, at), accumulator, false, false);
  }
};

/// The tile of scores is a column. Each of its rows is a key of the step.
class QuadSharing final : public AttentionSharing {
public:
  explicit QuadSharing(const Work &work) : AttentionSharing(work) {
    const TargetProfile &profile = emitter.getProfile();
    bool isDividedByEight = width % 8 == 0 && profile.lanes >= 8;
    // Lanes that share a key's row: four of them read 64 adjacent bytes. Eight share it if a lane's part would fill its
    // registers.
    int64_t lanes = std::min<int64_t>(width > kWidestOwned && isDividedByEight ? 8 : 4, profile.lanes);
    constexpr int64_t mostHeads = 4;
    for (int64_t count = mostHeads; count > 1 && heads == 1; --count)
      for (int64_t wanted : {lanes, int64_t(8)})
        if (heads == 1 && attention.group() % count == 0 && (wanted == lanes || isDividedByEight) &&
            width / wanted * count <= profile.simt.accumulators / 2)
          heads = count, lanes = wanted;
    emitter.setQuads(lanes);
    emitter.setVector({width / lanes});
    // A lane has a sum for each element of its part of the step's keys, and also needs room for keys and values.
    constexpr int64_t most = 64, fewest = 4;
    int64_t rowsOfLane = profile.simt.accumulators / 2 * lanes / (width * heads);
    rowsOfLane = llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rowsOfLane, 1, most));
    int64_t rowLanes = emitter.getLanes() / lanes;
    rows = rowsOfLane * rowLanes, step = 1;
    while (rows > std::max(fewest, rowLanes) &&
           (rows > most || rows / 2 >= work.bounds.maximumVisited(ownedAtOnce(), visitedAtOnce())))
      rows /= 2;
    rows = emitter.stepFor(work.bounds.maximumVisited(ownedAtOnce(), visitedAtOnce()), rows);
  }

  int64_t ownedAtOnce() const override { return 1; }
  int64_t visitedAtOnce() const override { return rows; }
  int64_t ownedDim() const override { return 1; }
  int64_t headsAtOnce() const override { return heads; }

  void beginStep() override { visited.clear(); }
  Value loadVisited(Value value, const AttentionStep &at) override {
    Value &tile = visited[value];
    if (!tile)
      tile = loadVisitedTile(value, at);
    return tile;
  }

  Value products(Value ownedRows, Value visitedRows, Value) override {
    Value products = arith::MulFOp::create(b, emitter.broadcast(ownedRows, rows, width), visitedRows);
    return emitter.reduce(tile::Combine::Sum, products, 1);
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    if (rescale)
      accumulator = scaleRows(accumulator, rescale);
    Value repeated = emitter.broadcast(weights, rows, width);
    return math::FmaOp::create(b, repeated, loadVisited(value, at), accumulator);
  }

private:
  int64_t heads = 1;
  DenseMap<Value, Value> visited; // tiles of this step, for all heads
};

} // namespace

std::unique_ptr<AttentionSharing> heddle::shareByRows(const AttentionSharing::Work &work) {
  return std::make_unique<RowSharing>(work);
}
std::unique_ptr<AttentionSharing> heddle::shareByQuads(const AttentionSharing::Work &work) {
  return std::make_unique<QuadSharing>(work);
}
