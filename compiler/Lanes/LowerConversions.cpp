// y = convert_layout x    ->    wait         // if the memory may still be in use
//                               store x, shared
//                               wait         // for all lanes
//                               y = load shared
#include "compiler/Lanes/Passes.h"

#include "compiler/Lanes/Lanes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERCONVERSIONSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

//===-- Uses of shared memory -----------------------------------------------------------------------------------===//

bool isUsedWithin(Value memory, Operation *op) {
  return llvm::any_of(memory.getUsers(), [&](Operation *user) { return op->isAncestor(user); });
}

/// Returns true if an op after `op`, in its block or in one around it, uses the memory.
bool isUsedAfter(Value memory, Operation *op) {
  for (; !isa<tile::FuncOp>(op); op = op->getParentOp())
    for (Operation *user : memory.getUsers())
      if (Operation *there = op->getBlock()->findAncestorOpInBlock(*user); there && op->isBeforeInBlock(there))
        return true;
  return false;
}

/// Searches upwards from `from` to `end` (exclusive) for a use of the memory or a wait. Returns true if it finds a use
/// first, false if it finds a wait first, and nothing if there is neither.
std::optional<bool> isInUse(Value memory, Operation *from, Operation *end) {
  for (Operation *op = from; op != end; op = op->getPrevNode()) {
    if (isa<WaitOp>(op))
      return false;
    if (isUsedWithin(memory, op))
      return true;
  }
  return std::nullopt;
}

/// Returns true if a lane may still read or write the memory when another lane comes to `op`.
bool isInUse(Value memory, Operation *op) {
  for (; !isa<tile::FuncOp>(op); op = op->getParentOp()) {
    if (std::optional<bool> known = isInUse(memory, op->getPrevNode(), nullptr))
      return *known;
    Operation *parent = op->getParentOp();
    if (isa<scf::IfOp, tile::FuncOp>(parent))
      continue;
    // In a loop, the previous iteration comes before, and in it `op` itself used the memory.
    if (!isa<scf::ForOp>(parent) || isInUse(memory, &op->getBlock()->back(), op).value_or(true))
      return true;
  }
  return false;
}

//===-- Conversions ---------------------------------------------------------------------------------------------===//

class LowerConversionsPass : public mlir::heddle::impl::LowerConversionsPassBase<LowerConversionsPass> {
public:
  void runOnOperation() override {
    SmallVector<ConvertLayoutOp> conversions;
    getOperation().walk([&](ConvertLayoutOp op) {
      if (!keepsElements(cast<RankedTensorType>(op.getInput().getType()), op.getType()))
        conversions.push_back(op);
    });
    SmallVector<StoreOp> stores;
    for (ConvertLayoutOp op : conversions)
      if (failed(convert(op, stores)))
        return signalPassFailure();
    // Only after all conversions have their waits: often one conversion's wait lies between two others.
    for (StoreOp store : stores)
      if (isInUse(store.getMemory(), store)) {
        OpBuilder b(store);
        WaitOp::create(b, store.getLoc(), 0);
      }
  }

private:
  LogicalResult convert(ConvertLayoutOp op, SmallVectorImpl<StoreOp> &stores) {
    auto from = cast<RankedTensorType>(op.getInput().getType());
    auto matrices = getLayout<CooperativeAttr>(from);
    if (matrices && matrices.getUse() != MatrixUse::Sum)
      return op.emitOpError() << "takes an operand out of cooperative matrices, of which only sums can be stored: "
                              << from;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Type i1 = b.getI1Type(), element = from.getElementType() == i1 ? b.getI32Type() : from.getElementType();
    Value input = op.getInput();
    if (element != from.getElementType()) // shared memory cannot hold i1
      input = arith::ExtUIOp::create(b, from.clone(element), input);
    auto to = cast<RankedTensorType>(op.getType().clone(element));

    Value memory = memoryFor(op, to), zero = arith::ConstantIndexOp::create(b, 0);
    stores.push_back(StoreOp::create(b, input, memory, zero, zero, Value(), Value()));
    WaitOp::create(b, 0);
    Value result =
        LoadOp::create(b, to, memory, zero, zero, Value(), Value(), /*any_padding=*/true, /*transposed=*/false);
    if (element != from.getElementType())
      result = arith::TruncIOp::create(b, op.getType(), result);
    op.replaceAllUsesWith(result);
    op.erase();
    return success();
  }

  /// Returns shared memory of the kernel that nothing needs any more, or allocates some.
  Value memoryFor(ConvertLayoutOp op, RankedTensorType tile) {
    Operation *outermost = op;
    for (Operation *parent = op->getParentOp(); !isa<tile::FuncOp>(parent); parent = parent->getParentOp())
      if (!isa<scf::IfOp>(parent))
        outermost = parent;
    bool loops = outermost != op;
    auto isFree = [&](Value memory) {
      return !isUsedAfter(memory, outermost) && !(loops && isUsedWithin(memory, outermost));
    };
    for (auto shared : getOperation().getBody().front().getOps<SharedOp>())
      if (hasRoom(shared.getResult().getType(), tile) && isFree(shared.getResult()))
        return shared.getResult();
    OpBuilder b = OpBuilder::atBlockBegin(&getOperation().getBody().front());
    return SharedOp::create(b, op.getLoc(), getSharedType(tile));
  }

  /// Returns true if the tile fits the memory, which `store` must be able to write.
  static bool hasRoom(MemRefType memory, RankedTensorType tile) {
    return !getSwizzle(memory) && memory.getElementType() == tile.getElementType() &&
           memory.getDimSize(0) >= tile.getDimSize(0) && memory.getDimSize(1) >= tile.getDimSize(1);
  }
};

} // namespace
