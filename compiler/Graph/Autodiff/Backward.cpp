#include "compiler/Graph/Autodiff/Backward.h"

#include "compiler/Analysis/Locations/Locations.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::heddle;

/// A matrix that holds the sums of rows by their indices, and zeros elsewhere.
struct SumOfRows {
  Location loc;
  Value indices, rows;
};

/// Returns the sums that `value` is made of, the last one first. Returns none if it contains anything else.
static SmallVector<SumOfRows> getSumsOfRows(Value value) {
  SmallVector<SumOfRows> sums;
  while (auto scatter = value.getDefiningOp<ScatterAddOp>()) {
    sums.push_back({scatter.getLoc(), scatter.getIndices(), scatter.getRows()});
    value = scatter.getDestination();
  }
  auto dense = value.getDefiningOp<DensifyOp>();
  auto sum = dense ? dense.getRows().getDefiningOp<SumEqualOp>() : SumEqualOp();
  if (!sum || sum.getFirst() != dense.getPlaces())
    return {};
  sums.push_back({sum.getLoc(), sum.getIndices(), sum.getRows()});
  return sums;
}

/// Columns of a joined matrix, or rows of a concatenated one: a value, or zeros, which can be cut anywhere.
struct Part {
  Value value; // null: zeros
  int64_t extent;
};

/// Returns the parts that `value` joins along `dim`, or none if another op computes it.
static std::vector<Part> getParts(Value value, int64_t dim) {
  std::vector<Part> parts;
  Operation *op = value.getDefiningOp();
  if (dim == 1 ? isa_and_nonnull<JoinOp>(op) : isa_and_nonnull<ConcatOp>(op))
    for (Value part : op->getOperands()) {
      auto fill = part.getDefiningOp<FillOp>();
      auto number = fill ? dyn_cast<FloatAttr>(fill.getValue()) : FloatAttr();
      bool isZero = number && number.getValue().isZero();
      parts.push_back({isZero ? Value() : part, cast<RankedTensorType>(part.getType()).getDimSize(dim)});
    }
  return parts;
}

/// Adds two matrices that are joined from parts along `dim`, part by part. Returns null if parts overlap only
/// partially.
static Value addParts(OpBuilder &builder, Location loc, Value a, Value b, int64_t dim) {
  std::vector<Part> left = getParts(a, dim), right = getParts(b, dim);
  SmallVector<Value> sum;
  auto type = cast<RankedTensorType>(a.getType());
  for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    int64_t extent = left[i].extent;
    if (left[i].value && right[j].value && extent != right[j].extent)
      return {};
    if (!left[i].value || (right[j].value && right[j].extent < extent))
      extent = right[j].value ? right[j].extent : std::min(extent, right[j].extent);
    if (left[i].value ? extent < left[i].extent : extent > left[i].extent)
      return {};
    if (right[j].value ? extent < right[j].extent : extent > right[j].extent)
      return {};
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = extent;
    if (left[i].value && right[j].value)
      sum.push_back(addGradients(builder, loc, left[i].value, right[j].value));
    else if (left[i].value || right[j].value)
      sum.push_back(left[i].value ? left[i].value : right[j].value);
    else
      sum.push_back(FillOp::create(builder, loc, type.clone(shape), builder.getF32FloatAttr(0)));
    i += (left[i].extent -= extent) == 0;
    j += (right[j].extent -= extent) == 0;
  }
  if (sum.empty())
    return {};
  return dim == 1 ? JoinOp::create(builder, loc, type, sum).getResult()
                  : ConcatOp::create(builder, loc, type, sum).getResult();
}

Value heddle::addGradients(OpBuilder &builder, Location loc, Value a, Value b) {
  for (int64_t dim : {1, 0})
    if (Value whole = addParts(builder, loc, a, b, dim))
      return whole;
  SmallVector<SumOfRows> sums = getSumsOfRows(b);
  if (sums.empty()) {
    sums = getSumsOfRows(a);
    std::swap(a, b);
  }
  if (sums.empty()) {
    // Moves scatters behind the sum. A scatter works in place, in the memory of its destination, and after CSE the
    // destination may be another term, too. If one side is a variable, it holds the gradient of earlier calls: no other
    // sum follows this one, and the scatters stay where they are.
    bool isOfVariable = a.getDefiningOp<ReadOp>() || b.getDefiningOp<ReadOp>();
    for (Value *side : {&a, &b})
      while (auto scatter = side->getDefiningOp<ScatterAddOp>()) {
        if (isOfVariable || !scatter->use_empty())
          break;
        sums.push_back({scatter.getLoc(), scatter.getIndices(), scatter.getRows()});
        *side = scatter.getDestination();
      }
    a = arith::AddFOp::create(builder, loc, b, a);
  }
  for (const SumOfRows &sum : llvm::reverse(sums))
    a = ScatterAddOp::create(builder, sum.loc, a.getType(), a, sum.indices, sum.rows);
  return a;
}

namespace {

/// Gives the ops that a rule builds the location of the rule's op, marked as its gradient.
struct GradientPlaces : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    op->setLoc(renameLocation(op->getLoc(), "gradient of ", "gradient"));
  }
};

class Backward {
public:
  Backward(Operation *root, SymbolTable &symbols) : root(root), symbols(symbols), builder(root) {}

  FailureOr<SmallVector<WeightGradient>> build(Value loss, Value scale);

private:
  void findActiveValues();
  bool isActive(Operation *op) const;
  VariableOp getWeight(ReadOp read) const;
  LogicalResult visit(Operation *op);
  void add(Operation *user, Value value, Value contribution);

  Operation *root;
  SymbolTable &symbols;
  OpBuilder builder;
  GradientPlaces places;
  /// The values that change when a weight does: only they need gradients.
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
  /// Each weight and its first read. The gradients of its other reads are added to that of the first.
  llvm::MapVector<VariableOp, Value> weights;
};

} // namespace

VariableOp Backward::getWeight(ReadOp read) const {
  auto variable = symbols.lookup<VariableOp>(read.getVariable());
  return variable && variable.getKind() == VariableKind::Weight ? variable : VariableOp();
}

bool Backward::isActive(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); });
}

void Backward::findActiveValues() {
  for (Operation &op : llvm::make_range(root->getBlock()->begin(), root->getIterator())) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      VariableOp weight = getWeight(read);
      if (!weight)
        continue;
      weights.insert({weight, read.getResult()});
      active.insert(read.getResult());
    } else if (isActive(&op) && !isa<StopGradientOp>(op)) {
      for (Value result : op.getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result)))
          active.insert(result);
    }
  }
}

void Backward::add(Operation *user, Value value, Value contribution) {
  if (auto read = value.getDefiningOp<ReadOp>())
    value = weights.lookup(getWeight(read));
  Value &gradient = gradients[value];
  gradient = gradient ? addGradients(builder, user->getLoc(), gradient, contribution) : contribution;
}

LogicalResult Backward::visit(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (!isActive(op) || llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }))
    return success();

  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError(
        "has no gradient rule, but the loss depends on a weight through it; compute the result from ops "
        "that have a rule, or give the op a rule (DifferentiableOpInterface)");
  FailureOr<SmallVector<Value>> operandGradients = differentiable.buildGradient(builder, resultGradients);
  if (failed(operandGradients))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), *operandGradients)) {
    if (!active.contains(operand))
      continue;
    if (!gradient)
      return op->emitOpError() << "has no gradient rule for its operand of type " << operand.getType()
                               << ", through which the loss depends on a weight";
    add(op, operand, gradient);
  }
  return success();
}

FailureOr<SmallVector<WeightGradient>> Backward::build(Value loss, Value scale) {
  findActiveValues();
  if (!active.contains(loss))
    return root->emitOpError("has a loss that does not depend on any weight");

  // The ops of the forward pass, before the backward pass adds ops behind them.
  SmallVector<Operation *> forward;
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode())
    forward.push_back(op);
  gradients[loss] =
      scale ? scale : FillOp::create(builder, root->getLoc(), loss.getType(), builder.getF32FloatAttr(1)).getResult();
  builder.setListener(&places);
  for (Operation *op : forward)
    if (failed(visit(op)))
      return failure();

  SmallVector<WeightGradient> result;
  for (auto [weight, value] : weights)
    if (Value gradient = gradients.lookup(value))
      result.push_back({weight, value, gradient});
  return result;
}

FailureOr<SmallVector<WeightGradient>> heddle::buildBackward(Operation *root, Value loss, Value scale,
                                                             SymbolTable &symbols) {
  return Backward(root, symbols).build(loss, scale);
}
