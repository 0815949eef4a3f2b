// How the heddle dialect's elementwise ops are computed on a tile.
#include "compiler/Tiling/KernelEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The part of a rank-1 operand that goes with a place of the matrix: its columns if the operand is a row, its rows if
/// it is a column, its only element if it is a scalar.
Place placeOfVector(KernelEmitter &emitter, RankedTensorType vector, const Place &place) {
  if (isColumn(vector))
    return {place.row, emitter.index(0), place.rows, 1, place.rowLimit, {}};
  if (vector.getDimSize(0) == 1)
    return {emitter.index(0), emitter.index(0), 1, 1, {}, {}};
  return {emitter.index(0), place.column, 1, place.columns, {}, place.columnLimit};
}

/// Of scores, tensor<T x H x K>, the head that a place lies in and the first of its keys there.
struct HeadPlace {
  Value head;
  Place place; // of the head alone

  HeadPlace(KernelEmitter &emitter, RankedTensorType scores, const Place &whole) : place(whole) {
    auto &b = emitter.builder();
    Value keys = emitter.index(scores.getDimSize(2));
    head = b.createOrFold<arith::DivUIOp>(whole.column, keys);
    place.column = b.createOrFold<arith::RemUIOp>(whole.column, keys);
  }
};

/// The tile of a rank-1 operand, repeated over the place.
Value repeated(KernelEmitter &emitter, Value vector, const Place &place) {
  Value tile = emitter.evaluate(vector, placeOfVector(emitter, typeOf(vector), place));
  return emitter.broadcast(tile, place.rows, place.columns);
}

/// Uniform numbers in [0, 1) for each element of a place.
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
    return {repeated(emitter, cast<BroadcastOp>(op).getInput(), place)};
  }
};

struct EmbeddingTile : TileOpInterface::ExternalModel<EmbeddingTile, EmbeddingOp> {
  bool readsElsewhere(Operation *, unsigned operand) const { return operand == 1; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto embedding = cast<EmbeddingOp>(op);
    Value rows =
        emitter.evaluate(embedding.getIndices(), placeOfVector(emitter, typeOf(embedding.getIndices()), place));
    RankedTensorType type = emitter.tileType(place.rows, place.columns, typeOf(embedding.getTable()).getElementType());
    return {tile::GatherOp::create(emitter.builder(), type, emitter.memoryOf(embedding.getTable()), rows, place.column,
                                   place.columnLimit)};
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
    // Frequencies are needed once a column, the angle's sine and cosine once an element.
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
    // Box and Muller: a second, independent number gives the angle. 1 - u lies in (0, 1], where the logarithm is
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
    Value first = blend(at(adam.getFirstMoment()), gradient, adam.getBeta1());
    Value second = blend(at(adam.getSecondMoment()), mul(gradient, gradient), adam.getBeta2());
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
      Value before[] = {adam.getWeight(), adam.getFirstMoment(), adam.getSecondMoment(), adam.getAverage()};
      for (auto [value, old] : llvm::zip_first(updated, before))
        value = arith::SelectOp::create(b, counts, value, at(old));
    }
    return updated;
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
    EmbeddingOp::attachInterface<EmbeddingTile>(*context);
    SumPartsOp::attachInterface<SumPartsTile>(*context);
    DensifyOp::attachInterface<DensifyTile>(*context);
    IotaOp::attachInterface<IotaTile>(*context);
    SinusoidOp::attachInterface<SinusoidTile>(*context);
    DropoutOp::attachInterface<DropoutTile>(*context);
    MaskOp::attachInterface<MaskTile>(*context);
    heddle::RandomOp::attachInterface<RandomTile>(*context);
    AdamOp::attachInterface<AdamTile>(*context);
    CrossEntropyGradOp::attachInterface<CrossEntropyGradTile>(*context);
  });
}
