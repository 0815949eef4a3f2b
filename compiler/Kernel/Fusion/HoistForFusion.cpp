#include "compiler/Kernel/Fusion/HoistForFusion.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "compiler/Kernel/Fusion/KernelGroups.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::heddle;

/// Returns true if the op reads a step's rows, whether consecutive or picked by the step's indices. Both are read
/// wherever they are needed.
static bool isRowsOfStep(Operation *op) {
  auto rows = dyn_cast_or_null<EmbeddingOp>(op);
  return isa_and_nonnull<StepRowsOp>(op) || (rows && isa_and_nonnull<StepRowsOp>(rows.getIndices().getDefiningOp()));
}

/// Returns true if the op only shifts rows. Shifted rows are read wherever they are needed, too.
static bool isMoved(Operation *op) {
  auto unfold = dyn_cast_or_null<UnfoldOp>(op);
  return unfold && unfold.getFirst() == unfold.getLast();
}

bool heddle::isCopied(Operation *op) {
  return isa_and_nonnull<FillOp, BroadcastOp, IotaOp, arith::ExtFOp, DequantizeOp, JoinPanelsOp, LayerNormApplyOp>(
             op) ||
         isRowsOfStep(op) || isMoved(op) ||
         (op && op->getNumResults() == 1 && getElementTypeOrSelf(op->getResult(0)).isInteger(1));
}

static void hoistNumbers(Block &block) {
  DenseSet<StringAttr> written;
  DenseSet<Operation *> hoisted;
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto write = dyn_cast<WriteOp>(op))
      written.insert(write.getVariableAttr().getAttr());
    auto read = dyn_cast<ReadOp>(op);
    bool isNumber = isElementwise(&op) && llvm::all_of(op.getResultTypes(), [](Type type) {
                      return cast<ShapedType>(type).getShape() == ArrayRef<int64_t>{1};
                    });
    if (read ? written.contains(read.getVariableAttr().getAttr()) : !isNumber)
      continue;
    if (!llvm::all_of(op.getOperands(), [&](Value operand) {
          return !operand.getDefiningOp() || hoisted.contains(operand.getDefiningOp());
        }))
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&block, block.begin());
    last = &op;
    hoisted.insert(last);
  }
}

namespace {

/// Collects moves of a block's ops and applies them at the end. MLIR renumbers the whole block if two ops are compared
/// after one has moved.
class Moves {
public:
  /// Returns true if `a` comes before `b` once the ops have moved.
  bool isBefore(Operation *a, Operation *b) const {
    Operation *from = unmoved(a), *to = unmoved(b);
    if (from != to)
      return from->isBeforeInBlock(to);
    if (a == from || b == to)
      return a == from && b != to;
    const SmallVector<Operation *> &moved = behind.find(from)->second;
    return llvm::find(moved, a) < llvm::find(moved, b);
  }

  void moveBehind(Operation *op, Operation *last) {
    Operation *place = unmoved(last);
    SmallVector<Operation *> &moved = behind[place];
    moved.insert(last == place ? moved.begin() : std::next(llvm::find(moved, last)), op);
    placeOf[op] = place;
  }

  void apply() {
    for (auto &[place, moved] : behind)
      for (Operation *op : llvm::reverse(moved))
        op->moveAfter(place);
  }

private:
  /// Returns the unmoved op that `op` will follow, or `op` if it does not move.
  Operation *unmoved(Operation *op) const {
    Operation *place = placeOf.lookup(op);
    return place ? place : op;
  }

  DenseMap<Operation *, Operation *> placeOf;
  llvm::MapVector<Operation *, SmallVector<Operation *>> behind; // moved ops in order, by the op they follow
};

} // namespace

static void hoistColumns(Block &block) {
  DenseSet<Value> ofParts;
  Moves moves;
  for (Operation &op : block) {
    auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType()) : RankedTensorType();
    if (!type || !type.getElementType().isF32())
      continue;
    auto sum = dyn_cast<SumOp>(op);
    if ((sum && sum.getColumns() && type.getRank() == 2) ||
        (isElementwise(&op) && llvm::any_of(op.getOperands(), [&](Value operand) {
           return ofParts.contains(operand) && operand.getType() == type;
         })))
      ofParts.insert(op.getResult(0));
    if (!isElementwise(&op) || isCopied(&op) || (!isColumn(type) && !ofParts.contains(op.getResult(0))))
      continue;
    Operation *last = nullptr;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && producer->getBlock() == &block && (!last || moves.isBefore(last, producer)))
        last = producer;
    }
    // An op that is recomputed stays next to its users, unless its producer is recomputed, too.
    if (last && (!op.hasAttr(kRecomputedAttrName) || last->hasAttr(kRecomputedAttrName)))
      moves.moveBehind(&op, last);
  }
  moves.apply();
}

void heddle::hoistForFusion(Block &block) {
  hoistNumbers(block);
  hoistColumns(block);
}

/// Returns the number of matmuls that the op adds up, if a kernel on tensor cores can compute them together and nothing
/// else needs the op; 0 otherwise.
static int64_t countAddedProducts(Operation *op) {
  if (!op || !op->hasOneUse() || !isSumOfProducts(op))
    return 0;
  if (auto product = dyn_cast<MatmulOp>(op))
    return !product.getTransposeLhs() && hasTensorOperands(product, product.getLhs()) ? 1 : 0;
  int64_t left = countAddedProducts(op->getOperand(0).getDefiningOp()),
          right = countAddedProducts(op->getOperand(1).getDefiningOp());
  return left && right ? left + right : 0;
}

void heddle::addProductsFirst(Block &block) {
  constexpr int64_t most = 5; // their operands, x and the result have addresses
  for (auto outer : llvm::make_early_inc_range(block.getOps<arith::AddFOp>())) {
    if (outer->getBlock() != &block || !isa<RankedTensorType>(outer.getType()))
      continue;
    for (auto [sum, last] : {std::pair(outer.getLhs(), outer.getRhs()), {outer.getRhs(), outer.getLhs()}}) {
      auto inner = sum.getDefiningOp<arith::AddFOp>();
      int64_t count = countAddedProducts(last.getDefiningOp());
      if (!inner || !inner->hasOneUse() || inner->getBlock() != &block || !count || isSumOfProducts(inner))
        continue;
      Value first = inner.getRhs(), rest = inner.getLhs();
      if (!countAddedProducts(first.getDefiningOp()))
        std::swap(first, rest);
      int64_t more = countAddedProducts(first.getDefiningOp());
      if (!more || count + more > most)
        continue;
      OpBuilder builder(outer);
      auto products = arith::AddFOp::create(builder, outer.getLoc(), first, last);
      products->setDiscardableAttrs(outer->getDiscardableAttrDictionary()); // it may be recomputed
      outer.getLhsMutable().assign(rest);
      outer.getRhsMutable().assign(products);
      inner->erase();
      break;
    }
  }
}

/// Returns true if `add` is in the epilogue of a matmul that comes after the norm, and if the matmul's kernel has
/// addresses for the norm's operands and results instead of its first result.
static bool mayRepeatNorm(LayerNormOp norm, arith::AddFOp add) {
  SmallVector<Value> worklist{add.getResult()};
  SetVector<Value> addresses;
  int64_t products = 0;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    bool isOwn = op == add || (op && op->hasOneUse() && op->getBlock() == norm->getBlock() &&
                               norm->isBeforeInBlock(op) && (isElementwise(op) || isa<MatmulOp>(op)));
    if (!isOwn && !isCopied(op)) {
      addresses.insert(value);
      continue;
    }
    products += isa<MatmulOp>(op);
    llvm::append_range(worklist, op->getOperands());
  }
  addresses.insert_range(norm.getOperands());
  addresses.insert_range(norm.getResults());
  return products == 1 && addresses.size() < kMaxOperands;
}

void heddle::repeatNorms(Block &block) {
  for (auto norm : block.getOps<LayerNormOp>()) {
    SmallVector<arith::AddFOp> sums;
    bool isFree = llvm::all_of(norm.getResult().getUsers(), [&](Operation *user) {
      auto add = dyn_cast<arith::AddFOp>(user);
      if (add && user->getBlock() == &block && mayRepeatNorm(norm, add))
        sums.push_back(add);
      return isa<arith::TruncFOp>(user) || (!sums.empty() && sums.back() == user);
    });
    if (!isFree)
      continue;
    for (arith::AddFOp add : sums) {
      OpBuilder builder(add);
      auto again = LayerNormApplyOp::create(builder, norm.getLoc(), norm.getResult().getType(), norm.getInput(),
                                            norm.getGamma(), norm.getBeta(), norm.getMean(), norm.getRstd());
      add->replaceUsesOfWith(norm.getResult(), again);
    }
  }
}
