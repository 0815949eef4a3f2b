// Reductions along rows and columns. To reduce a row, either a lane owns whole rows and nothing crosses lanes, or all
// lanes share a row, on targets where adjacent lanes should read adjacent columns.
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Columns that a row kernel takes at a time.
constexpr int64_t kChunk = 64;

/// Lower than any logit. The difference of two such values is still finite.
constexpr double kLowest = -1e30;

/// The maximum number of a row's vectors that each lane holds when all lanes share the row.
constexpr int64_t kSharedRuns = 8;

/// With at most this many rows, a lane for each row is too little parallel work.
constexpr int64_t kFewRows = 8;

/// Rows that lanes read at the same time when they share rows, so that enough loads are in flight.
constexpr int64_t kRowsOfDelta = 8;

/// The frame of a kernel that owns whole rows (or rows of one part, if the matrix has several parts): its rows, and the
/// loops over their columns. A lane with rows of its own takes chunks that divide the width, so that no column needs a
/// check. Lanes that share a row have few chunk sizes to choose from. If none divides the width, the last piece lies
/// partly outside.
struct RowFrame {
  KernelEmitter &emitter;
  Matrix matrix;
  int64_t width, rows, chunk, tail = 0;
  Value row, rowLimit, part;
  Value partNumber; // if a workgroup owns a single part
  Value group;      // the workgroup's number, if it takes blocks of rows in turn

  /// `loops` loops over the row share the target's limit on iterations. With `ownsParts` a workgroup owns all parts of
  /// its rows, and walks over the part at column `part`.
  RowFrame(KernelEmitter &emitter, Matrix matrix, int64_t loops, bool ownsParts = false)
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

  /// Emits a loop over blocks of rows, which `groups` workgroups take in turn. `body` gets the sums of the workgroup's
  /// blocks so far, and returns them with its own rows.
  SmallVector<Value> forBlocks(int64_t groups, ValueRange sums, function_ref<SmallVector<Value>(ValueRange)> body) {
    group = emitter.setGrid(0, groups, {}, 1);
    return emitter.loop(emitter.mul(group, rows), emitter.rowsOf(matrix), rows * groups, emitter.maximumRows(matrix),
                        sums, [&](Value first, ValueRange state) {
                          row = first;
                          return body(state);
                        });
  }

  Place column() const { return {row, emitter.index(0), rows, 1, rowLimit, {}}; }
  /// The place of a column of numbers, one for each row's part that the workgroup owns.
  Place numberOfPart() const { return {row, partNumber, rows, 1, rowLimit, {}}; }
  Value zero() const { return emitter.constant(rows, 1, 0); }
  Value wide(Value tile, const Place &place) const { return emitter.broadcast(tile, rows, place.columns); }
  /// The elements of a vector with one element per column, at `place`, repeated for all rows.
  Value perColumn(Value vector, const Place &place) const {
    return wide(emitter.evaluate(vector, {emitter.index(0), place.column, 1, place.columns, {}, place.columnLimit}),
                place);
  }
  /// Replaces the elements of `tile` past the column limit by `outside`. In a freshly loaded tile they are zero.
  Value inside(Value tile, const Place &place, double outside) const {
    if (!place.columnLimit)
      return tile;
    auto &b = emitter.builder();
    Value limit = tile::SplatOp::create(b, emitter.tileType(1, place.columns, b.getI32Type()),
                                        arith::IndexCastOp::create(b, b.getI32Type(), place.columnLimit));
    Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, emitter.indices(place, 1), limit);
    return arith::SelectOp::create(b, wide(isInside, place), tile, emitter.constant(rows, place.columns, outside));
  }

  SmallVector<Value> walk(ValueRange state, function_ref<SmallVector<Value>(const Place &, ValueRange)> body) const {
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
};

/// Sums up the rows of tiles that have a row for each subgroup. Subgroups exchange their rows through shared memory,
/// and each adds up all of them.
SmallVector<Value> sumsOfSubgroups(KernelEmitter &emitter, ArrayRef<Value> tiles) {
  auto &b = emitter.builder();
  Value zero = emitter.index(0);
  SmallVector<Value> shared, sums;
  for (Value tile : tiles) {
    shared.push_back(emitter.sharedTile(typeOf(tile)));
    tile::StoreOp::create(b, tile, shared.back(), zero, zero);
  }
  tile::WaitOp::create(b, 0);
  for (auto [tile, memory] : llvm::zip(tiles, shared))
    sums.push_back(emitter.addRows(memory, typeOf(tile).getDimSize(0), typeOf(tile).getDimSize(1)));
  return sums;
}

/// Emits sums over the rows, for all such ops of the kernel at once. `groups` workgroups share the rows of a strip of
/// columns. They take blocks of rows in turn, and each has a row of the result.
template <typename SumLike>
LogicalResult emitSumsOfRows(const Matrix &input, Operation *anchor, int64_t groups, KernelEmitter &emitter) {
  auto &b = emitter.builder();
  SmallVector<SumLike> sums = llvm::to_vector(anchor->getBlock()->getOps<SumLike>());
  emitter.setMapping(tile::LaneMapping::Columns);
  if (emitter.getProfile().rows.shared)
    emitter.narrowVector(input.partColumns());
  int64_t columns = input.columns == 1 ? 1 : emitter.getLanes() * emitter.getVector(), width = input.partColumns();
  int64_t maximum = emitter.maximumRows(input), step = PartialSumsOp::kBlockRows;
  // Subgroups share the rows of a strip, and add up their sums at the end.
  int64_t subgroups = input.columns == 1 ? 1 : emitter.getProfile().rows.subgroups;
  while (subgroups > 1 && maximum < subgroups * step * groups)
    subgroups /= 2;
  emitter.setSubgroups(subgroups);
  if (subgroups > 1)
    step *= subgroups;
  else if (groups == 1)
    step = emitter.stepFor(maximum, std::min(maximum, step));
  Value column = emitter.mul(emitter.setGrid(0, width, {}, columns), columns);
  Value group = groups > 1 ? emitter.setGrid(1, groups, {}, 1) : emitter.index(0);
  Value columnLimit = width % columns != 0 ? emitter.index(width) : Value(), part;
  if (input.parts > 1) {
    part = emitter.setGrid(2, input.parts, {}, 1);
    Value first = emitter.mul(part, width);
    column = emitter.add(column, first);
    columnLimit = columnLimit ? emitter.add(columnLimit, first) : Value();
  }
  Value end = emitter.rowsOf(input);
  Value rowLimit = input.isDynamic() || input.rows % step != 0 ? end : Value();
  SmallVector<Value> zeros(sums.size(), emitter.constant(subgroups, columns, 0));
  int64_t rowsOfPiece = subgroups > 1 ? subgroups : step; // rows evaluated at a time
  SmallVector<Value> totals =
      emitter.loop(emitter.mul(group, step), end, step * groups, maximum, zeros, [&](Value first, ValueRange state) {
        SmallVector<Value> next(state);
        for (int64_t done = 0; done < step; done += rowsOfPiece) {
          Value row = emitter.add(first, emitter.index(done));
          Place place{row, column, rowsOfPiece, columns, rowLimit, columnLimit, part};
          for (auto [sum, total] : llvm::zip(sums, next)) {
            Value tile = emitter.insideRows(emitter.evaluate(sum.getInput(), place), place);
            if (subgroups == 1)
              tile = emitter.reduce(tile::Combine::Sum, tile, 0);
            total = arith::AddFOp::create(b, total, tile);
          }
        }
        return next;
      });
  if (subgroups > 1)
    totals = sumsOfSubgroups(emitter, totals);
  for (auto [sum, total] : llvm::zip(sums, totals))
    emitter.store(sum.getResult(), total, {group, column, 1, columns, {}, columnLimit});
  return success();
}

struct SumKernel : KernelOpInterface::ExternalModel<SumKernel, SumOp> {
  bool takesPrologue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto sum = cast<SumOp>(op);
    auto &b = emitter.builder();
    Matrix input = *Matrix::of(typeOf(sum.getInput()));
    if (sum.getColumns()) {
      bool hasEpilogue = takesEpilogue(op) && emitter.hasResultOn(typeOf(sum.getInput()));
      bool isByPart = typeOf(sum.getResult()).getRank() == 2;
      int64_t parts = isByPart ? 1 : input.parts;
      RowFrame frame(emitter, input, hasEpilogue ? 2 : parts, /*ownsParts=*/!isByPart);
      if (isByPart && !frame.partNumber)
        frame.partNumber = emitter.index(0);
      Value total = frame.zero();
      for (int64_t part = 0; part < parts; ++part) {
        if (!isByPart)
          frame.part = emitter.index(part * frame.width);
        total = frame.walk(total, [&](const Place &place, ValueRange state) -> SmallVector<Value> {
          Value tile = frame.inside(emitter.evaluate(sum.getInput(), place), place, 0);
          return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, tile, 1))};
        })[0];
      }
      Place number = isByPart ? frame.numberOfPart() : frame.column();
      emitter.define(sum.getResult(), number, total);
      LogicalResult finished = emitter.finish(typeOf(sum.getResult()), number);
      if (hasEpilogue && succeeded(finished))
        frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
          finished = emitter.finish(typeOf(sum.getInput()), place);
          return {};
        });
      return finished;
    }
    return emitSumsOfRows<SumOp>(input, op, 1, emitter);
  }

  // Arithmetic on sums of rows, and on rows together with their sums, is a second walk over the row. Norms and their
  // gradients work like this.
  bool takesEpilogue(Operation *op) const {
    auto sum = cast<SumOp>(op);
    int64_t rank = typeOf(sum.getInput()).getRank();
    return sum.getColumns() && typeOf(sum.getResult()).getRank() == rank - 1 && typeOf(sum.getResult()).isDynamicDim(0);
  }
  RankedTensorType getEpilogueType(Operation *op) const {
    auto sum = cast<SumOp>(op);
    return takesEpilogue(op) ? typeOf(sum.getInput()) : typeOf(sum.getResult());
  }
  bool ownsRows(Operation *op) const { return takesEpilogue(op); }
  bool mayOverwrite(Operation *op, unsigned) const { return takesEpilogue(op); }

  /// Sums over the rows of matrices of the same shape can share a kernel, such as the gradients of a layer norm's two
  /// parameters.
  bool takesCompanion(Operation *op, Operation *other) const {
    auto sum = cast<SumOp>(op), companion = dyn_cast<SumOp>(other);
    return companion && !sum.getColumns() && !companion.getColumns() &&
           sum.getInput().getType() == companion.getInput().getType();
  }
};

struct LayerNormKernel : KernelOpInterface::ExternalModel<LayerNormKernel, LayerNormOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto norm = cast<LayerNormOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(typeOf(norm.getInput())), 3);
    Value scale = emitter.constant(frame.rows, 1, 1.0 / static_cast<double>(frame.matrix.columns));
    auto average = [&](function_ref<Value(const Place &)> element) -> Value {
      Value total = frame.walk(frame.zero(), [&](const Place &place, ValueRange state) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, state[0],
                                      emitter.reduce(tile::Combine::Sum, frame.inside(element(place), place, 0), 1))};
      })[0];
      return arith::MulFOp::create(b, total, scale);
    };
    auto centred = [&](Value mean, const Place &place) -> Value {
      return arith::SubFOp::create(b, emitter.evaluate(norm.getInput(), place), frame.wide(mean, place));
    };
    Value mean = average([&](const Place &place) { return emitter.evaluate(norm.getInput(), place); });
    Value variance = average([&](const Place &place) -> Value {
      Value x = centred(mean, place);
      return arith::MulFOp::create(b, x, x);
    });
    Value epsilon = emitter.constant(frame.rows, 1, norm.getEpsilon().convertToDouble());
    Value rstd = math::RsqrtOp::create(b, arith::AddFOp::create(b, variance, epsilon));
    emitter.store(norm.getMean(), mean, frame.column());
    emitter.store(norm.getRstd(), rstd, frame.column());
    LogicalResult finished = success();
    frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
      Value gamma = frame.perColumn(norm.getGamma(), place), beta = frame.perColumn(norm.getBeta(), place);
      Value normal = arith::MulFOp::create(b, centred(mean, place), frame.wide(rstd, place));
      emitter.define(norm.getResult(), place, math::FmaOp::create(b, normal, gamma, beta));
      finished = emitter.finish(norm.getResult().getType(), place);
      return {};
    });
    return finished;
  }
  bool takesEpilogue(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned operand) const { return operand == 0; }
};

struct LayerNormGradKernel : KernelOpInterface::ExternalModel<LayerNormGradKernel, LayerNormGradOp> {
  bool takesEpilogue(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned operand) const { return operand <= 1; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    return emit(cast<LayerNormGradOp>(op), emitter);
  }

  /// Emits the kernel, with the partial sums that it makes on the way (heddle-join-sums).
  static LogicalResult emit(LayerNormGradOp grad, KernelEmitter &emitter) {
    auto sums = llvm::to_vector(grad->getBlock()->getOps<PartialSumsOp>());
    RowFrame frame(emitter, *Matrix::of(typeOf(grad.getInput())), 2);
    if (sums.empty())
      return emitRows(grad, frame, [](const Place &) {});
    if (frame.chunk != frame.width)
      return emitter.fail() << "sums over rows of " << frame.width << " columns do not fit a subgroup's registers";
    LogicalResult finished = success();
    SmallVector<Value> zeros(sums.size(), emitter.constant(frame.rows, frame.width, 0));
    SmallVector<Value> totals =
        frame.forBlocks(typeOf(sums.front()).getDimSize(0), zeros, [&](ValueRange state) -> SmallVector<Value> {
          SmallVector<Value> next(state);
          finished = emitRows(grad, frame, [&](const Place &place) {
            for (auto [sum, total] : llvm::zip(sums, next))
              total = arith::AddFOp::create(emitter.builder(), total,
                                            emitter.insideRows(emitter.evaluate(sum.getInput(), place), place));
          });
          return next;
        });
    for (auto [sum, total] : llvm::zip(sums, sumsOfSubgroups(emitter, totals)))
      emitter.store(sum.getResult(), total, {frame.group, emitter.index(0), 1, frame.width, {}, {}});
    return finished;
  }

private:
  /// Computes the frame's rows: dx = rstd (g - mean(g) - x mean(g x)), with g = gradient * gamma and x the normalised
  /// input. `sum` adds up what is computed at a place.
  static LogicalResult emitRows(LayerNormGradOp grad, RowFrame &frame, function_ref<void(const Place &)> sum) {
    KernelEmitter &emitter = frame.emitter;
    auto &b = emitter.builder();
    Value mean = emitter.evaluate(grad.getMean(), frame.column());
    Value rstd = emitter.evaluate(grad.getRstd(), frame.column());
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto parts = [&](const Place &place) -> std::pair<Value, Value> {
      Value gamma = frame.perColumn(grad.getGamma(), place);
      Value input = emitter.evaluate(grad.getInput(), place);
      Value normal = mul(arith::SubFOp::create(b, input, frame.wide(mean, place)), frame.wide(rstd, place));
      return {mul(emitter.evaluate(grad.getGradient(), place), gamma), normal};
    };
    SmallVector<Value> sums =
        frame.walk({frame.zero(), frame.zero()}, [&](const Place &place, ValueRange state) -> SmallVector<Value> {
          auto [gradient, normal] = parts(place);
          return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, gradient, 1)),
                  arith::AddFOp::create(b, state[1], emitter.reduce(tile::Combine::Sum, mul(gradient, normal), 1))};
        });
    Value scale = emitter.constant(frame.rows, 1, 1.0 / static_cast<double>(frame.matrix.columns));
    Value meanGradient = mul(sums[0], scale), meanProduct = mul(sums[1], scale);
    LogicalResult finished = success();
    frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
      auto [gradient, normal] = parts(place);
      Value centred = arith::SubFOp::create(b, gradient, frame.wide(meanGradient, place));
      Value rest = arith::SubFOp::create(b, centred, mul(normal, frame.wide(meanProduct, place)));
      emitter.define(grad.getResult(), place, mul(rest, frame.wide(rstd, place)));
      sum(place); // before a result is stored over an operand
      finished = emitter.finish(frame.matrix, place);
      return {};
    });
    return finished;
  }
};

struct PartialSumsKernel : KernelOpInterface::ExternalModel<PartialSumsKernel, PartialSumsOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    // Another anchor makes the sums on the way (heddle-join-sums).
    for (Operation &other : *op->getBlock())
      if (auto maker = dyn_cast<KernelOpInterface>(other); maker && !isa<PartialSumsOp>(other))
        return maker.emitKernel(emitter);
    auto sums = cast<PartialSumsOp>(op);
    return emitSumsOfRows<PartialSumsOp>(*Matrix::of(typeOf(sums.getInput())), op, typeOf(sums).getDimSize(0), emitter);
  }
  /// In the kernel of a norm's gradient, a subgroup has read a row before it writes the row's results.
  bool mayOverwrite(Operation *op, unsigned) const { return !op->getBlock()->getOps<LayerNormGradOp>().empty(); }
};

struct CrossEntropyKernel : KernelOpInterface::ExternalModel<CrossEntropyKernel, CrossEntropyOp> {
  // One pass: the sum of exponentials is kept relative to the largest logit so far.
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto entropy = cast<CrossEntropyOp>(op);
    auto &b = emitter.builder();
    Matrix logits = *Matrix::of(typeOf(entropy.getLogits()));
    bool hasEpilogue = emitter.hasResultOn(typeOf(entropy.getLogits()));
    RowFrame frame(emitter, logits, hasEpilogue ? 2 : 1);
    double smoothing = entropy.getSmoothing().convertToDouble();
    Value target = emitter.evaluate(entropy.getTargets(), frame.column());
    Value lowest = emitter.constant(frame.rows, 1, kLowest);
    SmallVector<Value> totals = frame.walk(
        {lowest, frame.zero(), frame.zero(), frame.zero()},
        [&](const Place &place, ValueRange state) -> SmallVector<Value> {
          Value x = emitter.evaluate(entropy.getLogits(), place);
          Value present = frame.inside(x, place, kLowest);
          Value largest = arith::MaximumFOp::create(b, state[0], emitter.reduce(tile::Combine::Max, present, 1));
          Value rescale = math::ExpOp::create(b, arith::SubFOp::create(b, state[0], largest));
          Value powers = math::ExpOp::create(b, arith::SubFOp::create(b, present, frame.wide(largest, place)));
          Value exponentials = math::FmaOp::create(b, state[1], rescale, emitter.reduce(tile::Combine::Sum, powers, 1));
          Value sum = arith::AddFOp::create(b, state[2], emitter.reduce(tile::Combine::Sum, x, 1));
          Value hit = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, frame.wide(emitter.indices(place, 1), place),
                                            frame.wide(target, place));
          Value chosen = arith::SelectOp::create(b, hit, x, emitter.constant(frame.rows, place.columns, 0));
          Value score = arith::AddFOp::create(b, state[3], emitter.reduce(tile::Combine::Sum, chosen, 1));
          return {largest, exponentials, sum, score};
        });
    Value logSumExp = arith::AddFOp::create(b, totals[0], math::LogOp::create(b, totals[1]));
    Value mapping = arith::MulFOp::create(
        b, totals[2], emitter.constant(frame.rows, 1, smoothing / static_cast<double>(frame.matrix.columns)));
    Value score = arith::MulFOp::create(b, totals[3], emitter.constant(frame.rows, 1, 1 - smoothing));
    Value loss = arith::SubFOp::create(b, arith::SubFOp::create(b, logSumExp, score), mapping);
    emitter.define(entropy.getLoss(), frame.column(), loss);
    emitter.define(entropy.getLogSumExp(), frame.column(), logSumExp);
    LogicalResult finished = emitter.finish(typeOf(entropy.getLoss()), frame.column());
    if (hasEpilogue && succeeded(finished))
      frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
        finished = emitter.finish(typeOf(entropy.getLogits()), place);
        return {};
      });
    return finished;
  }
  // The gradient is an epilogue: a second walk over the row, which may write it over the logits.
  bool takesEpilogue(Operation *) const { return true; }
  RankedTensorType getEpilogueType(Operation *op) const { return typeOf(cast<CrossEntropyOp>(op).getLogits()); }
  bool ownsRows(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned operand) const { return operand == 0; }
};

struct SoftmaxKernel : KernelOpInterface::ExternalModel<SoftmaxKernel, SoftmaxOp> {
  bool takesEpilogue(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto softmax = cast<SoftmaxOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(softmax.getType()), 2);
    Value lowest = emitter.constant(frame.rows, 1, kLowest);
    // Elements are raised to at least this value, because a difference of infinities would be NaN.
    auto input = [&](const Place &place) -> Value {
      Value x = frame.inside(emitter.evaluate(softmax.getInput(), place), place, kLowest);
      return arith::MaximumFOp::create(b, x, frame.wide(lowest, place));
    };
    auto power = [&](Value x, Value largest) -> Value {
      return math::ExpOp::create(b, arith::SubFOp::create(b, x, largest));
    };
    SmallVector<Value> totals =
        frame.walk({lowest, frame.zero()}, [&](const Place &place, ValueRange state) -> SmallVector<Value> {
          Value x = input(place);
          Value largest = arith::MaximumFOp::create(b, state[0], emitter.reduce(tile::Combine::Max, x, 1));
          Value sum = emitter.reduce(tile::Combine::Sum, power(x, frame.wide(largest, place)), 1);
          return {largest, math::FmaOp::create(b, state[1], power(state[0], largest), sum)};
        });
    if (softmax.getSink()) { // one more element
      Value number = emitter.loadScalar(softmax.getSink(), frame.partNumber ? frame.partNumber : emitter.index(0));
      Value sink = tile::SplatOp::create(b, emitter.tileType(frame.rows, 1), number);
      Value largest = arith::MaximumFOp::create(b, totals[0], sink);
      totals = {largest,
                math::FmaOp::create(b, totals[1], power(totals[0], largest), power(sink, largest)).getResult()};
    }
    // If all elements are lowest, all results are zero.
    Value any = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, totals[0], lowest);
    Value inverse = arith::DivFOp::create(b, emitter.constant(frame.rows, 1, 1), totals[1]);
    Value scale = arith::SelectOp::create(b, any, inverse, frame.zero());
    LogicalResult finished = success();
    frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
      Value powers = power(input(place), frame.wide(totals[0], place));
      emitter.define(softmax.getResult(), place, arith::MulFOp::create(b, powers, frame.wide(scale, place)));
      finished = emitter.finish(frame.matrix, place);
      return {};
    });
    return finished;
  }
};

struct SoftmaxGradKernel : KernelOpInterface::ExternalModel<SoftmaxGradKernel, SoftmaxGradOp> {
  bool takesEpilogue(Operation *) const { return true; }
  bool mayOverwrite(Operation *, unsigned) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto grad = cast<SoftmaxGradOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(grad.getType()), 2);
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    Value total = frame.walk(frame.zero(), [&](const Place &place, ValueRange state) -> SmallVector<Value> {
      Value product = mul(emitter.evaluate(grad.getOutput(), place), emitter.evaluate(grad.getGradient(), place));
      return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, product, 1))};
    })[0];
    LogicalResult finished = success();
    frame.walk({}, [&](const Place &place, ValueRange) -> SmallVector<Value> {
      Value centred = arith::SubFOp::create(b, emitter.evaluate(grad.getGradient(), place), frame.wide(total, place));
      emitter.define(grad.getResult(), place, mul(emitter.evaluate(grad.getOutput(), place), centred));
      finished = emitter.finish(frame.matrix, place);
      return {};
    });
    return finished;
  }
};

struct ArgmaxKernel : KernelOpInterface::ExternalModel<ArgmaxKernel, ArgmaxOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto argmax = cast<ArgmaxOp>(op);
    auto &b = emitter.builder();
    RowFrame frame(emitter, *Matrix::of(typeOf(argmax.getInput())), 1);
    Value lowest = emitter.constant(frame.rows, 1, -std::numeric_limits<float>::max());
    Value none = emitter.constantInt(frame.rows, 1, 0);
    SmallVector<Value> best =
        frame.walk({lowest, none}, [&](const Place &place, ValueRange state) -> SmallVector<Value> {
          Value x = frame.inside(emitter.evaluate(argmax.getInput(), place), place, -std::numeric_limits<float>::max());
          Value largest = emitter.reduce(tile::Combine::Max, x, 1);
          Value hit = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, frame.wide(largest, place));
          Value columns = frame.wide(emitter.indices(place, 1), place);
          Value past = emitter.constantInt(frame.rows, place.columns, std::numeric_limits<int32_t>::max());
          Value first =
              emitter.reduce(tile::Combine::Min, arith::SelectOp::create(b, hit, columns, past).getResult(), 1);
          Value better = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, largest, state[0]);
          return {arith::SelectOp::create(b, better, largest, state[0]),
                  arith::SelectOp::create(b, better, first, state[1])};
        });
    emitter.store(argmax.getResult(), best[1], frame.column());
    return success();
  }
};

struct AttentionDeltaKernel : KernelOpInterface::ExternalModel<AttentionDeltaKernel, AttentionDeltaOp> {
  bool takesPrologue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto delta = cast<AttentionDeltaOp>(op);
    if (auto products = op->getBlock()->getOps<MatmulOp>(); !products.empty()) // its epilogue sums up
      return cast<KernelOpInterface>((*products.begin()).getOperation()).emitKernel(emitter);
    auto &b = emitter.builder();
    Matrix tokens = *Matrix::of(typeOf(delta.getGradient())), result = *Matrix::of(typeOf(delta.getResult()));
    int64_t width = tokens.columns / result.columns, lanes = emitter.getLanes(), rows = lanes;
    // Lanes that share a head's columns read adjacent columns, of several rows at once.
    if (emitter.getProfile().rows.shared && width % lanes == 0) {
      rows = width > 4 * lanes ? kRowsOfDelta / 2 : kRowsOfDelta; // as many as a lane has registers for
      emitter.setMapping(tile::LaneMapping::Columns);
      emitter.setVector({width / lanes});
    } else {
      emitter.setMapping(tile::LaneMapping::Rows);
      emitter.setVector({width});
    }
    rows *= emitter.joinSubgroups(llvm::divideCeil(emitter.maximumRows(tokens), rows) * result.columns);
    Value row = emitter.mul(emitter.setGrid(0, tokens.rows, tokens.size, rows), rows);
    Value head = emitter.setGrid(1, result.columns, {}, 1);
    Value limit = tokens.isDynamic() || tokens.rows % rows != 0 ? emitter.rowsOf(tokens) : Value();
    Place place{row, emitter.mul(head, width), rows, width, limit, {}};
    Value product = arith::MulFOp::create(b, emitter.evaluate(delta.getForward(), place),
                                          emitter.evaluate(delta.getGradient(), place));
    emitter.store(delta.getResult(), emitter.reduce(tile::Combine::Sum, product, 1), {row, head, rows, 1, limit, {}});
    return success();
  }
};

} // namespace

bool heddle::ownsWholeRows(const TargetProfile &profile, int64_t width) {
  int64_t together = profile.lanes * profile.vector;
  return profile.rows.shared && width % together == 0 && width <= kSharedRuns * together;
}

void heddle::registerRowKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    SumOp::attachInterface<SumKernel>(*context);
    PartialSumsOp::attachInterface<PartialSumsKernel>(*context);
    LayerNormOp::attachInterface<LayerNormKernel>(*context);
    LayerNormGradOp::attachInterface<LayerNormGradKernel>(*context);
    CrossEntropyOp::attachInterface<CrossEntropyKernel>(*context);
    SoftmaxOp::attachInterface<SoftmaxKernel>(*context);
    SoftmaxGradOp::attachInterface<SoftmaxGradKernel>(*context);
    ArgmaxOp::attachInterface<ArgmaxKernel>(*context);
    AttentionDeltaOp::attachInterface<AttentionDeltaKernel>(*context);
  });
}
