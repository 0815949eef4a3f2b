// %s = dot Q, load K, 0                %s = warpgroup_dot Q, K[..], 0
// ..                                   %t = warpgroup_dot G, V[..], 0     // first all products that depend on no other
// %t = dot G, load V, 0                %u = warpgroup_wait 1, %s
// ..%s..%t..                           ..%u..
//                                      %v = warpgroup_wait 0, %t
//                                      ..%u..%v..
#include "compiler/Lanes/Passes.h"
#include "compiler/Lanes/StageOperands.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_USEWARPGROUPSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;

namespace {

constexpr int64_t kWidestProduct = 256; // columns of an instruction's result
constexpr int64_t kDepth = 16;          // of an instruction

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Returns the shared memory from which an operand is loaded in whole rows, if warpgroups can read it there; otherwise
/// null.
SharedOp sharedOf(Value operand) {
  auto load = operand.getDefiningOp<LoadOp>();
  auto shared = load ? load.getMemory().getDefiningOp<SharedOp>() : SharedOp();
  if (!shared || !heddle::isTensorOperand(operand.getType()))
    return {};
  MemRefType memory = shared.getResult().getType();
  int64_t columns = typeOf(operand).getDimSize(load.getTransposed() ? 0 : 1);
  bool isWhole = getSwizzle(memory) && memory.getDimSize(1) == columns;
  return isWhole && columns % SwizzledAttr::kPanelColumns == 0 ? shared : SharedOp();
}

/// The same for a product's left operand, whose load must not transpose it.
SharedOp sharedLeft(DotOp dot) {
  auto load = dot.getLhs().getDefiningOp<LoadOp>();
  return load && !load.getTransposed() ? sharedOf(dot.getLhs()) : SharedOp();
}

class UseWarpgroupsPass : public mlir::heddle::impl::UseWarpgroupsPassBase<UseWarpgroupsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    tile::FuncOp kernel = getOperation();
    int64_t subgroups = static_cast<int64_t>(kernel.getWorkgroup()) / FragmentAttr::kLanes;
    if (kernel.getMapping() != LaneMapping::Tensor || warpgroup < 1 || subgroups % warpgroup != 0)
      return;
    SmallVector<DotOp> dots;
    kernel.walk([&](DotOp dot) { dots.push_back(dot); });
    int64_t rows = subgroups / warpgroup * kWarpgroupRows;
    if (contains<WarpgroupDotOp>(kernel) || dots.empty() ||
        !llvm::all_of(dots, [&](DotOp dot) { return canMultiply(dot, rows); }))
      return;
    // Only products can read memory with panels, in tiles of equally many rows.
    llvm::MapVector<SharedOp, int64_t> panels;
    for (DotOp dot : dots)
      for (SharedOp shared : {sharedLeft(dot), sharedOf(dot.getRhs())})
        if (shared)
          panels[shared] = 0;
    for (auto &[shared, panelRows] : panels)
      for (Operation *reader : shared.getResult().getUsers())
        if (auto load = dyn_cast<LoadOp>(reader)) {
          int64_t rows = load.getType().getDimSize(load.getTransposed() ? 1 : 0);
          if (!llvm::all_of(load->getUses(), isRead) || (panelRows != 0 && panelRows != rows))
            return;
          panelRows = rows;
        }
    for (auto &[shared, panelRows] : panels)
      shared.getResult().setType(MemRefType(
          MemRefType::Builder(shared.getResult().getType()).setLayout(SwizzledAttr::get(&getContext(), panelRows))));

    llvm::MapVector<Block *, SmallVector<DotOp>> blocks;
    for (DotOp dot : dots)
      blocks[dot->getBlock()].push_back(dot);
    for (auto &[block, products] : blocks) {
      if (canReorder(products))
        order(products);
      start(products);
    }
  }

private:
  static bool canMultiply(DotOp dot, int64_t rows) {
    // If a loop keeps a left operand in registers, ptxas 13.0 gives them to other values after the first product.
    auto loop = dot->getParentOfType<scf::ForOp>();
    if (loop && !sharedLeft(dot) && loop.isDefinedOutsideOfLoop(dot.getLhs()))
      return false;
    ArrayRef<int64_t> result = typeOf(dot.getResult()).getShape();
    return heddle::isTensorOperand(dot.getLhs().getType()) && dot.getTransposeRhs() && !dot.getTransposeLhs() &&
           sharedOf(dot.getRhs()) && result[0] % rows == 0 && result[1] <= kWidestProduct &&
           result[1] % FragmentAttr::kPiece == 0 && typeOf(dot.getLhs()).getDimSize(1) % kDepth == 0;
  }

  /// Returns true if the use of a loaded tile is an operand that the product can read from shared memory instead.
  static bool isRead(OpOperand &use) {
    auto dot = dyn_cast<DotOp>(use.getOwner());
    return dot && (use.get() == dot.getRhs() || (use.get() == dot.getLhs() && sharedLeft(dot)));
  }

  /// Returns true if no op from a block's first product on writes anything.
  static bool canReorder(ArrayRef<DotOp> products) {
    for (Operation *op = products.front(); op; op = op->getNextNode())
      if (!op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op) && !isa<LoadOp, GatherOp>(op))
        return false;
    return true;
  }

  /// Adds the ops from `first` on that `op` depends on to `sources`.
  static void addSources(Operation *op, Operation *first, DenseSet<Operation *> &sources) {
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *source = operand.getDefiningOp();
        source = source ? first->getBlock()->findAncestorOpInBlock(*source) : nullptr;
        if (source && source != op && !source->isBeforeInBlock(first) && sources.insert(source).second)
          addSources(source, first, sources);
      }
    });
  }

  /// Moves products as early as possible. Products that depend on the fewest other products come first, and only ops
  /// that a product depends on come before it. Products that depend on equally many others start one right after the
  /// other; fences set their accumulators before that.
  static void order(SmallVector<DotOp> &products) {
    Operation *first = products.front();
    DenseMap<Operation *, DenseSet<Operation *>> sources;
    DenseMap<Operation *, int64_t> depth;
    for (DotOp dot : products) {
      addSources(dot, first, sources[dot]);
      depth[dot] = llvm::count_if(products, [&](DotOp other) { return sources[dot].contains(other); });
    }
    llvm::stable_sort(products, [&](DotOp a, DotOp b) { return depth[a] < depth[b]; });
    SmallVector<Operation *> rest;
    for (Operation *op = first; !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
      rest.push_back(op);
    SmallVector<Operation *> ordered;
    DenseSet<Operation *> placed;
    auto place = [&](Operation *op) {
      if (placed.insert(op).second)
        ordered.push_back(op);
    };
    for (size_t begin = 0, end; begin < products.size(); begin = end) {
      for (end = begin; end < products.size() && depth[products[end]] == depth[products[begin]];)
        ++end;
      auto together = ArrayRef<DotOp>(products).slice(begin, end - begin);
      for (Operation *op : rest)
        if (llvm::any_of(together, [&](DotOp dot) { return sources[dot].contains(op); }))
          place(op);
      for (DotOp dot : together.drop_front())
        if (!isa<BlockArgument>(dot.getAccumulator()) && !matchPattern(dot.getAccumulator(), m_AnyZeroFloat())) {
          OpBuilder b(dot);
          auto fence = WarpgroupFenceOp::create(b, dot.getLoc(), dot.getAccumulator());
          dot.getAccumulatorMutable().assign(fence.getResult());
          place(fence);
        }
      llvm::for_each(together, place);
    }
    llvm::for_each(rest, place);
    Operation *end = first->getBlock()->getTerminator();
    for (Operation *op : ordered)
      op->moveBefore(end);
  }

  /// Replaces a block's products, given in their order, by products of warpgroups, and waits for each right before the
  /// first use of its result.
  static void start(ArrayRef<DotOp> products) {
    SmallVector<WarpgroupDotOp> started;
    SetVector<LoadOp> loads;
    for (DotOp dot : products) {
      OpBuilder b(dot);
      auto left = sharedLeft(dot) ? dot.getLhs().getDefiningOp<LoadOp>() : LoadOp();
      auto right = dot.getRhs().getDefiningOp<LoadOp>();
      auto depth = static_cast<uint64_t>(typeOf(dot.getLhs()).getDimSize(1));
      auto product = WarpgroupDotOp::create(
          b, dot.getLoc(), dot.getType(), dot.getAccumulator(), left ? Value(left.getMemory()) : dot.getLhs(),
          left ? left.getRow() : Value(), right.getMemory(), right.getRow(), depth, /*transpose_lhs=*/false,
          /*transpose_rhs=*/!right.getTransposed());
      started.push_back(product);
      dot.replaceAllUsesWith(product.getResult());
      dot.erase();
      if (left)
        loads.insert(left);
      loads.insert(right);
    }
    for (LoadOp load : loads)
      if (load->use_empty())
        load.erase();
    for (auto [number, product] : llvm::enumerate(started)) {
      Operation *first = nullptr;
      for (Operation *user : product->getUsers())
        if (Operation *inBlock = product->getBlock()->findAncestorOpInBlock(*user);
            !first || inBlock->isBeforeInBlock(first))
          first = inBlock;
      if (!first)
        continue;
      int64_t pending = llvm::count_if(ArrayRef(started).drop_front(number + 1),
                                       [&](WarpgroupDotOp later) { return later->isBeforeInBlock(first); });
      OpBuilder b(first);
      auto done = WarpgroupWaitOp::create(b, product.getLoc(), product.getType(), static_cast<uint64_t>(pending),
                                          product.getResult());
      product.getResult().replaceAllUsesExcept(done.getResult(), done);
    }
  }
};

} // namespace

std::unique_ptr<Pass> heddle::createUseWarpgroupsPass(const TargetProfile &profile) {
  return createUseWarpgroupsPass({profile.tensor.warpgroup});
}
