// Assigns layouts by connecting tiles that must be distributed over lanes alike: an elementwise op's operands and
// results, a loop's state, a branch's results, a reduction and its result. A product connects only its accumulator and
// result. KernelLayouts says which layouts products want, and which layout tiles have that no product is connected to. If
// a product needs a tile in another layout than the connected tiles have, a tile.convert_layout is inserted.
#include "compiler/Lanes/AssignLayouts.h"
#include "compiler/Lanes/Passes.h"

#include "compiler/Lanes/KernelLayouts.h"
#include "compiler/Lanes/Lanes.h"
#include "compiler/Lanes/SeparateMatrices.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <numeric>

namespace mlir::heddle {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;

namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

class AssignLayoutsPass : public mlir::heddle::impl::AssignLayoutsPassBase<AssignLayoutsPass> {
public:
  using Base::Base;
  AssignLayoutsPass() = default;
  explicit AssignLayoutsPass(const heddle::TargetProfile &profile) : profile(&profile) {}

  LogicalResult initialize(MLIRContext *) override { return heddle::resolveTarget(profile, target); }

  void runOnOperation() override {
    tile::FuncOp func = getOperation();
    chosen = heddle::KernelLayouts::of(func, *profile);
    if (!chosen) {
      func.emitError() << "target " << profile->name << " has no tensor cores";
      return signalPassFailure();
    }
    if (chosen->subgroup)
      func.setSubgroup(*chosen->subgroup);
    separateSources(func);
    if (chosen->hasMatrices)
      heddle::separateMatrices(func);
    classes = {};
    layouts.clear();
    shapes.clear();
    func.walk([&](Operation *op) { connect(op); });
    if (failed(layOutSums(func)))
      return signalPassFailure();
    layOutOperands(func); // only after all accumulators have layouts
    layOutPanels(func);
    if (chosen->throughMemory)
      func.walk([&](Operation *op) { noteShapes(op); });
    if (chosen->hasFreeColumns)
      layOutColumns(func);
    if (failed(assignLayouts(func)))
      signalPassFailure();
  }

private:
  /// Gives matmuls' accumulators and results their layouts, and sums over subgroups theirs.
  LogicalResult layOutSums(tile::FuncOp func) {
    WalkResult walked = func.walk([&](DotOp dot) {
      if (failed(chosen->checkSides(dot)))
        return WalkResult::interrupt();
      Attribute layout = chosen->ofProduct(dot).sum, &known = layouts[classOf(dot.getResult())];
      if (known && known != layout) { // a conversion would have to stand before each product that adds to the sums
        dot.emitError() << "sums are needed in two layouts, " << known << " and " << layout;
        return WalkResult::interrupt();
      }
      known = layout;
      return WalkResult::advance();
    });
    func.walk([&](ReduceOp op) {
      if (heddle::isOfSubgroups(op) && chosen->ofSubgroups)
        layouts[classOf(op.getResult())] = chosen->ofSubgroups;
    });
    return failure(walked.wasInterrupted());
  }

  void layOutOperands(tile::FuncOp func) {
    func.walk([&](DotOp dot) {
      heddle::ProductLayouts product = chosen->ofProduct(dot);
      want(dot.getLhsMutable(), product.left);
      want(dot.getRhsMutable(), product.right);
    });
  }

  /// Gives layouts to tiles that go to swizzled shared memory.
  void layOutPanels(tile::FuncOp func) {
    func.walk([&](StoreOp op) {
      if (getSwizzle(op.getMemory().getType()))
        layouts[classOf(op.getValue())] = chosen->toPanels;
    });
    func.walk([&](LoadOp op) {
      if (Attribute layout = layouts.lookup(classOf(op)); layout && layout == chosen->toPanels && op.getTransposed())
        layouts[classOf(op)] = chosen->turnedToPanels;
    });
  }

  /// Gives layouts to columns, and to the tiles that they are made of or repeated to.
  void layOutColumns(tile::FuncOp func) {
    // Each lane may have all rows of a transposed left operand. A column that is broadcast to it must then have all rows
    // in each lane, too.
    func.walk([&](BroadcastOp op) {
      auto layout = dyn_cast_or_null<SimtAttr>(layouts.lookup(classOf(op.getResult())));
      bool hasAllRows = layout && layout.getRowLanes() == 1;
      if (hasAllRows && isColumn(op.getInput()) && !layouts.lookup(classOf(op.getInput())))
        layouts[classOf(op.getInput())] = layout;
    });
    // All lanes along a row hold its number, so a tile that a column is made of, or repeated to, has as many lanes along
    // its rows.
    func.walk([&](Operation *op) {
      if (!isa<ReduceOp, BroadcastOp>(op))
        return;
      Value column = op->getOperand(0), whole = op->getResult(0);
      if (isa<ReduceOp>(op))
        std::swap(column, whole);
      Shape shape = shapes.lookup(classOf(whole));
      Attribute &known = layouts[classOf(whole)];
      if (!known && isColumn(column) && !isColumn(whole) && shape.rows)
        known = standAlongRows(shape);
    });
  }

  /// Puts the layouts into the types of all tiles. Tiles of classes without a layout get the kernel's own.
  LogicalResult assignLayouts(tile::FuncOp func) {
    WalkResult walked = func.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (failed(assignLayout(result)))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            if (failed(assignLayout(argument)))
              return WalkResult::interrupt();
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto value = dyn_cast<DenseElementsAttr>(constant.getValue()))
          constant.setValueAttr(value.reshape(cast<ShapedType>(constant.getType())));
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  LogicalResult assignLayout(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    Attribute layout = layouts.lookup(classOf(value));
    if (!layout)
      layout = chosen->throughMemory ? distributeRows(shapes.lookup(classOf(value))) : chosen->others;
    if (failed(cast<VerifiableTensorEncoding>(layout).verifyEncoding(type.getShape(), type.getElementType(), [&] {
          return emitError(value.getLoc()) << "the tile " << type << " does not fit the layout " << layout << ": ";
        })))
      return failure();
    value.setType(RankedTensorType::get(type.getShape(), type.getElementType(), layout));
    return success();
  }

  /// Gives the operand's class a layout. If the class already has another one, converts the operand instead.
  void want(OpOperand &operand, Attribute layout) {
    Attribute &known = layouts[classOf(operand.get())];
    if (known && known != layout) {
      OpBuilder b(operand.getOwner());
      operand.set(ConvertLayoutOp::create(b, operand.getOwner()->getLoc(), operand.get().getType(), operand.get()));
      layouts[classOf(operand.get())] = layout;
      return;
    }
    known = layout;
  }

  /// The greatest common divisors of the rows and of the columns of a class's tiles. Extents of 1 do not count.
  struct Shape {
    int64_t rows = 0, columns = 0;
    void add(RankedTensorType type) {
      if (type.getDimSize(0) != 1)
        rows = std::gcd(rows, type.getDimSize(0));
      if (type.getDimSize(1) != 1)
        columns = std::gcd(columns, type.getDimSize(1));
    }
  };

  void noteShapes(Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        shapes[classOf(result)].add(type);
  }

  /// Makes runs as wide as possible, then puts as many lanes along a row as it has runs for, and the others along
  /// further rows.
  Attribute distributeRows(Shape shape) {
    int64_t lanes = getOperation().getWorkgroup(), vector = getOperation().getVector();
    if (shape.columns == 0)
      return chosen->others;
    for (int64_t run = vector; run >= 1; run /= 2)
      for (int64_t along = lanes; along >= 1; along /= 2)
        if (shape.columns % (run * along) == 0 && (shape.rows == 0 || shape.rows % (lanes / along) == 0))
          return SimtAttr::get(&getContext(), lanes / along, along, along, 1, run);
    return chosen->others; // does not fit either, which `assignLayout` reports
  }

  /// The layout for tiles with one column, with runs as wide as the tiles have columns for.
  Attribute standAlongRows(Shape shape) {
    auto columns = cast<SimtAttr>(chosen->others);
    int64_t run = std::gcd<int64_t>(columns.getVector(), llvm::divideCeil(shape.columns, columns.getColumnLanes()));
    return SimtAttr::get(&getContext(), columns.getRowLanes(), columns.getColumnLanes(), columns.getRowStride(),
                         columns.getColumnStride(), run);
  }

  static bool isColumn(Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(1) == 1; }

  const void *classOf(Value value) {
    classes.insert(value.getAsOpaquePointer());
    return classes.getLeaderValue(value.getAsOpaquePointer());
  }

  void unite(Value a, Value b) {
    if (isTile(a) && isTile(b))
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }

  /// Tiles that are made of no other tile cost at most a register. Each use gets its own copy, so that two uses with
  /// different layouts are not connected.
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
    if (auto reduce = dyn_cast<ReduceOp>(op);
        isa<scf::YieldOp, ConvertLayoutOp>(op) || (reduce && heddle::isOfSubgroups(reduce)))
      return;
    if (chosen->hasFreeColumns)
      if (isa<ReduceOp, BroadcastOp>(op) && llvm::any_of(ValueRange{op->getOperand(0), op->getResult(0)}, isColumn))
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

  const heddle::TargetProfile *profile = nullptr;
  llvm::EquivalenceClasses<const void *> classes;
  DenseMap<const void *, Attribute> layouts; // of classes
  DenseMap<const void *, Shape> shapes;      // of classes, if the kernel exchanges values through memory
  std::optional<heddle::KernelLayouts> chosen;
};

} // namespace

std::unique_ptr<Pass> heddle::createAssignLayoutsPass(const TargetProfile &profile) {
  return std::make_unique<AssignLayoutsPass>(profile);
}
