// The building blocks of a kernel's emission: numbers and tiles, memory, loops.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

//===-- Values --------------------------------------------------------------------------------------------------===//

Value KernelEmitter::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value KernelEmitter::mul(Value a, int64_t factor) {
  return factor == 1 ? a : b.createOrFold<arith::MulIOp>(a, index(factor));
}

Value KernelEmitter::add(Value a, Value c) { return b.createOrFold<arith::AddIOp>(a, c); }

Value KernelEmitter::size(StringRef name) {
  Value &value = sizes[name];
  if (!value) {
    (void)func.insertArgument(func.getNumArguments(), b.getIndexType(), {}, b.getLoc());
    value = func.getArgument(func.getNumArguments() - 1);
  }
  return value;
}

Value KernelEmitter::number(int64_t value) {
  auto known = numbers.try_emplace("number_" + std::to_string(value), value).first;
  return arith::IndexCastOp::create(b, b.getI32Type(), size(known->first()));
}

Value KernelEmitter::streamOfHead(int64_t stream, Value head) {
  Value site = arith::ShLIOp::create(b, number(stream + 1), arith::ConstantIntOp::create(b, b.getI32Type(), 16));
  return arith::AddIOp::create(b, site, arith::IndexCastOp::create(b, b.getI32Type(), head));
}

Value KernelEmitter::gumbel(Value uniform) {
  auto type = cast<RankedTensorType>(uniform.getType());
  Value least = constant(type.getDimSize(0), type.getDimSize(1), 0x1p-25); // half of the smallest non-zero number
  auto negativeLog = [&](Value x) -> Value { return arith::NegFOp::create(b, math::LogOp::create(b, x)); };
  return negativeLog(negativeLog(arith::MaximumFOp::create(b, uniform, least)));
}

int64_t KernelEmitter::maximumOf(StringRef size) const {
  auto found = maxima.find(size);
  assert(found != maxima.end() && "the verifier of the tile pass checks that every size is declared");
  return found->second;
}

Value KernelEmitter::rowsOf(const Matrix &matrix) {
  return matrix.isDynamic() ? size(matrix.size) : index(matrix.rows);
}

int64_t KernelEmitter::maximumRows(const Matrix &matrix) const {
  return matrix.isDynamic() ? maximumOf(matrix.size) : matrix.rows;
}

int64_t KernelEmitter::fewestRows(const Matrix &matrix, int64_t subgroups) const {
  return llvm::alignTo(llvm::divideCeil(maximumRows(matrix), profile.limits.workgroups), subgroups);
}

RankedTensorType KernelEmitter::tileType(int64_t rows, int64_t columns, Type element) {
  return RankedTensorType::get({rows, columns}, element ? element : b.getF32Type());
}

Value KernelEmitter::widen(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return isTensorOperand(type) ? arith::ExtFOp::create(b, type.clone(b.getF32Type()), tile).getResult() : tile;
}

Value KernelEmitter::constant(int64_t rows, int64_t columns, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(tileType(rows, columns), b.getF32FloatAttr(value).getValue()));
}

Value KernelEmitter::constantInt(int64_t rows, int64_t columns, int64_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(tileType(rows, columns, b.getI32Type()), b.getI32IntegerAttr(value).getValue()));
}

Value KernelEmitter::broadcast(Value tile, int64_t rows, int64_t columns) {
  auto type = cast<RankedTensorType>(tile.getType());
  RankedTensorType result = tileType(rows, columns, type.getElementType());
  return type == result ? tile : tile::BroadcastOp::create(b, result, tile).getResult();
}

Value KernelEmitter::reduce(tile::Combine combine, Value tile, int64_t dim) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getDimSize(dim) == 1)
    return tile;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  return tile::ReduceOp::create(b, RankedTensorType::get(shape, type.getElementType()), combine, tile, dim);
}

Value KernelEmitter::insideRows(Value tile, const Place &place) {
  if (!place.rowLimit)
    return tile;
  Value limit = tile::SplatOp::create(b, tileType(place.rows, 1, b.getI32Type()),
                                      arith::IndexCastOp::create(b, b.getI32Type(), place.rowLimit));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, indices(place, 0), limit);
  return arith::SelectOp::create(b, broadcast(inside, place.rows, place.columns), tile,
                                 constant(place.rows, place.columns, 0));
}

Value KernelEmitter::indices(const Place &place, int64_t dim) {
  RankedTensorType type =
      dim == 0 ? tileType(place.rows, 1, b.getI32Type()) : tileType(1, place.columns, b.getI32Type());
  return tile::IndexOp::create(b, type, dim == 0 ? place.row : place.column, dim);
}

Value KernelEmitter::inlineRegion(Region &region, ArrayRef<Value> arguments) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(arguments.front().getType()).getShape();
  auto typeOf = [&](Value scalar) { return tileType(shape[0], shape[1], scalar.getType()); };
  IRMapping mapping;
  mapping.map(region.front().getArguments(), arguments);
  for (Operation &inner : region.front().without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      auto value = DenseElementsAttr::get(typeOf(constant), ArrayRef<Attribute>(constant.getValue()));
      mapping.map(constant.getResult(), arith::ConstantOp::create(b, value).getResult());
      continue;
    }
    if (!OpTrait::hasElementwiseMappableTraits(&inner)) {
      fail() << "'" << inner.getName() << "' in a region of attention is not elementwise";
      return arguments.front();
    }
    Operation *clone = b.clone(inner, mapping);
    for (Value value : clone->getResults())
      value.setType(typeOf(value));
  }
  return mapping.lookup(region.front().getTerminator()->getOperand(0));
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

Value KernelEmitter::memoryOf(Value value) {
  Value &known = memory[value];
  if (known)
    return known;
  auto type = cast<RankedTensorType>(value.getType());
  fail() << "an op reads other elements of a " << type << " than its own; make that an input of the kernel";
  auto matrix = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic}, type.getElementType());
  return known = UnrealizedConversionCastOp::create(b, matrix, ValueRange()).getResult(0);
}

Value KernelEmitter::memoryOfResult(Value value) {
  if (Value chosen = memoryOfChosen.lookup(value))
    return chosen;
  Block &body = kernel.getBody().front();
  for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (yielded == value)
      return func.getArgument(body.getNumArguments() + i);
  return {};
}

void KernelEmitter::setMemory(Value value, Value chosen) {
  (isa<BlockArgument>(value) ? memory : memoryOfChosen)[value] = chosen;
}

Value KernelEmitter::load(Value matrix, const Place &place, Padding padding, bool transposed) {
  int64_t rows = transposed ? place.columns : place.rows, columns = transposed ? place.rows : place.columns;
  Type type = tileType(rows, columns, cast<MemRefType>(matrix.getType()).getElementType());
  return tile::LoadOp::create(b, type, matrix, place.row, place.column, place.rowLimit, place.columnLimit,
                              padding == Padding::Any, transposed, /*packed=*/0, /*is_unsigned=*/false, /*repeats=*/1,
                              /*clamped=*/false, place.members, place.apart);
}

Value KernelEmitter::sharedTile(RankedTensorType type, int64_t tiles) {
  bool isPadded = profile.registers == 0; // a thread reads whole rows, one after the other
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  return tile::SharedOp::create(b, tile::getSharedType(type, tiles, isPadded));
}

Value KernelEmitter::evaluateTransposed(Value value, const Place &place, Padding padding) {
  if (isInMemory(value))
    return load(memoryOf(value), place, padding, /*transposed=*/true);
  Value zero = index(0), tile = evaluate(value, place, padding);
  Value memory = sharedTile(cast<RankedTensorType>(tile.getType()));
  tile::StoreOp::create(b, tile, memory, zero, zero);
  return load(memory, {zero, zero, place.rows, place.columns, {}, {}}, Padding::Any, /*transposed=*/true);
}

Value KernelEmitter::isSequence(Value starts, Value sequence, Value condition) {
  auto type = cast<RankedTensorType>(starts.getType());
  if (isInMemory(starts) || type.hasStaticShape())
    return condition;
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, sequence, size(getSizeName(type, 0)));
  return arith::AndIOp::create(b, isThere, condition);
}

void KernelEmitter::prefetch(Value memory, Value row, Value column, int64_t rows, int64_t columns) {
  constexpr int64_t mostLocal = 3;
  auto type = cast<MemRefType>(memory.getType());
  int64_t line = 512 / type.getElementTypeBitWidth();
  if (columns == type.getDimSize(1)) // whole rows lie one behind the other
    columns *= rows, rows = 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t first = 0; first < columns; first += line)
      memref::PrefetchOp::create(b, memory, ValueRange{add(row, index(i)), add(column, index(first))},
                                 /*isWrite=*/false, mostLocal, /*isDataCache=*/true);
}

Value KernelEmitter::onlyElement(Value tile) {
  Value memory = sharedTile(cast<RankedTensorType>(tile.getType())), zero = index(0);
  tile::StoreOp::create(b, tile, memory, zero, zero);
  return memref::LoadOp::create(b, memory, ValueRange{zero, zero});
}

Value KernelEmitter::loadIndex(Value value, Value position) {
  if (value.getDefiningOp<IotaOp>())
    return position;
  if (auto fill = value.getDefiningOp<FillOp>())
    return index(cast<IntegerAttr>(fill.getValue()).getInt());
  auto type = cast<RankedTensorType>(value.getType());
  bool isRow = type.getRank() == 1 && type.hasStaticShape();
  SmallVector<Value, 2> place{isRow ? index(0) : position, isRow ? position : index(0)};
  Value scalar = memref::LoadOp::create(b, memoryOf(value), place);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), scalar);
}

Value KernelEmitter::loadScalar(Value value, Value position) {
  return memref::LoadOp::create(b, memoryOf(value), ValueRange{index(0), position});
}

//===-- Sums over rows on the way -------------------------------------------------------------------------------===//

SmallVector<PartialSumsOp> KernelEmitter::partialSums() {
  return llvm::to_vector(kernel.getBody().front().getOps<PartialSumsOp>());
}

void KernelEmitter::sumRows(PartialSumsOp sums, Value rows, Value row, Value from) {
  rowSums.push_back({sums, rows, row, from});
}

Value KernelEmitter::addRows(Value shared, int64_t rows, int64_t columns) {
  Value sum;
  for (int64_t row = 0; row < rows; ++row) {
    Value part = load(shared, {index(row), index(0), 1, columns, {}, {}}, Padding::Any);
    sum = sum ? arith::AddFOp::create(b, sum, part).getResult() : part;
  }
  return sum;
}

//===-- Loops ---------------------------------------------------------------------------------------------------===//

int64_t KernelEmitter::stepFor(int64_t maximum, int64_t step, int64_t loops) const {
  if (!profile.limits.loopTrips)
    return step;
  // Beyond a few dozen times the step a larger body costs more than it is worth. `emit` then refuses the kernel.
  int64_t result = step;
  while (static_cast<int64_t>(llvm::divideCeil(maximum, result)) * loops > profile.limits.loopTrips &&
         result < 32 * step)
    result += step;
  return result;
}

SmallVector<Value> KernelEmitter::loop(Value begin, Value end, int64_t step, int64_t maximum, ValueRange state,
                                       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  // A nested loop runs once for each iteration of the loop around it.
  int64_t outerRepeats = repeats;
  repeats *= llvm::divideCeil(maximum, step);
  trips += repeats;
  auto forOp = scf::ForOp::create(b, begin, end, index(step), state);
  OpBuilder::InsertionGuard guard(b);
  if (forOp.getBody()->mightHaveTerminator())
    forOp.getBody()->getTerminator()->erase();
  b.setInsertionPointToEnd(forOp.getBody());
  SmallVector<Value> next = body(forOp.getInductionVar(), forOp.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  repeats = outerRepeats;
  return llvm::to_vector_of<Value>(forOp.getResults());
}

void KernelEmitter::loop(Value begin, Value end, int64_t step, int64_t maximum, function_ref<void(Value)> body) {
  loop(begin, end, step, maximum, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
    body(i);
    return {};
  });
}
