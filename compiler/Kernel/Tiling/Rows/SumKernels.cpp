// Sums along rows and columns, and ops that are made of sums: layer norms and the delta of attention.
#include "compiler/Kernel/Tiling/Frames/DeltaTerms.h"
#include "compiler/Kernel/Tiling/Rows/RowFrame.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Rows that lanes read at the same time when they share rows, so that enough loads are in flight.
constexpr int64_t kRowsOfDelta = 8;

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

struct AttentionDeltaKernel : KernelOpInterface::ExternalModel<AttentionDeltaKernel, AttentionDeltaOp> {
  bool takesPrologue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto delta = cast<AttentionDeltaOp>(op);
    if (auto products = op->getBlock()->getOps<MatmulOp>(); !products.empty()) // its epilogue sums up
      return cast<KernelOpInterface>((*products.begin()).getOperation()).emitKernel(emitter);
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
    Value sum = emitter.reduce(tile::Combine::Sum, deltaTerms(emitter, delta, place), 1);
    emitter.store(delta.getResult(), sum, {row, head, rows, 1, limit, {}});
    return success();
  }
};

} // namespace

void heddle::registerSumKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    SumOp::attachInterface<SumKernel>(*context);
    PartialSumsOp::attachInterface<PartialSumsKernel>(*context);
    LayerNormOp::attachInterface<LayerNormKernel>(*context);
    LayerNormGradOp::attachInterface<LayerNormGradKernel>(*context);
    AttentionDeltaOp::attachInterface<AttentionDeltaKernel>(*context);
  });
}
