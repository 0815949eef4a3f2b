// It is unknown which lane has which element of a cooperative matrix, so few ops work on them: products, elementwise
// multiplication of sums by other tiles that can be matrices, and loops. All other ops need tiles that are distributed
// over lanes.
#include "compiler/Lanes/SeparateMatrices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using heddle::movesMatrices;

namespace {

class MatrixTiles {
public:
  explicit MatrixTiles(tile::FuncOp kernel) {
    size_t known;
    do {
      known = tiles.size();
      kernel.walk([&](Operation *op) { follow(op); });
    } while (tiles.size() != known);
  }

  ArrayRef<Value> get() const { return tiles.getArrayRef(); }
  bool contains(Value value) const { return tiles.contains(value); }

  bool areMadeBy(Operation *op) const {
    if (auto load = dyn_cast_or_null<LoadOp>(op))
      return movesMatrices(load);
    return !op || isa<DotOp, arith::ConstantOp, scf::ForOp>(op) || handsOn(op);
  }

  bool areTakenBy(Operation *op) const {
    if (auto store = dyn_cast<StoreOp>(op))
      return movesMatrices(store);
    return isa<DotOp, scf::ForOp>(op) || (isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp())) || handsOn(op);
  }

private:
  bool handsOn(Operation *op) const {
    if (auto repeat = dyn_cast<BroadcastOp>(op))
      return contains(repeat) && repeatsPieces(repeat);
    return isa<ColumnsOp>(op) || (isa<arith::MulFOp>(op) && contains(op->getResult(0)));
  }

  /// Returns true if the op repeats several columns, and so whole pieces. An op that repeats a single column along
  /// rows, or a row along columns, repeats no pieces.
  static bool repeatsPieces(BroadcastOp repeat) {
    auto input = cast<RankedTensorType>(repeat.getInput().getType());
    return input.getDimSize(0) == cast<RankedTensorType>(repeat.getType()).getDimSize(0) && input.getDimSize(1) > 1;
  }

  void follow(Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op))
      return add({dot.getLhs(), dot.getRhs(), dot.getAccumulator(), dot.getResult()});
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
        addTogether({init, argument, yielded, result});
      return;
    }
    if (isa<ColumnsOp>(op))
      return addTogether({op->getOperand(0), op->getResult(0)});
    if (auto repeat = dyn_cast<BroadcastOp>(op); repeat && contains(repeat) && repeatsPieces(repeat))
      return add({repeat.getInput()});
    if (isa<arith::MulFOp>(op) && llvm::any_of(op->getOperands(), [&](Value value) { return contains(value); }) &&
        llvm::all_of(op->getOperands(), [&](Value value) { return contains(value) || canBeMatrices(value); }))
      add({op->getOperand(0), op->getOperand(1), op->getResult(0)});
  }

  static bool canBeMatrices(Value value) {
    if (auto repeat = value.getDefiningOp<BroadcastOp>()) {
      if (!repeatsPieces(repeat))
        return false;
      value = repeat.getInput();
    }
    auto load = value.getDefiningOp<LoadOp>();
    return (load && movesMatrices(load)) || value.getDefiningOp<arith::ConstantOp>();
  }

  void add(ArrayRef<Value> values) { tiles.insert_range(values); }
  void addTogether(ArrayRef<Value> values) {
    if (llvm::any_of(values, [&](Value value) { return contains(value); }))
      add(values);
  }

  llvm::SetVector<Value> tiles;
};

} // namespace

void heddle::separateMatrices(tile::FuncOp kernel) {
  MatrixTiles matrices(kernel);
  for (Value value : matrices.get()) {
    bool areMatrices = matrices.areMadeBy(value.getDefiningOp());
    auto isMet = [&](OpOperand &use) {
      bool takes = matrices.areTakenBy(use.getOwner());
      return areMatrices ? !takes : takes && !isa<StoreOp>(use.getOwner()); // a store takes both
    };
    if (llvm::none_of(value.getUses(), isMet))
      continue;
    OpBuilder b(kernel.getContext());
    b.setInsertionPointAfterValue(value);
    auto conversion = ConvertLayoutOp::create(b, value.getLoc(), value.getType(), value);
    value.replaceUsesWithIf(conversion, [&](OpOperand &use) { return use.getOwner() != conversion && isMet(use); });
  }
}
