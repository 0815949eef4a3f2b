// How the heddle dialect's elementwise ops are computed on a tile.
#include "compiler/Kernel/Tiling/Frames/Dequantize.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns the part of a rank-1 operand that belongs to a place of the matrix: the place's columns if the operand is a
/// row, its rows if it is a column, the only element if it is a scalar.
Place placeOfVector(KernelEmitter &emitter, RankedTensorType vector, const Place &place) {
  if (isColumn(vector))
    return {place.row, emitter.index(0), place.rows, 1, place.rowLimit, {}};
  if (vector.getDimSize(0) == 1)
    return {emitter.index(0), emitter.index(0), 1, 1, {}, {}};
  return {emitter.index(0), place.column, 1, place.columns, {}, place.columnLimit};
}

/// For scores, tensor<T x H x K>, and other tensors with parts: the head in which a place lies, and the place within
/// that head.
struct HeadPlace {
  Value head;
  Place place; // within the head

  HeadPlace(KernelEmitter &emitter, RankedTensorType scores, const Place &whole) : place(whole) {
    auto &b = emitter.builder();
    Value keys = emitter.index(scores.getDimSize(2));
    head = whole.part ? whole.part : b.createOrFold<arith::DivUIOp>(whole.column, keys);
    place.column = b.createOrFold<arith::RemUIOp>(whole.column, keys);
  }
};

/// Returns the tile of a rank-1 operand, repeated over the place.
Value repeated(KernelEmitter &emitter, Value vector, const Place &place) {
  Value tile = emitter.evaluate(vector, placeOfVector(emitter, typeOf(vector), place));
  return emitter.broadcast(tile, place.rows, place.columns);
}

/// Returns a uniform random number in [0, 1) for each element of a place.
Value uniform(KernelEmitter &emitter, Value seed, Value step, Value stream, const Place &place) {
  auto &b = emitter.builder();
  Value rows = emitter.broadcast(emitter.indices(place, 0), place.rows, place.columns);
  Value columns = emitter.broadcast(emitter.indices(place, 1), place.rows, place.columns);
  Value stepValue = step ? emitter.loadScalar(step, 0) : arith::ConstantIntOp::create(b, b.getI32Type(), 0).getResult();
  return tile::RandomOp::create(b, emitter.tileType(place.rows, place.columns), emitter.loadScalar(seed, 0),
                                emitter.loadScalar(seed, 1), stepValue, stream, rows, columns);
}

struct FillTile : TileOpInterface::ExternalModel<FillTile, FillOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto value = cast<FillOp>(op).getValue();
    RankedTensorType type = emitter.tileType(place.rows, place.columns, value.getType());
    return {arith::ConstantOp::create(emitter.builder(), DenseElementsAttr::get(type, ArrayRef<Attribute>(value)))};
  }
};

struct BroadcastTile : TileOpInterface::ExternalModel<BroadcastTile, BroadcastOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    Value input = cast<BroadcastOp>(op).getInput();
    RankedTensorType type = typeOf(input), result = typeOf(op->getResult(0));
    bool isRow = type.getRank() == 1 && type.hasStaticShape() && type.getDimSize(0) > 1;
    if (result.getRank() < 3 || (type.getRank() == 1 && !isRow))
      return {repeated(emitter, input, place)};
    HeadPlace at(emitter, result, place);
    Value limit = place.columnLimit ? emitter.index(result.getDimSize(2)) : Value();
    Place part = isRow ? Place{emitter.index(0), at.place.column, 1, place.columns, {}, limit}
                       : Place{place.row, at.head, place.rows, 1, place.rowLimit, {}};
    return {emitter.broadcast(emitter.evaluate(input, part), place.rows, place.columns)};
  }
};

struct DequantizeTile : TileOpInterface::ExternalModel<DequantizeTile, DequantizeOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    return {packedValues(emitter, op->getResult(0), {place})};
  }
};

struct JoinPanelsTile : TileOpInterface::ExternalModel<JoinPanelsTile, JoinPanelsOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto joined = cast<JoinPanelsOp>(op);
    return {emitter.load(emitter.memoryOf(joined.getPanels()), placeInPanel(emitter, joined, place))};
  }
};

struct EmbeddingTile : TileOpInterface::ExternalModel<EmbeddingTile, EmbeddingOp> {
  bool readsElsewhere(Operation *, unsigned operand) const { return operand == 1; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto embedding = cast<EmbeddingOp>(op);
    if (RankedTensorType table = typeOf(embedding.getTable()); table.getRank() == 1 && table.hasStaticShape()) {
      emitter.fail() << "heddle.embedding takes rows, and the numbers of " << table
                     << " lie in one row; make the table a matrix of one column";
      return {};
    }
    Value rows =
        emitter.evaluate(embedding.getIndices(), placeOfVector(emitter, typeOf(embedding.getIndices()), place));
    if (embedding.getTable().getDefiningOp<DequantizeOp>())
      return {packedValues(emitter, embedding.getTable(), {place, rows})};
    auto widened =
        embedding.getTable().getDefiningOp<arith::ExtFOp>(); // the rows' numbers are widened, not the table's
    Value table = widened ? widened.getIn() : embedding.getTable();
    RankedTensorType type = emitter.tileType(place.rows, place.columns, typeOf(table).getElementType());
    Value found =
        tile::GatherOp::create(emitter.builder(), type, emitter.memoryOf(table), rows, place.column, place.columnLimit);
    return {widened ? emitter.widen(found) : found};
  }
};

struct SumPartsTile : TileOpInterface::ExternalModel<SumPartsTile, SumPartsOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto sum = cast<SumPartsOp>(op);
    Matrix parts = *Matrix::of(typeOf(sum.getParts()));
    Value total;
    for (int64_t part = 0; part < parts.parts; ++part) {
      Value first = emitter.index(part * parts.partColumns());
      Place at = place;
      at.column = emitter.add(place.column, first);
      at.columnLimit = place.columnLimit ? emitter.add(place.columnLimit, first) : Value();
      Value tile = emitter.load(emitter.memoryOf(sum.getParts()), at);
      total = total ? arith::AddFOp::create(emitter.builder(), total, tile).getResult() : tile;
    }
    return {total};
  }
};

struct DensifyTile : TileOpInterface::ExternalModel<DensifyTile, DensifyOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto densify = cast<DensifyOp>(op);
    Value places = emitter.load(emitter.memoryOf(densify.getPlaces()),
                                {place.row, emitter.index(0), place.rows, 1, place.rowLimit, {}});
    Value zero = emitter.constantInt(place.rows, 1, 0);
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, places, zero);
    Value rows =
        tile::GatherOp::create(b, emitter.tileType(place.rows, place.columns), emitter.memoryOf(densify.getRows()),
                               arith::MaxSIOp::create(b, places, zero), place.column, place.columnLimit);
    return {arith::SelectOp::create(b, emitter.broadcast(isThere, place.rows, place.columns), rows,
                                    emitter.constant(place.rows, place.columns, 0))};
  }
};

struct IotaTile : TileOpInterface::ExternalModel<IotaTile, IotaOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    RankedTensorType type = typeOf(op->getResult(0));
    if (type.getRank() == 1)
      return {emitter.indices(place, isColumn(type) ? 0 : 1)};
    auto &b = emitter.builder();
    HeadPlace at(emitter, type, place);
    if (cast<IotaOp>(op).getDim() == 2)
      return {emitter.broadcast(emitter.indices(at.place, 1), place.rows, place.columns)};
    return {tile::SplatOp::create(b, emitter.tileType(place.rows, place.columns, b.getI32Type()),
                                  arith::IndexCastOp::create(b, b.getI32Type(), at.head))};
  }
};

struct SinusoidTile : TileOpInterface::ExternalModel<SinusoidTile, SinusoidOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto sinusoid = cast<SinusoidOp>(op);
    int64_t width = typeOf(sinusoid.getResult()).getDimSize(1);
    Value positions = repeated(emitter, sinusoid.getPositions(), place);
    Value columns = emitter.indices(place, 1);
    // Frequencies are computed once per column, the angle's sine and cosine once per element.
    auto splat = [&](int64_t value) { return emitter.constantInt(1, place.columns, value); };
    Value pair, isSine;
    if (sinusoid.getHalves()) {
      isSine = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, columns, splat(width / 2));
      pair = arith::SelectOp::create(b, isSine, columns, arith::SubIOp::create(b, columns, splat(width / 2)));
    } else {
      Value parity = arith::AndIOp::create(b, columns, splat(1));
      isSine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, parity, splat(0));
      pair = arith::ShRUIOp::create(b, columns, splat(1));
    }
    Value pairFloat = arith::UIToFPOp::create(b, emitter.tileType(1, place.columns), pair);
    double logStep = -2.0 * std::log(10000.0) / static_cast<double>(width);
    Value frequency =
        math::ExpOp::create(b, arith::MulFOp::create(b, pairFloat, emitter.constant(1, place.columns, logStep)));
    Value angle =
        arith::MulFOp::create(b, arith::UIToFPOp::create(b, emitter.tileType(place.rows, place.columns), positions),
                              emitter.broadcast(frequency, place.rows, place.columns));
    return {arith::SelectOp::create(b, emitter.broadcast(isSine, place.rows, place.columns),
                                    math::SinOp::create(b, angle), math::CosOp::create(b, angle))};
  }
};

struct NumbersTile : TileOpInterface::ExternalModel<NumbersTile, NumbersOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    Value columns = emitter.indices(place, 1), result;
    for (auto [i, value] : llvm::enumerate(cast<NumbersOp>(op).getValues())) {
      Value number = emitter.constant(1, place.columns, value);
      Value index = emitter.constantInt(1, place.columns, static_cast<int64_t>(i));
      Value isThis = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columns, index);
      result = result ? arith::SelectOp::create(b, isThis, number, result).getResult() : number;
    }
    return {emitter.broadcast(result, place.rows, place.columns)};
  }
};

/// A lane has pairs of columns, and computes the sine and cosine of a pair once.
struct RotaryKernel : KernelOpInterface::ExternalModel<RotaryKernel, RotaryOp> {
  bool takesPrologue(Operation *) const { return true; }
  bool takesEpilogue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto &b = emitter.builder();
    auto rotary = cast<RotaryOp>(op);
    Matrix matrix = *Matrix::of(typeOf(rotary.getResult()));
    // A lane has both columns of a pair in one register if they are adjacent, and in two tiles otherwise.
    bool neighbours = rotary.getNeighbours();
    int64_t half = typeOf(rotary.getFrequencies()).getDimSize(0), width = rotary.getHeadColumns(),
            heads = matrix.columns / width;
    int64_t unit = std::gcd(half, width); // parts of heads begin at its multiples
    emitter.setMapping(tile::LaneMapping::Columns);
    emitter.setVector({unit, emitter.getVector()});
    emitter.narrowVector(unit, /*fewest=*/neighbours ? 2 : 1);
    int64_t run = emitter.getLanes() * emitter.getVector();
    int64_t columns = run * std::min<int64_t>(emitter.getProfile().elementwise.runs, llvm::divideCeil(half, run));
    // A thread turns all heads of a row, so that it computes a row's sines only once.
    bool ownsHeads = emitter.getProfile().registers > 0;
    int64_t rows = matrix.isDynamic() && !ownsHeads ? emitter.getProfile().elementwise.rows : 1;
    int64_t subgroups = emitter.joinSubgroups(llvm::divideCeil(emitter.maximumRows(matrix), rows) * heads);
    rows = std::max(matrix.rows == 1 ? 1 : rows * subgroups, emitter.fewestRows(matrix, subgroups));
    Value first = emitter.mul(emitter.setGrid(0, half, {}, columns), columns);
    Value row = emitter.mul(emitter.setGrid(1, matrix.rows, matrix.size, rows), rows);
    Value ofHead = ownsHeads ? Value() : emitter.mul(emitter.setGrid(2, heads, {}, 1), width);
    bool isWhole = ownsHeads ? rows == 1 : !matrix.isDynamic() && matrix.rows % rows == 0;
    Value rowLimit = isWhole ? Value() : emitter.rowsOf(matrix);
    Value limit = half % columns == 0 ? Value() : emitter.index(half);
    Value frequency = emitter.evaluate(rotary.getFrequencies(), {emitter.index(0), first, 1, columns, {}, limit});
    Value position = emitter.evaluate(rotary.getPositions(), {row, emitter.index(0), rows, 1, rowLimit, {}});
    position = arith::SIToFPOp::create(b, emitter.tileType(rows, 1), position);
    Value angle = arith::MulFOp::create(b, emitter.broadcast(position, rows, columns),
                                        emitter.broadcast(frequency, rows, columns));
    Value sine = math::SinOp::create(b, angle), cosine = math::CosOp::create(b, angle);
    auto turn = [&](Value column) {
      return turnHead(rotary, emitter, {row, column, rows, columns, rowLimit, {}}, first, sine, cosine);
    };
    if (!ownsHeads)
      return turn(ofHead);
    LogicalResult result = success();
    emitter.loop(emitter.index(0), emitter.index(heads), 1, heads,
                 [&](Value head) { result = turn(emitter.mul(head, width)); });
    return result;
  }

private:
  /// Turns the columns of a head that begins at `head`, from its column `first` on.
  static LogicalResult turnHead(RotaryOp rotary, KernelEmitter &emitter, const Place &head, Value first, Value sine,
                                Value cosine) {
    auto &b = emitter.builder();
    Matrix matrix = *Matrix::of(typeOf(rotary.getResult()));
    int64_t half = typeOf(rotary.getFrequencies()).getDimSize(0), turned = rotary.getTurnedColumns(),
            width = rotary.getHeadColumns(), rows = head.rows, columns = head.columns;
    auto placeOf = [&](int64_t from) {
      Place place = head;
      Value begin = emitter.add(head.column, emitter.index(from));
      int64_t length = std::min(half, width - from);
      place.column = emitter.add(begin, first);
      if (length % columns != 0 || length != half)
        place.columnLimit = emitter.add(begin, emitter.index(length));
      return place;
    };
    for (int64_t from = turned; from < width; from += half) { // columns that are not turned
      Place place = placeOf(from);
      emitter.define(rotary.getResult(), place, emitter.evaluate(rotary.getInput(), place));
      if (failed(emitter.finish(matrix, place)))
        return failure();
    }
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    bool inverse = rotary.getInverse();
    if (rotary.getNeighbours()) {
      Place place = placeOf(0);
      Value x = emitter.evaluate(rotary.getInput(), place), one = emitter.constantInt(1, columns, 1);
      Value isSecond = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                             arith::AndIOp::create(b, emitter.indices(place, 1), one), one);
      Value sign = arith::SelectOp::create(b, isSecond, emitter.constant(1, columns, inverse ? -1 : 1),
                                           emitter.constant(1, columns, inverse ? 1 : -1));
      Value other = mul(tile::SwapOp::create(b, x), mul(sine, emitter.broadcast(sign, rows, columns)));
      emitter.define(rotary.getResult(), place, arith::AddFOp::create(b, mul(x, cosine), other));
      return emitter.finish(matrix, place);
    }
    Place places[] = {placeOf(0), placeOf(half)};
    Value x = emitter.evaluate(rotary.getInput(), places[0]), y = emitter.evaluate(rotary.getInput(), places[1]);
    Value ySine = mul(y, sine), xSine = mul(x, sine);
    auto plus = [&](Value a, Value c) -> Value { return arith::AddFOp::create(b, a, c); };
    auto minus = [&](Value a, Value c) -> Value { return arith::SubFOp::create(b, a, c); };
    emitter.define(rotary.getResult(), places[0], inverse ? plus(mul(x, cosine), ySine) : minus(mul(x, cosine), ySine));
    emitter.define(rotary.getResult(), places[1], inverse ? minus(mul(y, cosine), xSine) : plus(mul(y, cosine), xSine));
    if (failed(emitter.finish(matrix, places[0])))
      return failure();
    return emitter.finish(matrix, places[1]);
  }
};

struct DropoutTile : TileOpInterface::ExternalModel<DropoutTile, DropoutOp> {
  bool readsElsewhere(Operation *, unsigned operand) const { return operand != 0; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto dropout = cast<DropoutOp>(op);
    double rate = dropout.getRate().convertToDouble();
    Value input = emitter.evaluate(dropout.getInput(), place);
    Place drawn = place;
    Value stream;
    if (typeOf(dropout.getInput()).getRank() == 3) {
      HeadPlace at(emitter, typeOf(dropout.getInput()), place);
      drawn = at.place;
      stream = emitter.streamOfHead(dropout.getStream(), at.head);
    } else {
      stream = emitter.number(dropout.getStream());
    }
    Value random = uniform(emitter, dropout.getSeed(), dropout.getStep(), stream, drawn);
    Value keep =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, random, emitter.constant(place.rows, place.columns, rate));
    Value scaled = arith::MulFOp::create(b, input, emitter.constant(place.rows, place.columns, 1 / (1 - rate)));
    return {arith::SelectOp::create(b, keep, scaled, emitter.constant(place.rows, place.columns, 0))};
  }
};

struct GumbelTile : TileOpInterface::ExternalModel<GumbelTile, GumbelOp> {
  bool readsElsewhere(Operation *, unsigned operand) const { return operand != 0; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto gumbel = cast<GumbelOp>(op);
    Value rows = repeated(emitter, gumbel.getRows(), place);
    Value columns = emitter.broadcast(emitter.indices(place, 1), place.rows, place.columns);
    Value uniform =
        tile::RandomOp::create(b, emitter.tileType(place.rows, place.columns), emitter.loadScalar(gumbel.getSeed(), 0),
                               emitter.loadScalar(gumbel.getSeed(), 1), emitter.loadScalar(gumbel.getStep(), 0),
                               emitter.number(gumbel.getStream()), rows, columns);
    return {emitter.gumbel(uniform)};
  }
};

struct MaskTile : TileOpInterface::ExternalModel<MaskTile, MaskOp> {
  bool readsElsewhere(Operation *op, unsigned operand) const {
    return op->getOperand(operand) == cast<MaskOp>(op).getKeyLengths();
  }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto mask = cast<MaskOp>(op);
    auto wide = [&](Value tile) { return emitter.broadcast(tile, place.rows, place.columns); };
    HeadPlace at(emitter, typeOf(mask.getScores()), place);
    Value key = wide(emitter.indices(at.place, 1));
    Value sequence = emitter.evaluate(mask.getSequence(), placeOfVector(emitter, typeOf(mask.getSequence()), place));
    Value count = tile::GatherOp::create(b, sequence.getType(), emitter.memoryOf(mask.getKeyLengths()), sequence,
                                         emitter.index(0), Value());
    Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, wide(count));
    if (!mask.getMask().empty()) {
      Value query = repeated(emitter, mask.getPosition(), place);
      counts = arith::AndIOp::create(b, counts, emitter.inlineRegion(mask.getMask(), {query, key}));
    }
    Value other = emitter.constant(place.rows, place.columns, mask.getValue().convertToDouble());
    return {arith::SelectOp::create(b, counts, emitter.evaluate(mask.getScores(), place), other)};
  }
};

struct RandomTile : TileOpInterface::ExternalModel<RandomTile, heddle::RandomOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto random = cast<heddle::RandomOp>(op);
    double scale = random.getScale().convertToDouble();
    auto splat = [&](double value) { return emitter.constant(place.rows, place.columns, value); };
    Value stream = emitter.number(random.getStream());
    Value first = uniform(emitter, random.getSeed(), {}, stream, place);
    if (random.getDistribution() == Distribution::Uniform)
      return {arith::SubFOp::create(b, arith::MulFOp::create(b, first, splat(2 * scale)), splat(scale))};
    // Box-Muller transform: a second, independent number gives the angle. 1 - u lies in (0, 1], where the logarithm is
    // finite.
    Value other = arith::XOrIOp::create(b, stream, arith::ConstantIntOp::create(b, b.getI32Type(), -1));
    Value second = uniform(emitter, random.getSeed(), {}, other, place);
    Value radius = math::SqrtOp::create(
        b, arith::MulFOp::create(b, math::LogOp::create(b, arith::SubFOp::create(b, splat(1), first)), splat(-2)));
    Value cosine = math::CosOp::create(b, arith::MulFOp::create(b, second, splat(2 * M_PI)));
    return {arith::MulFOp::create(b, arith::MulFOp::create(b, radius, cosine), splat(scale))};
  }
};

struct AdamTile : TileOpInterface::ExternalModel<AdamTile, AdamOp> {
  bool readsElsewhere(Operation *op, unsigned operand) const {
    return op->getOperand(operand) == cast<AdamOp>(op).getStep();
  }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto adam = cast<AdamOp>(op);
    auto splat = [&](double value) { return emitter.constant(place.rows, place.columns, value); };
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto at = [&](Value value) { return emitter.evaluate(value, place); };
    // (1 - decay) * fresh + decay * old
    auto blend = [&](Value old, Value fresh, const APFloat &decay) -> Value {
      double rate = decay.convertToDouble();
      return math::FmaOp::create(b, old, splat(rate), mul(fresh, splat(1 - rate)));
    };
    Value gradient = mul(at(adam.getGradient()), repeated(emitter, adam.getGradientScale(), place));
    Value oldFirst = emitter.widen(at(adam.getFirstMoment())), oldSecond = emitter.widen(at(adam.getSecondMoment()));
    Value first = blend(oldFirst, gradient, adam.getBeta1());
    Value second = blend(oldSecond, mul(gradient, gradient), adam.getBeta2());
    Value mean = mul(first, repeated(emitter, adam.getFirstCorrection(), place));
    Value deviation = math::SqrtOp::create(b, mul(second, repeated(emitter, adam.getSecondCorrection(), place)));
    Value step = arith::DivFOp::create(b, mul(mean, repeated(emitter, adam.getRate(), place)),
                                       arith::AddFOp::create(b, deviation, splat(adam.getEpsilon().convertToDouble())));
    Value weight = arith::SubFOp::create(b, at(adam.getWeight()), step);
    SmallVector<Value> updated{weight, first, second};
    if (Value average = adam.getAverage())
      updated.push_back(blend(at(average), weight, *adam.getDecay()));
    if (adam.getSkips()) {
      Value counts = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                           repeated(emitter, adam.getGradientScale(), place), splat(0));
      SmallVector<Value> before{at(adam.getWeight()), oldFirst, oldSecond};
      if (Value average = adam.getAverage())
        before.push_back(at(average));
      for (auto [value, old] : llvm::zip_equal(updated, before))
        value = arith::SelectOp::create(b, counts, value, old);
    }
    if (adam.getStep())
      roundMoments(emitter, adam, at(adam.getWeight()), updated[1], updated[2]);
    return updated;
  }

private:
  /// Rounds the moments to bf16 stochastically, as AdamOp specifies.
  static void roundMoments(KernelEmitter &emitter, AdamOp adam, Value weight, Value &first, Value &second) {
    auto &b = emitter.builder();
    auto type = cast<RankedTensorType>(weight.getType());
    RankedTensorType words = type.clone(b.getI32Type());
    auto number = [&](Type type, uint32_t value) -> Value {
      auto scalar = b.getI32IntegerAttr(static_cast<int32_t>(value));
      auto tile = dyn_cast<RankedTensorType>(type);
      return arith::ConstantOp::create(b, tile ? TypedAttr(DenseElementsAttr::get(tile, scalar.getValue())) : scalar);
    };
    auto down = [&](Value x, uint32_t bits) -> Value {
      return arith::ShRUIOp::create(b, x, number(x.getType(), bits));
    };
    auto mix = [&](Value x) -> Value { // the finaliser of MurmurHash3, a bijection of words
      x = arith::XOrIOp::create(b, x, down(x, 16));
      x = arith::MulIOp::create(b, x, number(x.getType(), 0x85EBCA6B));
      x = arith::XOrIOp::create(b, x, down(x, 13));
      x = arith::MulIOp::create(b, x, number(x.getType(), 0xC2B2AE35));
      return arith::XOrIOp::create(b, x, down(x, 16));
    };
    Value step = emitter.loadScalar(adam.getStep(), 0);
    Value key = mix(arith::MulIOp::create(b, step, number(step.getType(), 0x9E3779B9))); // the same for all elements
    Value bits = arith::BitcastOp::create(b, words, weight);
    Value random = mix(arith::XOrIOp::create(b, bits, tile::SplatOp::create(b, words, key)));
    auto round = [&](Value x, Value added) -> Value {
      Value bits = arith::BitcastOp::create(b, words, x), sum = arith::AddIOp::create(b, bits, added);
      Value cut = arith::BitcastOp::create(b, type, arith::AndIOp::create(b, sum, number(words, 0xFFFF0000)));
      // A NaN is truncated as it is: a carry from the random bits could change it.
      Value isNumber =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, arith::AndIOp::create(b, bits, number(words, 0x7FFFFFFF)),
                                number(words, 0x7F800000));
      return arith::TruncFOp::create(b, type.clone(b.getBF16Type()), arith::SelectOp::create(b, isNumber, cut, x));
    };
    first = round(first, down(random, 16));
    second = round(second, arith::AndIOp::create(b, random, number(words, 0xFFFF)));
  }
};

/// The arithmetic of a norm's kernel (SumKernels.cpp).
struct LayerNormApplyTile : TileOpInterface::ExternalModel<LayerNormApplyTile, LayerNormApplyOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto norm = cast<LayerNormApplyOp>(op);
    Value centred =
        arith::SubFOp::create(b, emitter.evaluate(norm.getInput(), place), repeated(emitter, norm.getMean(), place));
    Value normal = arith::MulFOp::create(b, centred, repeated(emitter, norm.getRstd(), place));
    return {math::FmaOp::create(b, normal, repeated(emitter, norm.getGamma(), place),
                                repeated(emitter, norm.getBeta(), place))};
  }
};

struct CrossEntropyGradTile : TileOpInterface::ExternalModel<CrossEntropyGradTile, CrossEntropyGradOp> {
  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto grad = cast<CrossEntropyGradOp>(op);
    auto splat = [&](double value) { return emitter.constant(place.rows, place.columns, value); };
    double smoothing = grad.getSmoothing().convertToDouble();
    double floor = smoothing / static_cast<double>(typeOf(grad.getLogits()).getDimSize(1));
    Value logits = emitter.evaluate(grad.getLogits(), place);
    Value probability =
        math::ExpOp::create(b, arith::SubFOp::create(b, logits, repeated(emitter, grad.getLogSumExp(), place)));
    Value columns = emitter.broadcast(emitter.indices(place, 1), place.rows, place.columns);
    Value hit =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columns, repeated(emitter, grad.getTargets(), place));
    Value target = arith::SelectOp::create(b, hit, splat(1 - smoothing + floor), splat(floor));
    return {arith::MulFOp::create(b, arith::SubFOp::create(b, probability, target),
                                  repeated(emitter, grad.getGradient(), place))};
  }
};

} // namespace

void heddle::registerElementwiseTiles(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    FillOp::attachInterface<FillTile>(*context);
    BroadcastOp::attachInterface<BroadcastTile>(*context);
    DequantizeOp::attachInterface<DequantizeTile>(*context);
    JoinPanelsOp::attachInterface<JoinPanelsTile>(*context);
    EmbeddingOp::attachInterface<EmbeddingTile>(*context);
    SumPartsOp::attachInterface<SumPartsTile>(*context);
    DensifyOp::attachInterface<DensifyTile>(*context);
    IotaOp::attachInterface<IotaTile>(*context);
    NumbersOp::attachInterface<NumbersTile>(*context);
    RotaryOp::attachInterface<RotaryKernel>(*context);
    SinusoidOp::attachInterface<SinusoidTile>(*context);
    DropoutOp::attachInterface<DropoutTile>(*context);
    GumbelOp::attachInterface<GumbelTile>(*context);
    MaskOp::attachInterface<MaskTile>(*context);
    heddle::RandomOp::attachInterface<RandomTile>(*context);
    AdamOp::attachInterface<AdamTile>(*context);
    LayerNormApplyOp::attachInterface<LayerNormApplyTile>(*context);
    CrossEntropyGradOp::attachInterface<CrossEntropyGradTile>(*context);
  });
}
