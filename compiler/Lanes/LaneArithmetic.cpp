// Lowers elementwise ops, constants, indices, broadcasts and reductions to one lane.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Emits the same op for each register. Scalar operands (the condition of a select) serve all registers.
struct LowerElementwise : ConversionPattern {
  LowerElementwise(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumRegions() != 0)
      return failure();
    SmallVector<SmallVector<Value>> results(op->getNumResults());
    int64_t count = tile::getLaneShape(cast<RankedTensorType>(op->getResult(0).getType())).count();
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(getRegisterType(cast<RankedTensorType>(type)));
    for (int64_t k = 0; k < count; ++k) {
      SmallVector<Value> inputs;
      for (auto [operand, values] : llvm::zip(op->getOperands(), operands))
        inputs.push_back(isa<RankedTensorType>(operand.getType()) ? values[k] : values.front());
      Operation *clone =
          Operation::create(op->getLoc(), op->getName(), types, inputs, op->getDiscardableAttrDictionary(),
                            op->getPropertiesStorage(), /*successors=*/{}, /*numRegions=*/0);
      rewriter.insert(clone);
      for (auto [result, value] : llvm::zip(results, clone->getResults()))
        result.push_back(value);
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

Lowered lowerConstant(LaneBuilder &b, const Lanes &, arith::ConstantOp op, RegistersOf<arith::ConstantOp>) {
  auto tile = cast<RankedTensorType>(op.getType());
  auto elements = cast<DenseElementsAttr>(op.getValue());
  auto vector = dyn_cast<VectorType>(getRegisterType(tile));
  int64_t count = tile::getLaneShape(tile).count();
  auto constant = [&](ArrayRef<Attribute> values) -> Value {
    auto attribute = vector ? TypedAttr(DenseElementsAttr::get(vector, values)) : cast<TypedAttr>(values.front());
    return arith::ConstantOp::create(b, attribute);
  };
  SmallVector<Value> registers;
  if (elements.isSplat()) {
    registers.assign(count, constant(elements.getSplatValue<Attribute>()));
  } else { // every lane has the whole tile, row by row
    SmallVector<Attribute> values = llvm::to_vector(elements.getValues<Attribute>());
    size_t ofRegister = values.size() / count;
    for (size_t first = 0; first < values.size(); first += ofRegister)
      registers.push_back(constant(ArrayRef(values).slice(first, ofRegister)));
  }
  return registers;
}

Lowered lowerSplat(LaneBuilder &b, const Lanes &, tile::SplatOp op, RegistersOf<tile::SplatOp>) {
  Value value = b.splat(getRegisterType(op.getType()), op.getInput());
  return SmallVector<Value>(tile::getLaneShape(op.getType()).count(), value);
}

Lowered lowerIndex(LaneBuilder &b, const Lanes &lanes, tile::IndexOp op, RegistersOf<tile::IndexOp>) {
  Type type = getRegisterType(op.getType());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  bool rows = op.getDim() == 0;
  Value zero = b.index(0);
  LanePlace place(b, lanes, op.getType(), rows ? op.getBase() : zero, rows ? zero : op.getBase());
  auto number = [&](Value index) -> Value { return arith::IndexCastOp::create(b, b.getI32Type(), index); };
  SmallVector<Value> alongRow;
  if (!rows)
    for (int64_t run = 0; run < shape.runs; ++run) {
      if (auto vector = dyn_cast<VectorType>(type); vector && lanes.count() == 1) { // a thread's columns are adjacent
        Value first = b.splat(type, number(place.column(b, run, 0)));
        SmallVector<int32_t> steps = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(shape.vector)));
        Value next = arith::ConstantOp::create(b, DenseElementsAttr::get(vector, ArrayRef(steps)));
        alongRow.push_back(arith::AddIOp::create(b, first, next));
        continue;
      }
      SmallVector<Value> elements;
      for (int64_t element = 0; element < shape.vector; ++element)
        elements.push_back(number(place.column(b, run, element)));
      alongRow.push_back(b.assemble(type, elements));
    }
  SmallVector<Value> registers;
  for (int64_t i = 0; i < shape.rows; ++i) {
    if (rows)
      alongRow.assign(shape.runs, b.splat(type, number(place.row(b, i))));
    llvm::append_range(registers, alongRow);
  }
  return registers;
}

Lowered lowerBroadcast(LaneBuilder &b, const Lanes &, tile::BroadcastOp op, RegistersOf<tile::BroadcastOp> adaptor) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  Registers from(input, adaptor.getInput());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  Type type = getRegisterType(op.getType());
  // One splat per input register, not one per register of the result.
  SmallVector<Value> inputs;
  for (Value value : from.values)
    inputs.push_back(b.splat(type, value));
  Registers repeated(input, inputs);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < shape.rows; ++i)
    for (int64_t run = 0; run < shape.runs; ++run)
      registers.push_back(repeated.at(input.getDimSize(0) == 1 ? 0 : i, input.getDimSize(1) == 1 ? 0 : run));
  return registers;
}

Lowered lowerColumns(LaneBuilder &b, const Lanes &, tile::ColumnsOp op, RegistersOf<tile::ColumnsOp> adaptor) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  Registers from(input, adaptor.getInput());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  int64_t first = static_cast<int64_t>(op.getFrom()) / columnsOfRun(input);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < shape.rows; ++i)
    for (int64_t run = 0; run < shape.runs; ++run)
      registers.push_back(from.at(i, first + run));
  return registers;
}

Lowered lowerSwap(LaneBuilder &b, const Lanes &, tile::SwapOp op, RegistersOf<tile::SwapOp> adaptor) {
  Registers from(op.getType(), adaptor.getInput());
  SmallVector<Value> registers;
  for (int64_t i = 0; i < from.shape.rows; ++i)
    for (int64_t run = 0; run < from.shape.runs; ++run) {
      SmallVector<Value> elements;
      for (int64_t element = 0; element < from.shape.vector; ++element)
        elements.push_back(b.extract(from.at(i, run), element ^ 1));
      registers.push_back(b.assemble(getRegisterType(op.getType()), elements));
    }
  return registers;
}

/// Each lane keeps its elements, perhaps in registers of another width.
Lowered lowerConversion(LaneBuilder &b, const Lanes &, tile::ConvertLayoutOp op,
                        RegistersOf<tile::ConvertLayoutOp> adaptor) {
  Registers from(cast<RankedTensorType>(op.getInput().getType()), adaptor.getInput());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  SmallVector<Value> registers(from.values);
  if (shape.vector != from.shape.vector) {
    registers.clear();
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t run = 0; run < shape.runs; ++run) {
        SmallVector<Value> elements;
        for (int64_t element = 0; element < shape.vector; ++element)
          elements.push_back(from.element(b, i, run * shape.vector + element));
        registers.push_back(b.assemble(getRegisterType(op.getType()), elements));
      }
  }
  return registers;
}

Value combine(LaneBuilder &b, tile::ReduceOp op, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (op.getCombine()) {
  case tile::Combine::Sum:
    return isFloat ? arith::AddFOp::create(b, x, y).getResult() : arith::AddIOp::create(b, x, y).getResult();
  case tile::Combine::Max:
    return isFloat ? arith::MaxNumFOp::create(b, x, y, arith::FastMathFlags::nnan).getResult()
                   : arith::MaxSIOp::create(b, x, y).getResult();
  case tile::Combine::Min:
    return isFloat ? arith::MinNumFOp::create(b, x, y, arith::FastMathFlags::nnan).getResult()
                   : arith::MinSIOp::create(b, x, y).getResult();
  }
  llvm_unreachable("a reduction combines in one of three ways");
}

/// Combines pairs of neighbours first: chains of dependent ops are short, and a sum's error grows only with the
/// logarithm of the number of summands.
Value combineAll(LaneBuilder &b, tile::ReduceOp op, ValueRange values) {
  SmallVector<Value> level(values);
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2)
      next.push_back(combine(b, op, level[i], level[i + 1]));
    if (level.size() % 2)
      next.push_back(level.back());
    level = std::move(next);
  }
  return level.front();
}

/// Rows whose reductions share shuffles: as many as 128 bits have elements, because shuffles within 128 bits are the
/// cheapest.
constexpr int64_t kRowsTogether = 4;

/// Combines each row's elements, for four rows at once. The last rows are repeated if there are fewer, so that a row's
/// result does not depend on the rows beside it.
SmallVector<Value> combineRows(LaneBuilder &b, tile::ReduceOp op, ArrayRef<Value> rows) {
  // From here on element i of a vector is a part of row i % 4.
  auto pair = [&](Value x, Value y) {
    return combine(b, op, shuffleGroups(b, x, y, {0, 4, 1, 5}), shuffleGroups(b, x, y, {2, 6, 3, 7}));
  };
  SmallVector<Value> results;
  for (size_t first = 0; first < rows.size(); first += kRowsTogether) {
    auto row = [&](size_t i) { return rows[std::min(first + i, rows.size() - 1)]; };
    Value low = pair(row(0), row(1)), high = first + 2 < rows.size() ? pair(row(2), row(3)) : low;
    Value all = combine(b, op, shuffleGroups(b, low, high, {0, 1, 4, 5}), shuffleGroups(b, low, high, {2, 3, 6, 7}));
    for (int64_t half = cast<VectorType>(all.getType()).getNumElements() / 2; half >= kRowsTogether; half /= 2) {
      SmallVector<int64_t> left = llvm::to_vector(llvm::seq<int64_t>(0, half)),
                           right = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
      all = combine(b, op, vector::ShuffleOp::create(b, all, all, left), vector::ShuffleOp::create(b, all, all, right));
    }
    for (size_t i = 0; i < std::min<size_t>(kRowsTogether, rows.size() - first); ++i)
      results.push_back(b.extract(all, static_cast<int64_t>(i)));
  }
  return results;
}

/// Each subgroup writes its part to shared memory, and every lane combines all parts.
Value acrossSubgroups(LaneBuilder &b, const Lanes &lanes, tile::ReduceOp op, Value value) {
  int64_t subgroups = lanes.count() / lanes.subgroup();
  Value memory, zero = b.index(0), lanesOfOne = b.index(lanes.subgroup());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&op->getParentOfType<tile::FuncOp>().getBody().front());
    memory = tile::SharedOp::create(b, tile::getSharedType(RankedTensorType::get({1, subgroups}, value.getType()),
                                                           /*tiles=*/1, /*isPadded=*/false));
  }
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::RemUIOp::create(b, lanes.number(), lanesOfOne), zero);
  {
    OpBuilder::InsertionGuard guard(b);
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    b.setInsertionPoint(branch.thenYield());
    Value subgroup = arith::DivUIOp::create(b, lanes.number(), lanesOfOne);
    memref::StoreOp::create(b, value, memory, ValueRange{zero, subgroup});
  }
  gpu::BarrierOp::create(b);
  SmallVector<Value> parts;
  for (int64_t subgroup = 0; subgroup < subgroups; ++subgroup)
    parts.push_back(memref::LoadOp::create(b, memory, ValueRange{zero, b.index(subgroup)}));
  gpu::BarrierOp::create(b); // before the memory is written again
  return combineAll(b, op, parts);
}

/// A butterfly over the lanes that share the reduced dimension. Each lane ends with the whole result, or with its
/// subgroup's part, which `acrossSubgroups` then combines unless each subgroup has a result.
Value acrossLanes(LaneBuilder &b, const Lanes &lanes, tile::ReduceOp op, Value value,
                  const tile::Distribution &distribution) {
  auto width = static_cast<uint32_t>(lanes.subgroup());
  int64_t exchanging = std::min(distribution.lanes, lanes.subgroup() / distribution.stride);
  for (int64_t distance = 1; distance < exchanging; distance *= 2) {
    auto offset = static_cast<int32_t>(distance * distribution.stride);
    SmallVector<Value> elements;
    auto vector = dyn_cast<VectorType>(value.getType());
    for (int64_t element = 0; element < (vector ? vector.getNumElements() : 1); ++element)
      elements.push_back(gpu::ShuffleOp::create(b, b.extract(value, element), offset, width, gpu::ShuffleMode::XOR)
                             .getShuffleResult());
    value = combine(b, op, value, b.assemble(value.getType(), elements));
  }
  return exchanging < distribution.lanes && !isOfSubgroups(op) ? acrossSubgroups(b, lanes, op, value) : value;
}

Lowered lowerReduce(LaneBuilder &b, const Lanes &lanes, tile::ReduceOp op, RegistersOf<tile::ReduceOp> adaptor) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  Registers from(input, adaptor.getInput());
  tile::Distribution distribution = tile::getDistribution(input, op.getDim());
  SmallVector<Value> results;
  if (op.getDim() == 0) {
    for (int64_t run = 0; run < from.shape.runs; ++run) {
      SmallVector<Value> column;
      for (int64_t i = 0; i < from.shape.rows; ++i)
        column.push_back(from.at(i, run));
      results.push_back(acrossLanes(b, lanes, op, combineAll(b, op, column), distribution));
    }
  } else {
    bool areTogether = lanes.count() == 1 && from.shape.vector % kRowsTogether == 0;
    SmallVector<Value> rows;
    for (int64_t i = 0; i < from.shape.rows; ++i) {
      Value row = combineAll(b, op, from.values.slice(i * from.shape.runs, from.shape.runs));
      if (areTogether) {
        rows.push_back(row);
        continue;
      }
      SmallVector<Value> elements;
      for (int64_t element = 0; element < from.shape.vector; ++element)
        elements.push_back(b.extract(row, element));
      results.push_back(acrossLanes(b, lanes, op, combineAll(b, op, elements), distribution));
    }
    if (areTogether)
      results = combineRows(b, op, rows);
  }
  return results;
}

} // namespace

void heddle::populateLaneArithmeticPatterns(const TypeConverter &converter, const Lanes &lanes,
                                            RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerConstant, lowerSplat, lowerIndex, lowerBroadcast,
               lowerColumns, lowerSwap, lowerConversion, lowerReduce);
  patterns.add<LowerElementwise>(converter, patterns.getContext());
}
