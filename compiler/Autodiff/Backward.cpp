#include "compiler/Autodiff/Backward.h"

#include "compiler/Places/Places.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::heddle;

static bool isZeros(Value value) {
  auto fill = value.getDefiningOp<FillOp>();
  if (!fill)
    return false;
  auto number = dyn_cast<FloatAttr>(fill.getValue());
  return number && number.getValue().isPosZero();
}

/// The scatters that make `value` out of zeros, last one first; none if it is not made so.
static SmallVector<ScatterAddOp> getScattersOntoZeros(Value value) {
  SmallVector<ScatterAddOp> scatters;
  while (auto scatter = value.getDefiningOp<ScatterAddOp>()) {
    scatters.push_back(scatter);
    value = scatter.getDestination();
  }
  if (!isZeros(value))
    scatters.clear();
  return scatters;
}

Value heddle::addGradients(OpBuilder &builder, Location loc, Value a, Value b) {
  SmallVector<ScatterAddOp> scatters = getScattersOntoZeros(b);
  if (scatters.empty()) {
    scatters = getScattersOntoZeros(a);
    std::swap(a, b);
  }
  if (scatters.empty())
    return arith::AddFOp::create(builder, loc, b, a);
  for (ScatterAddOp scatter : llvm::reverse(scatters))
    a = ScatterAddOp::create(builder, scatter.getLoc(), a.getType(), a, scatter.getIndices(), scatter.getRows());
  return a;
}

namespace {

/// Places what a rule builds where the op stands whose rule it is, as its gradient.
struct GradientPlaces : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    op->setLoc(renamePlace(op->getLoc(), "gradient of ", "gradient"));
  }
};

class Backward {
public:
  Backward(Operation *root, SymbolTable &symbols) : root(root), symbols(symbols), builder(root) {}

  FailureOr<SmallVector<WeightGradient>> build(Value loss);

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
  /// Values that change when a weight does: only they need gradients.
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
  /// Each weight and where it is first read; the gradients of its other reads are added to that one's.
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
    } else if (isActive(&op)) {
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
    return op->emitOpError("has no gradient rule, but the loss depends on a weight through it; compute it from ops "
                           "that have one, or give it one (DifferentiableOpInterface)");
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

FailureOr<SmallVector<WeightGradient>> Backward::build(Value loss) {
  findActiveValues();
  if (!active.contains(loss))
    return root->emitOpError("has a loss that depends on no weight");

  // The block of the forward pass, before the backward pass grows behind it.
  SmallVector<Operation *> forward;
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode())
    forward.push_back(op);
  gradients[loss] = FillOp::create(builder, root->getLoc(), loss.getType(), builder.getF32FloatAttr(1));
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

FailureOr<SmallVector<WeightGradient>> heddle::buildBackward(Operation *root, Value loss, SymbolTable &symbols) {
  return Backward(root, symbols).build(loss);
}
