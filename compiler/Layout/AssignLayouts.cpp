// Assigns layouts by connecting tiles that must be dealt to lanes alike: an elementwise op's operands and results, a
// loop's state, a branch's results, a reduction and its result. A product connects nothing but its accumulator and
// result; its operands hold the contracted dimension whole in each lane, which is either the kernel's own layout or a
// tile that every lane has. Tensor cores want fragments instead (dialects/Tile/README.md).
#include "compiler/Layout/AssignLayouts.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

class AssignLayoutsPass : public PassWrapper<AssignLayoutsPass, OperationPass<tile::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayoutsPass)
  StringRef getArgument() const override { return "heddle-assign-layouts"; }
  StringRef getDescription() const override { return "Give every tile a layout: which lane holds which element"; }

  void runOnOperation() override {
    tile::FuncOp func = getOperation();
    separateSources(func);
    classes = {};
    func.walk([&](Operation *op) { connect(op); });

    bool rows = func.getSpread() == "rows", fragments = func.getSpread() == "fragments";
    int64_t lanes = func.getWorkgroup(), vector = func.getVector();
    auto dealt = fragments ? SimtAttr::getFragment(&getContext(), lanes)
                           : SimtAttr::get(&getContext(), rows ? lanes : 1, rows ? 1 : lanes, 1, 1, vector);
    auto whole = fragments ? SimtAttr::getFragment(&getContext(), SimtAttr::kFragmentLanes)
                           : SimtAttr::get(&getContext(), 1, 1, 1, 1, vector);

    // The operand of a product that does not share the dimension along which the lanes stand is whole in every lane.
    DenseMap<const void *, SimtAttr> layouts;
    WalkResult walked = func.walk([&](DotOp dot) {
      if (fragments && (dot.getTransposeLhs() || !dot.getTransposeRhs())) {
        dot.emitError("of fragments the right side, and only that, is transposed");
        return WalkResult::interrupt();
      }
      if (!fragments && (rows ? dot.getTransposeLhs() : dot.getTransposeRhs())) {
        dot.emitError() << "the side that the lanes share out cannot be transposed: with lanes along "
                        << func.getSpread() << " that is the " << (rows ? "left" : "right") << " one";
        return WalkResult::interrupt();
      }
      for (auto [value, layout] : {std::pair<Value, SimtAttr>{dot.getResult(), dealt},
                                   {dot.getLhs(), rows || fragments ? dealt : whole},
                                   {dot.getRhs(), rows || fragments ? whole : dealt}}) {
        SimtAttr &known = layouts[classOf(value)];
        if (known && known != layout) {
          dot.emitError() << "one tile is needed both dealt to the lanes and whole in each lane";
          return WalkResult::interrupt();
        }
        known = layout;
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();

    auto assign = [&](Value value) -> LogicalResult {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        return success();
      SimtAttr layout = layouts.lookup(classOf(value));
      if (!layout)
        layout = dealt;
      if (failed(layout.verifyEncoding(type.getShape(), type.getElementType(), [&] {
            return emitError(value.getLoc()) << "the tile " << type << " does not fit the layout " << layout << ": ";
          })))
        return failure();
      value.setType(RankedTensorType::get(type.getShape(), type.getElementType(), layout));
      return success();
    };
    walked = func.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (failed(assign(result)))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            if (failed(assign(argument)))
              return WalkResult::interrupt();
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto value = dyn_cast<DenseElementsAttr>(constant.getValue()))
          constant.setValueAttr(value.reshape(cast<ShapedType>(constant.getType())));
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

private:
  const void *classOf(Value value) {
    classes.insert(value.getAsOpaquePointer());
    return classes.getLeaderValue(value.getAsOpaquePointer());
  }

  void unite(Value a, Value b) {
    if (isTile(a) && isTile(b))
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }

  /// Tiles made of no other tile cost a register at most: each use gets one of its own, so that two uses with different
  /// layouts are not connected through it.
  static void separateSources(tile::FuncOp func) {
    SmallVector<Operation *> sources;
    func.walk([&](Operation *op) {
      if (isa<arith::ConstantOp, SplatOp, IndexOp>(op) && isTile(op->getResult(0)) && !op->use_empty())
        sources.push_back(op);
    });
    for (Operation *op : sources) {
      OpBuilder builder(op);
      for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(op->getUses())))
        use.set(builder.clone(*op)->getResult(0));
    }
  }

  void connect(Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op))
      return unite(dot.getAccumulator(), dot.getResult());
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults())) {
        unite(init, argument);
        unite(argument, yielded);
        unite(yielded, result);
      }
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Block *block : {branch.thenBlock(), branch.elseBlock()})
        if (block && branch.getNumResults() > 0)
          for (auto [yielded, result] : llvm::zip(block->getTerminator()->getOperands(), branch.getResults()))
            unite(yielded, result);
      return;
    }
    if (isa<scf::YieldOp>(op))
      return;
    Value first;
    auto connectToFirst = [&](Value value) {
      if (!isTile(value))
        return;
      if (first)
        unite(first, value);
      first = value;
    };
    llvm::for_each(op->getOperands(), connectToFirst);
    llvm::for_each(op->getResults(), connectToFirst);
  }

  llvm::EquivalenceClasses<const void *> classes;
};

} // namespace

std::unique_ptr<Pass> heddle::createAssignLayoutsPass() { return std::make_unique<AssignLayoutsPass>(); }

void heddle::registerAssignLayoutsPass() { PassRegistration<AssignLayoutsPass>(); }
