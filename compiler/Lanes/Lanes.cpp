#include "compiler/Lanes/Lanes.h"

#include "compiler/Lanes/Warpgroups.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace mlir::heddle;

bool heddle::keepsElements(RankedTensorType a, RankedTensorType b) {
  return a.getEncoding() == b.getEncoding() ||
         (tile::getLayout(a) && tile::getLayout(b) && tile::getDistribution(a, 0) == tile::getDistribution(b, 0) &&
          tile::getDistribution(a, 1) == tile::getDistribution(b, 1));
}

bool heddle::isOfWorkgroup(tile::ReduceOp op, const tile::Distribution &reduced) {
  auto workgroup = static_cast<int64_t>(op->getParentOfType<tile::FuncOp>().getWorkgroup());
  return op.getDim() == 1 && reduced.stride == 1 && reduced.lanes == workgroup;
}

int64_t heddle::columnsOfRun(RankedTensorType tile) {
  if (auto layout = tile::getLayout<tile::CooperativeAttr>(tile))
    return layout.getSide();
  return tile::getDistribution(tile, 1).width();
}

int64_t heddle::exchangingLanes(tile::FuncOp kernel) {
  return static_cast<int64_t>(kernel.getSubgroup().value_or(kernel.getWorkgroup()));
}

Value heddle::findWarpgroup(ImplicitLocOpBuilder &b, Value lane, int64_t workgroup) {
  constexpr int64_t lanes = 4 * tile::FragmentAttr::kLanes;
  if (workgroup == lanes)
    return arith::ConstantIndexOp::create(b, 0);
  Value own = arith::DivUIOp::create(b, lane, arith::ConstantIndexOp::create(b, lanes));
  Value word = arith::IndexCastUIOp::create(b, b.getI32Type(), own);
  Value first = gpu::ShuffleOp::create(b, word, /*offset=*/0, static_cast<int32_t>(tile::FragmentAttr::kLanes),
                                       gpu::ShuffleMode::IDX)
                    .getShuffleResult();
  return arith::IndexCastUIOp::create(b, b.getIndexType(), first);
}

Lanes::Lanes(tile::FuncOp kernel)
    : workgroup(kernel.getWorkgroup()), exchanging(exchangingLanes(kernel)),
      copies(tile::contains<tile::CopyOp>(kernel)) {
  LaneBuilder b(kernel.getLoc(), OpBuilder::atBlockBegin(&kernel.getBody().front()));
  lane = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  if (tile::contains<tile::WarpgroupDotOp>(kernel))
    ownWarpgroup = findWarpgroup(b, lane, workgroup);
  auto addCoordinates = [&](Type type) {
    if (!tile::getLayout(type))
      return;
    for (int dim : {0, 1}) {
      tile::Distribution distribution = tile::getDistribution(cast<RankedTensorType>(type), dim);
      if (distribution.lanes == 1)
        continue;
      Value &coordinate = coordinates[{distribution.lanes, distribution.stride}];
      if (coordinate)
        continue;
      coordinate = lane;
      if (distribution.stride != 1)
        coordinate = arith::DivUIOp::create(b, coordinate, b.index(distribution.stride));
      if (distribution.stride * distribution.lanes < workgroup)
        coordinate = arith::RemUIOp::create(b, coordinate, b.index(distribution.lanes));
    }
  };
  kernel.getBody().walk([&](Operation *op) { llvm::for_each(op->getResultTypes(), addCoordinates); });
}

Value Lanes::coordinate(const tile::Distribution &distribution) const {
  return distribution.lanes == 1 ? Value() : coordinates.lookup({distribution.lanes, distribution.stride});
}

Value LaneBuilder::constant(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = isa<FloatType>(element) ? TypedAttr(getFloatAttr(element, static_cast<double>(value)))
                                                : TypedAttr(getIntegerAttr(element, value));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute));
  return arith::ConstantOp::create(*this, attribute);
}

Value LaneBuilder::add(Value base, int64_t offset) {
  return offset == 0 ? base : createOrFold<arith::AddIOp>(base, index(offset));
}

Value LaneBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  if (a.getType() != b.getType()) {
    Type wide = isa<VectorType>(a.getType()) ? a.getType() : b.getType();
    a = splat(wide, a);
    b = splat(wide, b);
  }
  return createOrFold<arith::AndIOp>(a, b);
}

Value LaneBuilder::splat(Type type, Value scalar) {
  return scalar.getType() == type ? scalar : vector::BroadcastOp::create(*this, type, scalar).getResult();
}

Value LaneBuilder::extract(Value value, int64_t position) {
  return isa<VectorType>(value.getType()) ? vector::ExtractOp::create(*this, value, position).getResult() : value;
}

Value LaneBuilder::assemble(Type type, ArrayRef<Value> elements) {
  if (!isa<VectorType>(type))
    return elements.front();
  return vector::FromElementsOp::create(*this, cast<VectorType>(type), elements);
}

Type heddle::getRegisterType(RankedTensorType tile) {
  if (auto layout = tile::getLayout<tile::CooperativeAttr>(tile)) {
    constexpr StringLiteral operands[] = {"AOp", "BOp", "COp"}; // of MatrixUse
    return gpu::MMAMatrixType::get({layout.getSide(), layout.getSide()}, tile.getElementType(),
                                   operands[static_cast<size_t>(layout.getUse())]);
  }
  int64_t vector = tile::getLaneShape(tile).vector;
  return vector == 1 ? tile.getElementType() : VectorType::get({vector}, tile.getElementType());
}

/// Returns the first index that the lane holds, given the tile's first index.
static Value firstOf(LaneBuilder &b, const Lanes &lanes, const tile::Distribution &distribution, Value first) {
  Value own = lanes.coordinate(distribution);
  if (!own)
    return first;
  if (distribution.pieces > 1) {
    constexpr int64_t piece = tile::Distribution::kPiece;
    Value before = arith::DivUIOp::create(b, own, b.index(piece));
    own = arith::AddIOp::create(b, own, b.scaled(before, (distribution.pieces - 1) * piece));
  }
  if (distribution.unit != 1)
    own = arith::MulIOp::create(b, own, b.index(distribution.unit));
  return b.createOrFold<arith::AddIOp>(first, own);
}

LanePlace::LanePlace(LaneBuilder &b, const Lanes &lanes, RankedTensorType tile, Value row, Value column)
    : rows(tile::getDistribution(tile, 0)), columns(tile::getDistribution(tile, 1)),
      firstRow(firstOf(b, lanes, rows, row)), firstColumn(firstOf(b, lanes, columns, column)) {}

static Value shuffle(LaneBuilder &b, Value x, Value y, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(b, x, y, mask);
}

Value heddle::shuffleGroups(LaneBuilder &b, Value x, Value y, ArrayRef<int64_t> places) {
  auto group = static_cast<int64_t>(places.size());
  int64_t size = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> mask;
  for (int64_t first = 0; first < size; first += group)
    for (int64_t place : places)
      mask.push_back(place < group ? first + place : size + first + place - group);
  return shuffle(b, x, y, mask);
}

SmallVector<Value> heddle::transposeSquare(LaneBuilder &b, ArrayRef<Value> rows) {
  auto size = static_cast<int64_t>(rows.size());
  constexpr int64_t group = 4; // f32 in 128 bits
  auto withinGroups = [&](Value x, Value y, ArrayRef<int64_t> of) { return shuffleGroups(b, x, y, of); };
  // parts[c][g] holds columns c, c + 4, ... of rows 4 g to 4 g + 3.
  SmallVector<SmallVector<Value>> parts(group);
  for (int64_t first = 0; first < size; first += group) {
    Value low[2], high[2];
    for (int64_t pair : {0, 1}) {
      Value x = rows[first + 2 * pair], y = rows[first + 2 * pair + 1];
      low[pair] = withinGroups(x, y, {0, 4, 1, 5}), high[pair] = withinGroups(x, y, {2, 6, 3, 7});
    }
    parts[0].push_back(withinGroups(low[0], low[1], {0, 1, 4, 5}));
    parts[1].push_back(withinGroups(low[0], low[1], {2, 3, 6, 7}));
    parts[2].push_back(withinGroups(high[0], high[1], {0, 1, 4, 5}));
    parts[3].push_back(withinGroups(high[0], high[1], {2, 3, 6, 7}));
  }
  auto groupsOf = [&](Value x, Value y, ArrayRef<int64_t> groups) {
    SmallVector<int64_t> mask;
    for (int64_t number : groups)
      for (int64_t place = 0; place < group; ++place)
        mask.push_back(number * group + place);
    return shuffle(b, x, y, mask);
  };
  SmallVector<Value> columns(size);
  for (int64_t column = 0; column < group; ++column) {
    ArrayRef<Value> part = parts[column];
    if (size == group) {
      columns[column] = part[0];
    } else if (size == 2 * group) {
      columns[column] = groupsOf(part[0], part[1], {0, 2});
      columns[column + group] = groupsOf(part[0], part[1], {1, 3});
    } else {
      for (int64_t first : {0, 2}) {
        Value upper = groupsOf(part[0], part[1], {first, first + 1, first + 4, first + 5});
        Value lower = groupsOf(part[2], part[3], {first, first + 1, first + 4, first + 5});
        columns[column + group * first] = groupsOf(upper, lower, {0, 2, 4, 6});
        columns[column + group * (first + 1)] = groupsOf(upper, lower, {1, 3, 5, 7});
      }
    }
  }
  return columns;
}
