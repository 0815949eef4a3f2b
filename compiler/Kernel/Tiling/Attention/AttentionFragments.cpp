// Attention on tensor cores whose fragment layout is known. Four lanes share a row, and softmax and sums stay within
// them.
#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class FragmentSharing final : public AttentionSharing {
public:
  explicit FragmentSharing(const Work &work) : AttentionSharing(work) {
    const TargetProfile &profile = emitter.getProfile();
    subgroups = profile.attention.tensor.subgroups;
    bool warpgroups = areOfWarpgroups(work);
    // At most two warpgroups share the visited rows. More rows per warpgroup would need the registers of longer steps,
    // with which tensor cores read the owned rows less often.
    int64_t rowsOfSubgroup = warpgroups ? profile.tensor.matrix.rows : profile.attention.tensor.rows;
    if (warpgroups && work.bounds.maximumOwned() >= 8 * subgroups * rowsOfSubgroup)
      subgroups *= 2;
    // A lane holds its part of the results and of one tile of scores, or of two tiles in a gradient.
    int64_t tiles = work.isGradient() ? 2 : 1;
    // Owned operands that cannot come from shared memory must fit as well.
    auto query = cast<RankedTensorType>(attention.query.getType());
    bool staysInRegisters = !isTensorOperand(query) || !canCopyOperands(query.getDimSize(1), width);
    int64_t kept = staysInRegisters ? tiles * width * query.getElementTypeBitWidth() / 32 : 0;
    // Visited operands then also come from device memory, and their addresses need registers.
    int64_t most = staysInRegisters ? profile.attention.tensor.registers * 3 / 4 : profile.attention.tensor.registers;
    // Dropout's factors are another tile of the scores' shape. So are the scaled scores, if their gradient reads them.
    int64_t more = (attention.dropout == 0 ? 0 : 1) + (attention.scoreGradient ? 1 : 0);
    // Further register use according to ptxas (docs/cuda-kernels.md): drawing random numbers and the arithmetic of
    // scores; the addresses of wide heads' operands, together with a band's two bounds.
    if (more > 0)
      most -= 40;
    if (!staysInRegisters && !warpgroups && width > 64 && (work.products != 3 || work.bounds.count() > 1))
      most -= 32;
    auto registers = [&] {
      return rowsOfSubgroup * (work.results() * width + (tiles + more) * step + kept) / emitter.getLanes();
    };
    // With twice the rows the visited side is read half as often, if sequences fill them. That is worth shorter steps.
    auto shortestStep = [&] {
      bool isWorthRows = !staysInRegisters && rowsOfSubgroup > profile.tensor.matrix.rows;
      return isWorthRows ? 2 * profile.tensor.matrix.depth : profile.tensor.matrix.depth;
    };
    while (rowsOfSubgroup > profile.tensor.matrix.rows && work.bounds.maximumOwned() < 4 * subgroups * rowsOfSubgroup)
      rowsOfSubgroup /= 2;
    auto longestStep = [&] {
      if (warpgroups)
        return tiles == 1 && width > tile::SwizzledAttr::kPanelColumns ? 2 * profile.attention.tensor.keys
                                                                       : profile.attention.tensor.keys;
      return profile.attention.tensor.keys / (tiles > 1 ? rowsOfSubgroup / profile.tensor.matrix.rows : 1);
    };
    step = longestStep();
    while (registers() > most && (step > shortestStep() || rowsOfSubgroup > profile.tensor.matrix.rows)) {
      if (step > shortestStep()) {
        step /= 2;
      } else {
        rowsOfSubgroup /= 2;
        step = longestStep();
      }
    }
    if (!staysInRegisters || registers() > most)
      registersLeft = most - registers() + rowsOfSubgroup * kept / emitter.getLanes();
    // By the same reports no registers remain for owned operands that shared memory can hold. With warpgroups, shared
    // memory has to hold them (compiler/Target/CUDA/RATIONALE.md).
    if (warpgroups || (!staysInRegisters && more > 0))
      registersLeft = 0;
    // A processor has registers for no more of these subgroups. Together they load a group's keys only once.
    bool areTwo = subgroups > profile.attention.tensor.subgroups;
    if (!areTwo && work.isWorthTwice(2 * subgroups * rowsOfSubgroup) &&
        (staysInRegisters || haveRoom(2 * subgroups, rowsOfSubgroup, tiles)))
      subgroups *= 2;
    emitter.setTensorTiles(subgroups);
    rows = subgroups * rowsOfSubgroup;
    while (step / 2 >= work.bounds.maximumVisited(rows, step) && step > profile.tensor.matrix.depth)
      step /= 2;
  }

  // Scaling would round 16-bit operands once more.
  Scales scales() const override { return Scales::Unit; }
  bool looksAtEachStep() const override { return false; }
  bool marksScores() const override { return true; }
  bool putsLongestFirst() const override { return true; }

  OwnedOperand ownedOperand(Value value, double) override {
    // Loads the operand once if registers are left for it, and in each step otherwise.
    int64_t bits = cast<RankedTensorType>(value.getType()).getElementTypeBitWidth();
    int64_t registers = rows * width * bits / (32 * emitter.getLanes() * subgroups);
    if (registers <= registersLeft) {
      registersLeft -= registers;
      return [tile = load(value, owned)] { return tile; };
    }
    return [this, value] { return load(value, owned); };
  }

  Value products(Value ownedRows, Value visitedRows, Value sums) override {
    if (!sums)
      sums = zeros();
    return tile::DotOp::create(b, sums.getType(), ownedRows, visitedRows, sums, false, /*transpose_rhs=*/true);
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    if (rescale)
      accumulator = scaleRows(accumulator, rescale);
    // Tensor cores take the right side transposed.
    Value right = emitter.load(emitter.memoryOf(value), at.visited, Padding::Any, /*transposed=*/true);
    return tile::DotOp::create(b, accumulator.getType(), asOperand(weights), right, accumulator, false,
                               /*transpose_rhs=*/true);
  }

protected:
  Value asLoaded(Value tile) override { return tile; }

private:
  /// Returns true if heddle-use-warpgroups will take the matmuls: visited rows are whole panels in shared memory.
  bool areOfWarpgroups(const Work &work) const {
    int64_t columns = cast<RankedTensorType>(attention.key.getType()).getDimSize(1);
    return emitter.getProfile().tensor.warpgroup > 0 && isTensorOperand(attention.query.getType()) &&
           !attention.keyRows && width % tile::SwizzledAttr::kPanelColumns == 0 && canCopyOperands(columns, width);
  }

  /// Returns true if shared memory has room for the 16-bit operands of two steps, one of them still in flight, and for
  /// the owned operands that registers do not hold.
  bool haveRoom(int64_t subgroups, int64_t rowsOfSubgroup, int64_t ownedOperands) const {
    constexpr int64_t bytes = 2, visitedOperands = 2, stages = 2;
    int64_t inRegisters = registersLeft / std::max<int64_t>(1, rowsOfSubgroup * width / (2 * emitter.getLanes()));
    int64_t owned = std::max<int64_t>(0, ownedOperands - std::max<int64_t>(0, inRegisters));
    int64_t rows = owned * subgroups * rowsOfSubgroup + stages * visitedOperands * step;
    return rows * width * bytes <= emitter.getProfile().tensor.sharedBytesOfLane * subgroups * emitter.getLanes();
  }

  /// Converts a tile to the type of the kernel's operands.
  Value asOperand(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    Type element = cast<RankedTensorType>(attention.query.getType()).getElementType();
    return type.getElementType() == element ? tile : arith::TruncFOp::create(b, type.clone(element), tile).getResult();
  }

  int64_t subgroups;
  int64_t registersLeft = std::numeric_limits<int64_t>::max(); // per lane, for owned operands
};

} // namespace

/// Blocks are better for wide heads with 32-bit operands.
bool heddle::canShareByFragments(const AttentionSharing::Work &work) {
  const TargetProfile &profile = work.emitter.getProfile();
  if (!work.attention.hasTensorOperands || profile.tensor.cooperative || profile.attention.tensor.subgroups == 0)
    return false;
  return isTensorOperand(work.attention.query.getType()) ||
         work.results() * work.attention.width() <= kMostTensorFloatColumns ||
         !canShareByBlocks(profile, work.attention.width());
}

std::unique_ptr<AttentionSharing> heddle::shareByFragments(const AttentionSharing::Work &work) {
  return std::make_unique<FragmentSharing>(work);
}
