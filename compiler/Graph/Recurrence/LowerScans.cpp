#include "compiler/Graph/Recurrence/Passes.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERSCANSPASS
#include "compiler/Graph/Recurrence/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The step order of the tokens of some sequences.
struct Order {
  Value starts, counts;  // each step's first row, and its number of rows
  Value rank, sequences; // each sequence's rank by falling length, and the sequence of each rank
  Value places, tokens;  // each token's index in step order, and the token at each index
};

class Lowering {
public:
  Lowering(func::FuncOp function, const SizeMaxima &maxima) : function(function), maxima(maxima) {}

  void run() {
    for (auto scan : llvm::make_early_inc_range(function.getBody().front().getOps<ScanOp>()))
      lower(scan);
    multiplyInOrderOfSteps();
  }

private:
  void lower(ScanOp scan);
  const Order &orderOf(ScanOp scan);
  Value gather(OpBuilder &builder, Location where, Value indices, Value table);
  void multiplyInOrderOfSteps();

  func::FuncOp function;
  const SizeMaxima &maxima;
  /// By starts, lengths and the name of the tokens' size.
  llvm::MapVector<std::tuple<Value, Value, StringRef>, Order> orders;
  /// Outputs of scans in token order -> the same in step order.
  DenseMap<Value, Value> inOrder;
};

class LowerScansPass : public mlir::heddle::impl::LowerScansPassBase<LowerScansPass> {
public:
  void runOnOperation() override {
    SizeMaxima maxima = getSizeMaxima(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Lowering(function, maxima).run();
  }
};

} // namespace

/// The rows of `table` at `indices`.
Value Lowering::gather(OpBuilder &builder, Location where, Value indices, Value table) {
  SmallVector<DimOf> dims{{typeOf(indices), 0}};
  for (int64_t dim = 1; dim < typeOf(table).getRank(); ++dim)
    dims.push_back({typeOf(table), dim});
  RankedTensorType type = getTypeOfDims(dims, typeOf(table).getElementType());
  return EmbeddingOp::create(builder, where, type, indices, table);
}

const Order &Lowering::orderOf(ScanOp scan) {
  RankedTensorType rows = typeOf(scan.getRows().front()), sequences = typeOf(scan.getLengths());
  auto [known, isNew] = orders.insert({{scan.getStarts(), scan.getLengths(), getSizeName(rows, 0)}, {}});
  Order &order = known->second;
  if (!isNew)
    return order;
  OpBuilder b(scan);
  Location where = scan.getLoc();
  Value starts = scan.getStarts(), lengths = scan.getLengths();
  RankedTensorType tokens = getDimType(rows, 0, b.getI32Type());
  auto steps = RankedTensorType::get({maxima.lookup(scan.getRowSize())}, b.getI32Type());
  auto sizes = StepSizesOp::create(b, where, steps, steps, lengths, getSizeName(rows, 0));
  order.starts = sizes.getStarts();
  order.counts = sizes.getCounts();
  order.rank = RankOp::create(b, where, sequences, lengths);
  order.sequences = FindFirstOp::create(b, where, sequences, order.rank);
  auto located = LocateOp::create(b, where, tokens, tokens, starts, lengths, scan.getRowSize());
  auto places = StepOrderOp::create(b, where, tokens, tokens, located.getPosition(), located.getSequence(),
                                    order.starts, order.rank, order.sequences, starts);
  order.places = places.getPlaces();
  order.tokens = places.getRows();
  return order;
}

void Lowering::lower(ScanOp scan) {
  Order order = orderOf(scan);
  OpBuilder b(scan);
  Location where = scan.getLoc();
  auto yield = cast<YieldOp>(scan.getBody().front().getTerminator());
  size_t states = scan.getStates().size();
  auto isKept = [&](size_t state) { return yield.getOperand(state) == scan.getStateArguments()[state]; };

  // The repetition carries the states that change, sorted by rank, and the memory of the outputs. Its constants are the
  // rows, the states that do not change, and the scan's constants.
  SmallVector<Value> carried, constants;
  SmallVector<std::optional<size_t>> placeOfState(states);
  SmallVector<Value> sorted;
  for (auto [i, state] : llvm::enumerate(scan.getStates())) {
    bool isFilled = isa_and_nonnull<FillOp>(state.getDefiningOp());
    sorted.push_back(isFilled ? state : gather(b, where, order.sequences, state));
    if (isKept(i))
      continue;
    if (isFilled) // each state needs memory of its own
      sorted.back() = b.clone(*state.getDefiningOp())->getResult(0);
    placeOfState[i] = carried.size();
    carried.push_back(sorted.back());
  }
  size_t changing = carried.size();
  for (Value output : scan.getOutputs())
    carried.push_back(EmptyOp::create(b, where, output.getType()));
  llvm::MapVector<Value, size_t> placeOfConstant;
  auto constant = [&](Value value) {
    auto [known, isNew] = placeOfConstant.insert({value, constants.size()});
    if (isNew)
      constants.push_back(value);
    return known->second;
  };
  for (auto [i, state] : llvm::enumerate(sorted))
    if (isKept(i))
      constant(state);
  for (Value rows : scan.getRows()) {
    Value known = inOrder.lookup(rows);
    constant(known ? known : rows);
    if (!known)
      constant(order.tokens);
  }
  for (Value value : scan.getConstants())
    constant(value);

  auto repeat = RepeatOp::create(b, where, ValueRange(carried).getTypes(), carried, constants, order.starts,
                                 order.counts, scan.getRowSize(), scan.getStep(),
                                 getSizeName(typeOf(scan.getRows().front()), 0), scan.getReverse());
  Block *block = b.createBlock(&repeat.getBody());
  Value start = block->addArgument(RankedTensorType::get({1}, b.getI32Type()), where);
  for (Value value : carried)
    block->addArgument(value.getType(), value.getLoc());
  for (Value value : constants)
    block->addArgument(value.getType(), value.getLoc());
  auto carriedArgument = [&](size_t i) -> Value { return block->getArgument(1 + i); };
  auto constantArgument = [&](Value value) -> Value {
    return block->getArgument(1 + carried.size() + placeOfConstant.lookup(value));
  };

  IRMapping mapping;
  Value tokens; // the tokens of this step
  for (auto [rows, argument] : llvm::zip_equal(scan.getRows(), scan.getRowArguments())) {
    if (Value known = inOrder.lookup(rows)) {
      mapping.map(argument,
                  StepRowsOp::create(b, where, argument.getType(), constantArgument(known), start).getResult());
      continue;
    }
    if (!tokens) {
      Type type = getDimType(cast<RankedTensorType>(argument.getType()), 0, b.getI32Type());
      tokens = StepRowsOp::create(b, where, type, constantArgument(order.tokens), start);
    }
    mapping.map(argument, gather(b, where, tokens, constantArgument(rows)));
  }
  for (auto [i, argument] : llvm::enumerate(scan.getStateArguments())) {
    Value whole = placeOfState[i] ? carriedArgument(*placeOfState[i]) : constantArgument(sorted[i]);
    mapping.map(argument, SliceOp::create(b, where, argument.getType(), whole, 0).getResult());
  }
  for (auto [value, argument] : llvm::zip_equal(scan.getConstants(), scan.getConstantArguments()))
    mapping.map(argument, constantArgument(value));
  for (Operation &op : scan.getBody().front().without_terminator()) {
    Operation *clone = b.clone(op, mapping);
    // A mask without a region ignores positions. Passing zeros saves the kernel an argument.
    if (auto mask = dyn_cast<MaskOp>(clone); mask && mask.getMask().empty()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(mask);
      mask.getPositionMutable().assign(FillOp::create(b, where, mask.getPosition().getType(), b.getI32IntegerAttr(0)));
    }
  }
  SmallVector<Value> next(carried.size());
  for (size_t i = 0; i < states; ++i)
    if (placeOfState[i])
      next[*placeOfState[i]] =
          ReplaceFirstOp::create(b, where, carried[*placeOfState[i]].getType(), mapping.lookup(yield.getOperand(i)),
                                 carriedArgument(*placeOfState[i]));
  for (size_t i = 0; i < scan.getOutputs().size(); ++i)
    next[changing + i] =
        InsertRowsOp::create(b, where, carried[changing + i].getType(), mapping.lookup(yield.getOperand(states + i)),
                             carriedArgument(changing + i), start);
  YieldOp::create(b, where, next);

  b.setInsertionPoint(scan);
  for (auto [i, last] : llvm::enumerate(scan.getLast())) {
    if (last.use_empty())
      continue;
    Value whole = scan.getStates()[i];
    if (placeOfState[i])
      whole = gather(b, where, order.rank, repeat.getResult(*placeOfState[i]));
    last.replaceAllUsesWith(whole);
  }
  for (auto [i, output] : llvm::enumerate(scan.getOutputs())) {
    if (output.use_empty())
      continue;
    Value result = repeat.getResult(changing + i), perToken = gather(b, where, order.places, result);
    inOrder[perToken] = result;
    output.replaceAllUsesWith(perToken);
  }
  scan.erase();
}

/// A sum over tokens does not depend on their order. Matmuls that contract over tokens, and sums of rows, therefore
/// read the outputs of scans directly in step order.
void Lowering::multiplyInOrderOfSteps() {
  for (Operation &op : function.getBody().front()) {
    if (auto product = dyn_cast<MatmulOp>(op)) {
      auto lhs = product.getLhs().getDefiningOp<EmbeddingOp>(), rhs = product.getRhs().getDefiningOp<EmbeddingOp>();
      if (!product.getTransposeLhs() || product.getTransposeRhs() || !lhs || !rhs ||
          lhs.getIndices() != rhs.getIndices())
        continue;
      if (Value a = inOrder.lookup(lhs), b = inOrder.lookup(rhs); a && b)
        op.setOperands({a, b});
    } else if (auto sum = dyn_cast<SumOp>(op); sum && !sum.getColumns()) {
      if (Value rows = inOrder.lookup(sum.getInput()))
        op.setOperand(0, rows);
    }
  }
}
