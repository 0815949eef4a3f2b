#include "compiler/Kernel/Tiling/Matmul/ProductFrame.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "compiler/Kernel/Tiling/Frames/Windows.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// The step along the K dimension: one vector, so that a loop's body stays small. If the target limits iterations, a
/// step may be a multiple of it.
static constexpr int64_t kStep = 4;

/// The step for a thread, which reads its left side element by element: eight, or a little less if that divides the
/// depth.
static int64_t stepOfThread(int64_t depth) {
  constexpr int64_t most = 8, fewest = 5;
  int64_t whole = chunkOf(depth, 1, most);
  return whole >= fewest || whole == depth ? whole : most;
}

/// Limits of a lane's tile of packed numbers: a step's unpacked numbers are all in registers at once, beside the sums
/// and the step's left side.
static constexpr int64_t kPackedWhole = 4, kPackedDistributed = 8;
/// A thread's step if the right operand is packed and the result has a single row.
static constexpr int64_t kPackedStepOfRow = 16;
/// The same for a result with several rows, where one word after another is unpacked. Published formats have a scale
/// for 32 numbers, so a step multiplies by the scale only once.
static constexpr int64_t kPackedStepOfRows = 32;
/// A thread's registers of accumulators for a single row, if the right operand is packed. A multiply-add waits for the
/// previous one in the same register, so a single register would leave the processor idle.
static constexpr int64_t kPackedVectorsOfThread = 4;
ProductFrame::ProductFrame(KernelEmitter &emitter, bool transposeLhs, bool transposeRhs, const Matrix &contracted,
                           const Matrix &result, int64_t loops, int64_t tensorBits, int64_t parts, const RightSide &rhs,
                           bool moved, const RowGroups &groups)
    : emitter(emitter), transposeLhs(transposeLhs), transposeRhs(transposeRhs), fragments(tensorBits > 0),
      depth(emitter.maximumRows(contracted)) {
  // The number of rows that each right side multiplies, if all groups have equally many rows.
  bool contractsGroups = groups.starts && transposeLhs;
  RowGroups ofRows = contractsGroups ? RowGroups() : groups;
  int64_t rowsOfGroup = emitter.maximumRows(result);
  if (ofRows.starts) {
    rowsOfGroup = llvm::divideCeil(rowsOfGroup, ofRows.count);
    loops *= std::min(ofRows.count, emitter.maximumRows(result)); // of the K dimension, one after the other
  }
  int64_t elements = depth * result.columns * (ofRows.starts ? ofRows.count : 1); // of the right side
  bool streams = isOfThread() && !transposeLhs && !moved &&
                 StreamedProduct::isWorthIt(emitter, rowsOfGroup, result.columns, elements, rhs);
  if (!streams && PackedProduct::isWorthIt(emitter.getProfile(), rowsOfGroup, /*ofGroup=*/bool(ofRows.starts))) {
    emitter.setMapping(tile::LaneMapping::Columns);
    packed.emplace(emitter, result, transposeLhs, depth, rhs.panel);
    auto [first, column] = placeInStrips(result, packed->blockRows(), packed->blockColumns());
    auto [row, rowLimit] = enterGroup(ofRows, result, first, packed->blockRows());
    packed->place(row, column, rowLimit);
    contract(contracted);
    if (contractsGroups)
      contractGroup(groups);
    return;
  }
  if (isOfThread() && !transposeLhs && !transposeRhs && !moved)
    emitter.setWholeVector();
  std::optional<std::pair<int64_t, int64_t>> block;
  if (!fragments && !rhs.group) // packed operands are unpacked in registers, not through shared memory
    block = chooseBlocks(result, loops, moved);
  blocks = block.has_value();
  auto [rows, columns] = fragments ? chooseFragments(result, tensorBits, parts)
                         : blocks  ? *block
                                   : chooseRegisters(contracted, result, loops, rhs);

  if (streams) {
    streamed.emplace(emitter, result, rowsOfGroup, rhs);
    auto [first, column] =
        placeInStrips(result, streamed->rowsOfTile(), streamed->blockColumns(), /*sharesLeft=*/rhs.isOfIntegers);
    auto [row, rowLimit] = enterGroup(ofRows, result, first, streamed->rowsOfTile());
    streamed->place(row, column, rowLimit);
    contract(contracted);
    return;
  }
  isPersistent &= !groups.starts;
  auto [first, column] =
      fragments || blocks ? placeInGroups(result, rows, columns) : placeInStrips(result, rows, columns);
  auto [row, rowLimit] = enterGroup(ofRows, result, first, rows);
  tile = {row, column, rows, columns, rowLimit, {}};
  if (!rowLimit && (result.isDynamic() || result.rows % rows != 0))
    tile.rowLimit = emitter.rowsOf(result);
  if (result.columns % columns != 0)
    tile.columnLimit = emitter.index(result.columns);
  contract(contracted);
  if (contractsGroups)
    contractGroup(groups);
  else if (parts > 1)
    takePart(parts);
}

void ProductFrame::contract(const Matrix &contracted) {
  depth = emitter.maximumRows(contracted);
  begin = emitter.index(0);
  end = emitter.rowsOf(contracted);
  depthLimit = contracted.isDynamic() || depth % step != 0 ? end : Value();
}

void ProductFrame::takePart(int64_t parts) {
  auto &b = emitter.builder();
  ownPart = emitter.setGrid(2, parts, {}, 1);
  // Whole steps, so that no step belongs to two parts.
  int64_t stepOfAll = parts * step;
  if (std::optional<int64_t> all = getConstantIntValue(end); all && *all % stepOfAll == 0) {
    // With constant bounds the loop certainly runs, and a warpgroup's matmuls need not wait for each other
    // (compiler/Target/CUDA/RATIONALE.md).
    partBegin = emitter.mul(ownPart, *all / parts);
    end = emitter.index(*all / parts);
    return;
  }
  if (!depthLimit)
    depthLimit = end;
  Value steps =
      b.createOrFold<arith::DivUIOp>(emitter.add(end, emitter.index(stepOfAll - 1)), emitter.index(stepOfAll));
  Value length = emitter.mul(steps, step);
  begin = b.createOrFold<arith::MulIOp>(ownPart, length);
  end = b.createOrFold<arith::MinSIOp>(end, emitter.add(begin, length));
}

FailureOr<Value> ProductFrame::enterProduct(int64_t columns) {
  if (columns % tile.columns != 0)
    return failure();
  auto &b = emitter.builder();
  Value number = b.createOrFold<arith::DivUIOp>(tile.column, emitter.index(columns));
  tile.column = b.createOrFold<arith::RemUIOp>(tile.column, emitter.index(columns));
  return number;
}

std::pair<Value, Value> ProductFrame::enterGroup(const RowGroups &groups, const Matrix &result, Value row,
                                                 int64_t rows) {
  if (!groups.starts)
    return {row, Value()};
  auto &b = emitter.builder();
  auto startOf = [&](Value group) { return emitter.loadIndex(groups.starts, group); };
  Value count = emitter.index(groups.count);
  // The group of a row is the number of groups that end at it or before it, found by bisection.
  auto groupOf = [&](Value row) {
    Value group = emitter.index(0);
    for (auto step = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(groups.count))); step > 0; step /= 2) {
      Value next = arith::MinUIOp::create(b, emitter.add(group, emitter.index(step)), count);
      Value ends = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, startOf(next), row);
      group = arith::SelectOp::create(b, ends, next, group);
    }
    return group;
  };
  Value first = groupOf(row);
  if (rows == 1) {
    ownGroup = first;
    return {row, emitter.add(row, emitter.index(1))};
  }
  Value one = emitter.index(1),
        end = arith::MinUIOp::create(b, emitter.add(row, emitter.index(rows)), emitter.rowsOf(result));
  Value last = groupOf(arith::SubIOp::create(b, end, one));
  auto loop = scf::ForOp::create(b, first, emitter.add(last, one), one);
  b.setInsertionPointToStart(loop.getBody());
  ownGroup = loop.getInductionVar();
  Value begin = arith::MaxUIOp::create(b, row, startOf(ownGroup));
  Value limit = arith::MinUIOp::create(b, end, startOf(emitter.add(ownGroup, one)));
  auto branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, begin, limit),
                                  /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  return {begin, limit};
}

void ProductFrame::contractGroup(const RowGroups &groups) {
  ownGroup = emitter.setGrid(2, groups.count, {}, 1);
  begin = emitter.loadIndex(groups.starts, ownGroup);
  end = emitter.loadIndex(groups.starts, emitter.add(ownGroup, emitter.index(1)));
  depthLimit = end;
}

// Consecutive workgroups differ along the tile's shorter side, and so share the larger part of the operands.
std::pair<Value, Value> ProductFrame::placeInStrips(const Matrix &result, int64_t rows, int64_t columns,
                                                    bool sharesLeft) {
  bool sharesRight = rows < columns || (rows == columns && emitter.maximumRows(result) <= result.columns);
  int rowAxis = sharesRight && !sharesLeft ? 0 : 1;
  Value column = emitter.mul(emitter.setGrid(1 - rowAxis, result.columns, {}, columns), columns);
  Value row = emitter.mul(emitter.setGrid(rowAxis, result.rows, result.size, rows), rows);
  return {row, column};
}

/// The height of a strip, in tiles. The strip's workgroups are consecutive.
static constexpr int64_t kGroup = 8;

// A device runs about a hundred workgroups at once. If they compute a compact part of the result, they share most of
// their operands, which then come from the cache that all processors share. So tiles are visited in strips of `kGroup`
// tiles, column by column within a strip.
std::pair<Value, Value> ProductFrame::placeInGroups(const Matrix &result, int64_t rows, int64_t columns) {
  int64_t across = llvm::divideCeil(result.columns, columns),
          down = llvm::divideCeil(emitter.maximumRows(result), rows);
  if (down == 1 || across == 1 || down * across > emitter.getProfile().limits.workgroups)
    return placeInStrips(result, rows, columns);
  auto &b = emitter.builder();
  auto divide = [&](Value x, Value y) { return b.createOrFold<arith::DivUIOp>(x, y); };
  auto remainder = [&](Value x, Value y) { return b.createOrFold<arith::RemUIOp>(x, y); };
  Value all = divide(emitter.add(emitter.rowsOf(result), emitter.index(rows - 1)), emitter.index(rows)), number;
  if (isPersistent) {
    // A device with fewer processors starts fewer workgroups (`persistent` in artifact.fbs).
    Value first = emitter.setGrid(0, emitter.getProfile().processors, {}, 1);
    auto loop = scf::ForOp::create(b, first, emitter.mul(all, across), gpu::GridDimOp::create(b, gpu::Dimension::x));
    b.setInsertionPointToStart(loop.getBody());
    number = loop.getInductionVar();
  } else {
    number = emitter.setGrid(0, result.isDynamic() ? 1 : down * rows, result.size, rows, across);
  }
  Value ofStrip = emitter.index(kGroup * across), first = emitter.mul(divide(number, ofStrip), kGroup);
  // The last strip may have fewer tiles.
  Value left = b.createOrFold<arith::SubIOp>(all, first);
  Value strip = down % kGroup == 0 && !result.isDynamic() ? emitter.index(kGroup)
                                                          : b.createOrFold<arith::MinSIOp>(left, emitter.index(kGroup));
  Value inStrip = remainder(number, ofStrip);
  return {emitter.mul(emitter.add(first, remainder(inStrip, strip)), rows),
          emitter.mul(divide(inStrip, strip), columns)};
}

std::pair<int64_t, int64_t> ProductFrame::chooseRegisters(const Matrix &contracted, const Matrix &result, int64_t loops,
                                                          const RightSide &rhs) {
  const std::optional<int64_t> &group = rhs.group;
  int64_t vector = emitter.getVector(), lanes = emitter.getLanes();
  // The vectors of a transposed right side lie along the K dimension. Lanes cannot share its rows and load vectors as
  // well, so they are laid out along the rows of the result.
  int64_t rows = emitter.maximumRows(result), columns = result.columns;
  emitter.setMapping(transposeRhs ? tile::LaneMapping::Rows : tile::LaneMapping::Columns);
  MatrixTile part = emitter.chooseTile({.m = rows,
                                        .n = columns,
                                        .k = depth,
                                        .vector = vector,
                                        .transposeLhs = transposeLhs,
                                        .transposeRhs = transposeRhs,
                                        .panel = rhs.panel});
  if (group) {
    part.whole = std::min(part.whole, kPackedWhole);
    int64_t ofThread = (part.whole == 1 ? kPackedVectorsOfThread : 1) * vector;
    part.distributed = std::min(part.distributed, isOfThread() ? ofThread : kPackedDistributed);
  }
  if (transposeRhs) {
    rows = lanes * part.distributed;
    columns = llvm::alignTo(part.whole, vector);
  } else {
    bool loadsVectors = transposeLhs && emitter.getProfile().registers == 0; // vectors of its rows
    rows = loadsVectors ? llvm::alignTo(part.whole, vector) : part.whole;
    columns = lanes * part.distributed;
  }
  int64_t plain = group ? kPackedStep : kStep;
  step = emitter.stepFor(depth, transposeRhs ? kStep * emitter.getProfile().simt.transposedVectors : plain, loops);
  if (!contracted.isDynamic()) // a near step that divides the depth needs no checks
    step = chunkOf(depth, vector, step);
  bool isPackedRow = group && emitter.maximumRows(result) == 1 && depth % kPackedStepOfRow == 0;
  step = isOfThread() ? (isPackedRow ? kPackedStepOfRow : stepOfThread(depth))
                      : llvm::alignTo(emitter.stepFor(depth, step, loops), vector);
  if (int64_t whole = std::gcd(group.value_or(0), step);
      group.value_or(1) > 1 && emitter.stepFor(depth, whole, loops) == whole)
    step = whole;
  return {rows, columns};
}

std::optional<std::pair<int64_t, int64_t>> ProductFrame::chooseBlocks(const Matrix &result, int64_t loops, bool moved) {
  const TargetProfile &profile = emitter.getProfile();
  std::optional<BlockTile> block =
      chooseBlock(profile, {emitter.maximumRows(result), result.columns, depth, profile.vector, transposeLhs,
                            transposeRhs, emitter.readsHalves()});
  if (!block || emitter.stepFor(depth, profile.blocks.depth, loops) != profile.blocks.depth)
    return std::nullopt;
  emitter.setBlocks();
  emitter.setVector({}); // operands come from shared memory, where rows are aligned whatever the matrices' rows are
  // Moved rows do not come through shared memory. All rows of a step are in registers.
  step = moved ? profile.blocks.depth / 2 : profile.blocks.depth;
  return std::pair(profile.blocks.lanes / profile.blocks.rowLanes * block->rows,
                   profile.blocks.rowLanes * block->columns);
}

std::pair<int64_t, int64_t> ProductFrame::chooseFragments(const Matrix &result, int64_t operandBits, int64_t parts) {
  const TargetProfile &profile = emitter.getProfile();
  TensorProduct product{.m = emitter.maximumRows(result),
                        .n = result.columns,
                        .k = depth,
                        .bits = operandBits,
                        .parts = parts,
                        .sumsRows = !emitter.partialSums().empty()};
  TensorTile best = chooseTensorTile(profile, product);
  emitter.setTensorTiles(best.subgroups);
  isPersistent = heddle::isPersistent(profile, product, best);
  constexpr int64_t shortest = 16; // less is not worth a barrier
  int64_t shallowest = std::max(shortest, profile.tensor.matrix.depth);
  int64_t deepest = std::max(shallowest, profile.tensor.depth * 16 / operandBits);
  step = std::min<int64_t>(deepest, llvm::PowerOf2Ceil(std::max(depth, shallowest)));
  return {best.allRows(), best.columns};
}

SmallVector<Value> ProductFrame::zeros(bool withSums) {
  if (packed) {
    packed->clear(withSums);
    return {};
  }
  if (streamed) {
    streamed->clear();
    return {};
  }
  SmallVector<Value> state{emitter.constant(tile.rows, tile.columns, 0)};
  // In blocks all lanes share the rows of the right side. Their partial sums are added up at the end.
  if (withSums)
    state.push_back(emitter.constant(blocks ? step : 1, tile.columns, 0));
  return state;
}

SmallVector<Value> ProductFrame::accumulate(Value lhs, Value rhs, ValueRange state, Value shift) {
  if (packed) {
    PackedProduct::Operands operands{lhs, rhs, transposeLhs, transposeRhs, depth, end, shift};
    if (ownGroup && transposeLhs) {
      operands.depth = emitter.builder().createOrFold<arith::SubIOp>(end, begin);
      operands.shift = operands.lhsShift = begin;
    }
    packed->accumulate(operands);
    return {};
  }
  auto &b = emitter.builder();
  auto shifted = [&](Value row) { return row && shift ? emitter.add(row, shift) : row; };
  auto unpacked = rhs.getDefiningOp<DequantizeOp>();
  bool isAligned = !shift || ownGroup; // rows that share a scale begin where the right side does
  // Streamed matmuls add to sums in memory. Scaling these sums would scale the results of earlier matmuls too.
  bool scalesAll = unpacked && hasScalesOfColumns(unpacked) && !(streamed && hasAccumulated);
  hasAccumulated = true;
  std::optional<MovedRows> moved; // if the tile's rows are the same in all steps
  if (auto unfold = lhs.getDefiningOp<UnfoldOp>(); unfold && !transposeLhs)
    moved.emplace(movedRowsOf(unfold, emitter, tile));
  bool isApart = scalesAll && !streamed && !state[0].getDefiningOp<arith::ConstantOp>(); // a constant state is zero
  SmallVector<Value> totals = isApart ? zeros(false) : llvm::to_vector(state);
  auto steps = [&](Value begin, Value end, int64_t step, Value depthLimit) {
    // Elements past the end of the K dimension must be zero on both sides, because 0 * NaN is NaN. Elements past the
    // result's rows or columns only reach elements that are never stored.
    Padding padding = depthLimit ? Padding::Zero : Padding::Any;
    auto lhsPlaceAt = [&](Value k) {
      return transposeLhs ? Place{k, tile.row, step, tile.rows, depthLimit, tile.rowLimit}
                          : Place{tile.row, k, tile.rows, step, tile.rowLimit, depthLimit};
    };
    auto rhsPlaceAt = [&](Value k) {
      return transposeRhs ? Place{shifted(tile.column), k, tile.columns, step, shifted(tile.columnLimit), depthLimit}
                          : Place{shifted(k), tile.column, step, tile.columns, shifted(depthLimit), tile.columnLimit};
    };
    // A block's left side is transposed on its way to shared memory. A lane then reads vectors of its rows from there.
    bool turns = blocks && transposeLhs && emitter.isInMemory(lhs);
    auto multiply = [&](Value left, const Place &rhsPlace, ValueRange state) -> SmallVector<Value> {
      bool scalesStep = unpacked && !scalesAll && isWithinGroup(unpacked, rhsPlace.rows);
      Value right = scalesAll || scalesStep ? packedNumbers(emitter, unpacked, {rhsPlace})
                                            : emitter.widen(emitter.evaluate(rhs, rhsPlace, padding));
      if (scalesStep) {
        Value product = dot(left, right, emitter.constant(tile.rows, tile.columns, 0));
        return {addGroup(state[0], product, totalOf(left, unpacked), unpacked, rhsPlace)};
      }
      SmallVector<Value> next{
          tile::DotOp::create(b, state[0].getType(), left, right, state[0], transposeLhs && !turns, transposeRhs)};
      if (state.size() > 1) {
        Value part = blocks ? emitter.widen(emitter.load(emitter.memoryOf(rhs), rhsPlace, padding))
                            : emitter.reduce(tile::Combine::Sum, right, 0);
        next.push_back(arith::AddFOp::create(b, state[1], part));
      }
      return next;
    };
    totals = emitter.loop(begin, end, step, depth, totals, [&](Value k, ValueRange state) -> SmallVector<Value> {
      k = partBegin ? emitter.add(partBegin, k) : k;
      if (streamed)
        tile = streamed->anyTile();
      Place lhsPlace = lhsPlaceAt(k), rhsPlace = rhsPlaceAt(k);
      if (fragments)
        return {multiplyFragments(lhs, lhsPlace, rhs, rhsPlace, state[0], padding)};
      Value left = emitter.widen(turns   ? emitter.load(emitter.memoryOf(lhs), lhsPlace, padding, /*transposed=*/true)
                                 : moved ? moved->read(lhsPlace, padding)
                                         : emitter.evaluate(lhs, lhsPlace, padding));
      if (!streamed)
        return multiply(left, rhsPlace, state);
      if (unpacked && isAligned && (scalesAll || isWithinGroup(unpacked, rhsPlace.rows))) {
        addStreamed(left, unpacked, rhsPlace, scalesAll);
        return {};
      }
      streamed->forTiles([&](const Place &place) -> Value {
        tile = place;
        Value ahead = emitter.add(shifted(k), emitter.index(kStepsAhead * step));
        prefetchStored(emitter, rhs, streamed->shareOf(ahead, step));
        return multiply(left, rhsPlaceAt(k), streamed->sums())[0];
      });
      return {};
    });
  };
  bool hasLongGroups = unpacked && isAligned && getConstantIntValue(end) && depth % kPackedStepOfRows == 0 &&
                       (scalesAll || isWithinGroup(unpacked, kPackedStepOfRows));
  if (streamed && hasLongGroups && !transposeRhs &&
      IntegerProduct::isPossible(emitter.getProfile(), unpacked, /*isTransposed=*/false))
    addIntegers(lhs, unpacked, shift, scalesAll);
  else if (streamed && (streamed->rowsOfTile() > 1 || streamed->isPanel()) && hasLongGroups) {
    steps(begin, end, kPackedStepOfRows, {});
  } else if (isOfThread() && !unpacked && !moved && (depthLimit || readsPastRows(rhs))) {
    // Whole steps without limits, and then the rest of the depth: one by one, or the last step.
    int64_t ofRest = depthLimit ? 1 : step;
    Value length = b.createOrFold<arith::SubIOp>(end, begin);
    Value rest = depthLimit ? b.createOrFold<arith::RemUIOp>(length, emitter.index(step)) : emitter.index(step);
    Value middle = b.createOrFold<arith::SubIOp>(end, rest), columnLimit = tile.columnLimit;
    if (readsPastRows(rhs))
      tile.columnLimit = {};
    steps(begin, middle, step, {});
    tile.columnLimit = columnLimit;
    steps(middle, end, ofRest, {});
  } else {
    steps(begin, end, step, depthLimit);
  }
  if (scalesAll && streamed)
    streamed->forTiles([&](const Place &place) {
      tile = place;
      return scaleColumns(streamed->sums(), unpacked);
    });
  else if (scalesAll)
    totals[0] = scaleColumns(totals[0], unpacked);
  if (isApart)
    totals[0] = arith::AddFOp::create(b, state[0], totals[0]);
  return totals;
}

/// Reading past the end of a row of the right side gives the next row's first elements, for columns that are not stored.
/// Only the last row needs masks.
bool ProductFrame::readsPastRows(Value rhs) const {
  int64_t columns = cast<RankedTensorType>(rhs.getType()).getDimSize(1);
  return !transposeRhs && !streamed && tile.columnLimit && columns % emitter.getVector() != 0 && !ownGroup &&
         emitter.isInMemory(rhs) && tile.columns <= columns && getConstantIntValue(end) && depth > step;
}

SmallVector<Value> ProductFrame::finish(ValueRange state) {
  if (streamed) {
    tile = streamed->beginTiles();
    return {streamed->sums()};
  }
  if (!packed)
    return llvm::to_vector(state);
  tile = packed->beginTiles();
  return packed->sums();
}

/// Tensor cores take the left side as it is and the right side transposed, however the two lie in memory.
Value ProductFrame::multiplyFragments(Value lhs, const Place &lhsPlace, Value rhs, const Place &rhsPlace,
                                      Value accumulator, Padding padding) const {
  Value left = emitter.load(emitter.memoryOf(lhs), lhsPlace, padding, transposeLhs);
  Value right = emitter.load(emitter.memoryOf(rhs), rhsPlace, padding, !transposeRhs);
  return tile::DotOp::create(emitter.builder(), accumulator.getType(), left, right, accumulator,
                             /*transpose_lhs=*/false, /*transpose_rhs=*/true);
}

LogicalResult ProductFrame::sumRows(PartialSumsOp sums, const Matrix &result) {
  auto type = cast<RankedTensorType>(sums.getType());
  int64_t subgroups = emitter.getSubgroups(), rows = type.getDimSize(0),
          tiles = llvm::divideCeil(emitter.maximumRows(result), tile.rows);
  if (!isPersistent || tile.columnLimit || rows != tiles * subgroups || type.getDimSize(1) != result.columns)
    return emitter.fail() << "a matmul whose workgroups compute several tiles makes " << tiles * subgroups << " x "
                          << result.columns << " partial sums of its rows, not " << type;
  auto &b = emitter.builder();
  Value memory = emitter.memoryOfResult(sums.getResult()), number = tileOfRow(tile.row);
  emitter.sumRows(sums, memory, emitter.mul(number, subgroups));
  // A call with fewer rows has fewer tiles. All workgroups together write the sums of the others.
  OpBuilder::InsertionGuard guard(b);
  auto tilesOfWorkgroup = cast<scf::ForOp>(b.getInsertionBlock()->getParentOp());
  b.setInsertionPoint(tilesOfWorkgroup);
  Value used = emitter.mul(tileOfRow(emitter.add(emitter.rowsOf(result), emitter.index(tile.rows - 1))), subgroups);
  auto unused = scf::ForOp::create(b, emitter.add(used, tilesOfWorkgroup.getLowerBound()), emitter.index(rows),
                                   tilesOfWorkgroup.getStep());
  b.setInsertionPointToStart(unused.getBody());
  auto columns = scf::ForOp::create(b, emitter.index(0), emitter.index(result.columns), emitter.index(tile.columns));
  b.setInsertionPointToStart(columns.getBody());
  tile::StoreOp::create(b, emitter.constant(1, tile.columns, 0), memory, unused.getInductionVar(),
                        columns.getInductionVar());
  return success();
}

Value ProductFrame::tileOfRow(Value row) const {
  return emitter.builder().createOrFold<arith::DivUIOp>(row, emitter.index(tile.rows));
}

/// Lanes that hold rows of the same column may be in different subgroups, so they exchange rows through shared memory.
/// A product with a row of ones then adds up the rows and leaves a column to each lane.
Value ProductFrame::sumOfRows(Value rows) const {
  auto &b = emitter.builder();
  if (!sharedRows)
    sharedRows = emitter.sharedTile(cast<RankedTensorType>(rows.getType()), /*tiles=*/2);
  Value zero = emitter.index(0);
  tile::WaitOp::create(b, 0);
  tile::StoreOp::create(b, rows, sharedRows, zero, zero);
  tile::WaitOp::create(b, 0);
  Value all = emitter.load(sharedRows, {zero, zero, step, tile.columns, {}, {}}, Padding::Any);
  Value none = emitter.constant(1, tile.columns, 0);
  return tile::DotOp::create(b, none.getType(), emitter.constant(1, step, 1), all, none, false, false);
}

void ProductFrame::storeSums(Value result, Value sums, Value shift) const {
  auto &b = emitter.builder();
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tile.row, emitter.index(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (blocks)
    sums = sumOfRows(sums);
  auto shifted = [&](Value column) { return column && shift ? emitter.add(column, shift) : column; };
  emitter.store(result, sums, {emitter.index(0), shifted(tile.column), 1, tile.columns, {}, shifted(tile.columnLimit)});
}
