#include "compiler/Kernel/Tiling/Matmul/RegisterProduct.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Tiling/Frames/Windows.h"
#include "compiler/Kernel/Tiling/Matmul/PackedNumbers.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// The step of lanes along the K dimension: one vector, so that a loop's body stays small. If the target limits
/// iterations, a step may be a multiple of it.
static constexpr int64_t kStep = 4;
/// The same if the right operand is packed: the rows that a word may hold.
static constexpr int64_t kPackedStep = 8;
/// Limits of a lane's tile of packed numbers: a step's unpacked numbers are all in registers at once, beside the sums
/// and the step's left side.
static constexpr int64_t kPackedWhole = 4, kPackedDistributed = 8;
/// A thread's registers of accumulators for a single row, if the right operand is packed. A multiply-add waits for the
/// previous one in the same register, so a single register would leave the processor idle.
static constexpr int64_t kPackedVectorsOfThread = 4;

//===-- The tile ------------------------------------------------------------------------------------------------===//

RegisterProduct::RegisterProduct(KernelEmitter &emitter, const MatmulShape &shape)
    : TileProduct(emitter, shape.result) {
  if (shape.tensorBits > 0)
    chooseFragments(shape);
  else if (!chooseBlocks(shape))
    chooseLanes(shape);
}

void RegisterProduct::chooseFragments(const MatmulShape &shape) {
  const TargetProfile &profile = emitter.getProfile();
  int64_t depth = emitter.maximumRows(shape.contracted);
  TensorProduct product{.m = emitter.maximumRows(result),
                        .n = result.columns,
                        .k = depth,
                        .bits = shape.tensorBits,
                        .parts = shape.parts,
                        .sumsRows = !emitter.partialSums().empty()};
  TensorTile best = chooseTensorTile(profile, product);
  emitter.setTensorTiles(best.subgroups);
  layout = Layout::Fragments;
  order = isPersistent(profile, product, best) && !shape.groups.starts ? Order::Persistent : Order::Groups;
  constexpr int64_t shortest = 16; // less is not worth a barrier
  int64_t shallowest = std::max(shortest, profile.tensor.matrix.depth);
  int64_t deepest = std::max(shallowest, profile.tensor.depth * 16 / shape.tensorBits);
  step = std::min<int64_t>(deepest, llvm::PowerOf2Ceil(std::max(depth, shallowest)));
  block.rows = best.allRows(), block.columns = best.columns;
}

bool RegisterProduct::chooseBlocks(const MatmulShape &shape) {
  const TargetProfile &profile = emitter.getProfile();
  if (shape.rhs.group) // packed operands are unpacked in registers, not through shared memory
    return false;
  int64_t depth = emitter.maximumRows(shape.contracted);
  std::optional<BlockTile> ofLane =
      chooseBlock(profile, {emitter.maximumRows(result), result.columns, depth, profile.vector, shape.transposeLhs,
                            shape.transposeRhs, emitter.readsHalves()});
  if (!ofLane || emitter.stepFor(depth, profile.blocks.depth, shape.loops) != profile.blocks.depth)
    return false;
  emitter.setBlocks();
  emitter.setVector({}); // operands come from shared memory, where rows are aligned whatever the matrices' rows are
  layout = Layout::Blocks, order = Order::Groups;
  // Moved rows do not come through shared memory. All rows of a step are in registers.
  step = shape.moved ? profile.blocks.depth / 2 : profile.blocks.depth;
  block.rows = profile.blocks.lanes / profile.blocks.rowLanes * ofLane->rows;
  block.columns = profile.blocks.rowLanes * ofLane->columns;
  return true;
}

void RegisterProduct::chooseLanes(const MatmulShape &shape) {
  const TargetProfile &profile = emitter.getProfile();
  bool isThread = profile.registers > 0 && !shape.transposeRhs;
  if (isThread && !shape.transposeLhs && !shape.moved)
    emitter.setWholeVector();
  int64_t vector = emitter.getVector(), lanes = emitter.getLanes(), depth = emitter.maximumRows(shape.contracted),
          group = shape.rhs.group.value_or(0);
  // The vectors of a transposed right side lie along the K dimension. Lanes cannot share its rows and load vectors as
  // well, so they are laid out along the rows of the result.
  emitter.setMapping(shape.transposeRhs ? tile::LaneMapping::Rows : tile::LaneMapping::Columns);
  MatrixTile part = emitter.chooseTile({.m = emitter.maximumRows(result),
                                        .n = result.columns,
                                        .k = depth,
                                        .vector = vector,
                                        .transposeLhs = shape.transposeLhs,
                                        .transposeRhs = shape.transposeRhs,
                                        .panel = shape.rhs.panel});
  if (group) {
    part.whole = std::min(part.whole, kPackedWhole);
    int64_t ofThread = (part.whole == 1 ? kPackedVectorsOfThread : 1) * vector;
    part.distributed = std::min(part.distributed, isThread ? ofThread : kPackedDistributed);
  }
  if (shape.transposeRhs) {
    block.rows = lanes * part.distributed;
    block.columns = llvm::alignTo(part.whole, vector);
  } else {
    bool loadsVectors = shape.transposeLhs && profile.registers == 0; // vectors of its rows
    block.rows = loadsVectors ? llvm::alignTo(part.whole, vector) : part.whole;
    block.columns = lanes * part.distributed;
  }
  if (isThread) {
    step = stepOfThread(depth, emitter.maximumRows(result), shape.rhs);
    return;
  }
  int64_t ofVectors = shape.transposeRhs ? kStep * profile.simt.transposedVectors : group ? kPackedStep : kStep;
  step = emitter.stepFor(depth, ofVectors, shape.loops);
  if (!shape.contracted.isDynamic()) // a near step that divides the depth needs no checks
    step = chunkOf(depth, vector, step);
  step = llvm::alignTo(emitter.stepFor(depth, step, shape.loops), vector);
  if (int64_t whole = std::gcd(group, step); group > 1 && emitter.stepFor(depth, whole, shape.loops) == whole)
    step = whole;
}

int64_t heddle::stepOfThread(int64_t depth, int64_t rows, const RightSide &rhs) {
  constexpr int64_t most = 8, fewest = 5, ofPackedRow = 16; // eight, or a little less if that divides the depth
  int64_t whole = chunkOf(depth, 1, most), step = whole >= fewest || whole == depth ? whole : most;
  if (rhs.group && rows == 1 && depth % ofPackedRow == 0)
    step = ofPackedRow;
  return rhs.group.value_or(1) > 1 ? std::gcd(*rhs.group, step) : step;
}

void RegisterProduct::place(Value row, Value column, Value rowLimit) {
  block.row = row, block.column = column, block.rowLimit = rowLimit;
  if (!rowLimit && (result.isDynamic() || result.rows % block.rows != 0))
    block.rowLimit = emitter.rowsOf(result);
  if (result.columns % block.columns != 0)
    block.columnLimit = emitter.index(result.columns);
  tile = block;
}

//===-- The loop along the K dimension --------------------------------------------------------------------------===//

/// The loop of one matmul, without scales of columns, which multiply its sum.
class RegisterProduct::Loop {
public:
  Loop(RegisterProduct &product, const MatmulOperands &operands, const DepthRange &range,
       const std::optional<PackedNumbers> &numbers)
      : emitter(product.emitter), layout(product.layout), step(product.step), tile(product.tile), operands(operands),
        range(range), numbers(numbers),
        turns(layout == Layout::Blocks && operands.transposeLhs && emitter.isInMemory(operands.lhs)) {
    if (auto unfold = operands.lhs.getDefiningOp<UnfoldOp>(); unfold && !operands.transposeLhs)
      moved.emplace(movedRowsOf(unfold, emitter, tile));
  }

  SmallVector<Value> run(ValueRange state) {
    bool readsPast = readsPastRows();
    bool isThread = emitter.getProfile().registers > 0 && !operands.transposeRhs;
    if (!isThread || numbers || moved || !(range.limit || readsPast))
      return steps(range.begin, range.end, step, range.limit, state);
    // Whole steps without limits, and then the rest of the depth: one by one, or the last step.
    auto &b = emitter.builder();
    Value middle =
        range.limit ? range.endOfSteps(emitter, step) : b.createOrFold<arith::SubIOp>(range.end, emitter.index(step));
    Value columnLimit = tile.columnLimit;
    if (readsPast)
      tile.columnLimit = {};
    SmallVector<Value> sums = steps(range.begin, middle, step, {}, state);
    tile.columnLimit = columnLimit;
    return steps(middle, range.end, range.limit ? 1 : step, {}, sums);
  }

private:
  /// Reading past the end of a row of the right side gives the next row's first elements, for columns that are not
  /// stored. Only the last row needs masks.
  bool readsPastRows() const {
    int64_t columns = cast<RankedTensorType>(operands.rhs.getType()).getDimSize(1);
    return !operands.transposeRhs && tile.columnLimit && columns % emitter.getVector() != 0 && !operands.isOfGroup &&
           emitter.isInMemory(operands.rhs) && tile.columns <= columns && getConstantIntValue(range.end) &&
           range.depth > step;
  }

  SmallVector<Value> steps(Value begin, Value end, int64_t length, Value limit, ValueRange state) {
    return emitter.loop(begin, end, length, range.depth, state, [&](Value k, ValueRange state) -> SmallVector<Value> {
      DepthStep step{range.origin ? emitter.add(range.origin, k) : k, length, limit};
      Place lhs = operands.lhsAt(tile, step), rhs = operands.rhsAt(emitter, tile, step);
      return layout == Layout::Fragments ? multiplyFragments(lhs, rhs, state[0], step.padding())
                                         : multiply(lhs, rhs, state, step.padding());
    });
  }

  /// Tensor cores take the left side as it is and the right side transposed, however the two lie in memory.
  SmallVector<Value> multiplyFragments(const Place &lhs, const Place &rhs, Value sum, Padding padding) {
    Value left = emitter.load(emitter.memoryOf(operands.lhs), lhs, padding, operands.transposeLhs);
    Value right = emitter.load(emitter.memoryOf(operands.rhs), rhs, padding, !operands.transposeRhs);
    return {dot(emitter, left, right, sum, /*transposeLhs=*/false, /*transposeRhs=*/true)};
  }

  SmallVector<Value> multiply(const Place &lhs, const Place &rhs, ValueRange state, Padding padding) {
    Value left = readLhs(lhs, padding);
    if (numbers && numbers->haveScalesOfColumns())
      return {dot(emitter, left, numbers->at(rhs), state[0], /*transposeLhs=*/false, operands.transposeRhs)};
    if (numbers && numbers->haveScalesOfSteps(rhs.rows)) {
      Value right = numbers->at(rhs), none = emitter.constant(tile.rows, tile.columns, 0);
      Value product = dot(emitter, left, right, none);
      return {numbers->addScaled(state[0], product, numbers->totalOf(left), rhs)};
    }
    Value right = emitter.widen(emitter.evaluate(operands.rhs, rhs, padding));
    SmallVector<Value> next{
        dot(emitter, left, right, state[0], operands.transposeLhs && !turns, operands.transposeRhs)};
    if (state.size() > 1) {
      Value rows = layout == Layout::Blocks ? emitter.widen(emitter.load(emitter.memoryOf(operands.rhs), rhs, padding))
                                            : emitter.reduce(tile::Combine::Sum, right, 0);
      next.push_back(arith::AddFOp::create(emitter.builder(), state[1], rows));
    }
    return next;
  }

  Value readLhs(const Place &place, Padding padding) {
    if (turns)
      return emitter.widen(emitter.load(emitter.memoryOf(operands.lhs), place, padding, /*transposed=*/true));
    return emitter.widen(moved ? moved->read(place, padding) : emitter.evaluate(operands.lhs, place, padding));
  }

  KernelEmitter &emitter;
  Layout layout;
  int64_t step;
  Place tile;
  const MatmulOperands &operands;
  const DepthRange &range;
  const std::optional<PackedNumbers> &numbers;
  /// A block's left side is transposed on its way to shared memory. A lane then reads vectors of its rows from there.
  bool turns;
  std::optional<MovedRows> moved; // if the tile's rows are the same in all steps
};

SmallVector<Value> RegisterProduct::zeros(bool withSums) {
  SmallVector<Value> state{emitter.constant(tile.rows, tile.columns, 0)};
  // In blocks all lanes share the rows of the right side. Their partial sums are added up at the end.
  if (withSums)
    state.push_back(emitter.constant(layout == Layout::Blocks ? step : 1, tile.columns, 0));
  return state;
}

SmallVector<Value> RegisterProduct::accumulate(const MatmulOperands &operands, const DepthRange &range,
                                               ValueRange state) {
  std::optional<PackedNumbers> numbers = PackedNumbers::of(emitter, operands);
  Loop loop(*this, operands, range, numbers);
  if (!numbers || !numbers->haveScalesOfColumns())
    return loop.run(state);
  // The scales do not multiply the sums so far.
  bool isFirst = state[0].getDefiningOp<arith::ConstantOp>() != nullptr; // the constant is zero
  Value product = numbers->scaleColumns(loop.run(isFirst ? state : ValueRange(zeros(false)))[0], tile);
  return {isFirst ? product : arith::AddFOp::create(emitter.builder(), state[0], product).getResult()};
}

/// Lanes that hold rows of the same column may be in different subgroups, so they exchange rows through shared memory.
/// A product with a row of ones then adds up the rows and leaves a column to each lane.
Value RegisterProduct::wholeSums(Value rows) {
  if (layout != Layout::Blocks)
    return rows;
  auto &b = emitter.builder();
  if (!sharedRows)
    sharedRows = emitter.sharedTile(cast<RankedTensorType>(rows.getType()), /*tiles=*/2);
  Value zero = emitter.index(0);
  tile::WaitOp::create(b, 0);
  tile::StoreOp::create(b, rows, sharedRows, zero, zero);
  tile::WaitOp::create(b, 0);
  Value all = emitter.load(sharedRows, {zero, zero, step, tile.columns, {}, {}}, Padding::Any);
  Value none = emitter.constant(1, tile.columns, 0);
  return dot(emitter, emitter.constant(1, step, 1), all, none);
}
