// Assigns layouts by connecting tiles that must be distributed over lanes alike: an elementwise op's operands and
// results, a loop's state, a branch's results, a reduction and its result. A product connects only its accumulator and
// result. Each lane has the whole contracted dimension of its operands: an operand has the kernel's own layout, or
// every lane has the whole tile. Tensor cores want fragments or cooperative matrices instead (dialects/Tile/README.md).
// If a product needs a tile in another layout than the connected tiles have, a tile.convert_layout is inserted.
#include "compiler/Lanes/AssignLayouts.h"
#include "compiler/Lanes/Passes.h"

#include "compiler/Lanes/SeparateMatrices.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <array>
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
    mapping = func.getMapping();
    lanes = func.getWorkgroup();
    vector = func.getVector();
    if (mapping == LaneMapping::Tensor && profile->tensor.matrix.rows == 0) {
      func.emitError() << "target " << profile->name << " has no tensor cores";
      return signalPassFailure();
    }
    isCooperative = mapping == LaneMapping::Tensor && profile->tensor.cooperative;
    chooseRowLanes();
    if (auto along = static_cast<int64_t>(func.getRowLanes().value_or(1)); lanes % along != 0) {
      func.emitError() << "lanes along rows are " << along << ", which do not divide the workgroup of " << lanes;
      return signalPassFailure();
    }
    separateSources(func);
    if (isCooperative)
      heddle::separateMatrices(func);
    classes = {};
    func.walk([&](Operation *op) { connect(op); });

    distributed = distributeTiles();
    DenseMap<const void *, Attribute> layouts;
    WalkResult walked = func.walk([&](DotOp dot) {
      if (failed(checkSides(dot)))
        return WalkResult::interrupt();
      Attribute layout = layoutsOf(dot)[0], &known = layouts[classOf(dot.getResult())];
      if (known && known != layout) { // a conversion would have to stand before each product that adds to the sums
        dot.emitError() << "sums are needed in two layouts, " << known << " and " << layout;
        return WalkResult::interrupt();
      }
      known = layout;
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    func.walk([&](DotOp dot) { // only after all accumulators have layouts
      want(dot.getLhsMutable(), layoutsOf(dot)[1], layouts);
      want(dot.getRhsMutable(), layoutsOf(dot)[2], layouts);
    });

    // In blocks each lane has all rows of a transposed left operand. A column that is broadcast to it must then have
    // all rows in each lane, too.
    if (mapping == LaneMapping::Blocks)
      func.walk([&](BroadcastOp op) {
        auto layout = dyn_cast_or_null<SimtAttr>(layouts.lookup(classOf(op.getResult())));
        bool hasAllRows = layout && layout.getRowLanes() == 1;
        if (hasAllRows && isColumn(op.getInput()) && !layouts.lookup(classOf(op.getInput())))
          layouts[classOf(op.getInput())] = layout;
      });

    // In kernels in blocks or on cooperative matrices, all other tiles are loaded from memory or stored there. So
    // neighbouring lanes get neighbouring columns.
    DenseMap<const void *, Shape> shapes;
    auto note = [&](Value value) {
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        shapes[classOf(value)].add(type);
    };
    bool throughMemory = isCooperative || mapping == LaneMapping::Blocks;
    if (throughMemory)
      func.walk([&](Operation *op) { llvm::for_each(op->getResults(), note); });

    auto assign = [&](Value value) -> LogicalResult {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        return success();
      Attribute layout = layouts.lookup(classOf(value));
      if (!layout)
        layout = throughMemory ? distributeRows(shapes.lookup(classOf(value))) : distributed;
      if (failed(cast<VerifiableTensorEncoding>(layout).verifyEncoding(type.getShape(), type.getElementType(), [&] {
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
  /// Gives the operand's class a layout. If the class already has another one, converts the operand instead.
  void want(OpOperand &operand, Attribute layout, DenseMap<const void *, Attribute> &layouts) {
    Attribute &known = layouts[classOf(operand.get())];
    if (known && known != layout) {
      OpBuilder b(operand.getOwner());
      operand.set(ConvertLayoutOp::create(b, operand.getOwner()->getLoc(), operand.get().getType(), operand.get()));
      layouts[classOf(operand.get())] = layout;
      return;
    }
    known = layout;
  }

  /// Sets the number of lanes along a row, which exchange values, unless the kernel has set it.
  void chooseRowLanes() {
    tile::FuncOp func = getOperation();
    if (func.getRowLanes())
      return;
    if (mapping == LaneMapping::Blocks)
      func.setRowLanes(profile->blocks.rowLanes);
    else if (isCooperative || lanes > profile->lanes)
      func.setRowLanes(profile->lanes);
  }

  /// The default layout, for tiles whose layout nothing else decides.
  Attribute distributeTiles() {
    auto withAlong = [&](int64_t along) {
      return SimtAttr::get(&getContext(), lanes / along, along, along == lanes ? 1 : along, 1, vector);
    };
    switch (mapping) {
    case LaneMapping::Rows:
      return withAlong(1);
    case LaneMapping::Quads:
    case LaneMapping::Blocks:
      return withAlong(*getOperation().getRowLanes());
    case LaneMapping::Tensor:
      // Only warpgroups need rows in pairs of pieces. The addresses of such rows cost registers, and attention with
      // mma.sync has none to spare.
      if (!isCooperative)
        return fragment(lanes, hasWarpgroups(getOperation()) ? 2 : 1);
      [[fallthrough]];
    case LaneMapping::Columns:
      return withAlong(hasRows(getOperation()) ? std::min(lanes, profile->lanes) : lanes);
    }
    llvm_unreachable("unknown mapping");
  }

  FragmentAttr fragment(int64_t lanes, int64_t pieces = 1) {
    return FragmentAttr::get(&getContext(), lanes / FragmentAttr::kLanes, pieces * FragmentAttr::kPiece);
  }

  static bool hasWarpgroups(tile::FuncOp func) {
    return func.walk([](WarpgroupDotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Fails, after emitting an error, if the mapping cannot multiply a product whose sides are transposed like this.
  LogicalResult checkSides(DotOp dot) {
    auto shared = [&](bool isTransposed, StringRef side) -> LogicalResult {
      if (!isTransposed)
        return success();
      return dot.emitError() << "the side that the lanes share out cannot be transposed: with lanes along "
                             << stringifyLaneMapping(mapping) << " the lanes share out the " << side << " side";
    };
    if (profile->registers > 0) // a single lane has all of both sides
      return success();
    switch (mapping) {
    case LaneMapping::Rows:
      return shared(dot.getTransposeLhs(), "left");
    case LaneMapping::Columns:
    case LaneMapping::Quads:
      return shared(dot.getTransposeRhs(), "right");
    case LaneMapping::Blocks:
      return success();
    case LaneMapping::Tensor:
      if (!dot.getTransposeLhs() && dot.getTransposeRhs())
        return success();
      return dot.emitError("on tensor cores the right side is transposed, and the left side is not");
    }
    llvm_unreachable("unknown mapping");
  }

  /// Returns the layouts of a product's result, left and right side. If the lanes stand along a dimension that one side
  /// does not have, every lane has the whole of that side. A CPU thread repeats elements of the left side as it loads
  /// them.
  std::array<Attribute, 3> layoutsOf(DotOp dot) {
    auto whole = SimtAttr::get(&getContext(), 1, 1, 1, 1, vector);
    if (profile->registers > 0) {
      int64_t columns = cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(1);
      bool isByNumber = dot.getLhs().getDefiningOp<LoadOp>() || columns % vector != 0;
      return {distributed, isByNumber ? SimtAttr::get(&getContext(), 1, 1, 1, 1, 1) : whole, whole};
    }
    auto pieces = [&](MatrixUse use) {
      return CooperativeAttr::get(&getContext(), use, profile->tensor.matrix.rows, lanes / profile->lanes);
    };
    switch (mapping) {
    case LaneMapping::Rows:
      return {distributed, distributed, whole};
    case LaneMapping::Columns:
    case LaneMapping::Quads:
      return {distributed, whole, distributed};
    case LaneMapping::Blocks:
      return blocksOf(dot);
    case LaneMapping::Tensor:
      if (!isCooperative)
        return {distributed, distributed, fragment(FragmentAttr::kLanes)};
      return {pieces(MatrixUse::Sum), pieces(MatrixUse::Left), pieces(MatrixUse::Right)};
    }
    llvm_unreachable("unknown mapping");
  }

  /// Returns the layouts of the result, left and right side of a product in blocks. A lane has the same rows of the
  /// result and the left side, and the same columns of the result and the right side. Rows of a transposed right side
  /// are distributed one by one.
  std::array<Attribute, 3> blocksOf(DotOp dot) {
    int64_t along = *getOperation().getRowLanes(), down = lanes / along;
    auto layout = [&](int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, int64_t run) {
      return SimtAttr::get(&getContext(), rows, columns, rowStride, columnStride, run);
    };
    // Along the contracted dimension registers are as wide as possible, whatever their width is in the result.
    auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
    int64_t run = std::gcd(profile->vector, lhs.getDimSize(dot.getTransposeLhs() ? 0 : 1));
    return {layout(down, along, along, 1, dot.getTransposeRhs() ? 1 : vector),
            dot.getTransposeLhs() ? layout(1, down, 1, along, 1) : layout(down, 1, along, 1, run),
            dot.getTransposeRhs() ? layout(along, 1, 1, 1, run) : layout(1, along, 1, 1, vector)};
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

  /// Makes runs as wide as possible, then puts as many lanes along a row as it has runs for, and the others along
  /// further rows. Tiles with one number per row get the layout `distributed`.
  Attribute distributeRows(Shape shape) {
    if (shape.columns == 0)
      return distributed;
    for (int64_t run = vector; run >= 1; run /= 2)
      for (int64_t along = lanes; along >= 1; along /= 2)
        if (shape.columns % (run * along) == 0 && (shape.rows == 0 || shape.rows % (lanes / along) == 0))
          return SimtAttr::get(&getContext(), lanes / along, along, along, 1, run);
    return distributed; // does not fit either, which `assign` reports
  }

  /// Returns true if any tile has several rows: subgroups then have rows of their own.
  static bool hasRows(tile::FuncOp func) {
    auto isTall = [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.getDimSize(0) > 1;
    };
    return func
        .walk([&](Operation *op) {
          return llvm::any_of(op->getResults(), isTall) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
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
    if (isa<scf::YieldOp, ConvertLayoutOp>(op))
      return;
    // In blocks, all lanes along a row hold the row's one number, whatever the layout of the row is.
    if (mapping == LaneMapping::Blocks)
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
  LaneMapping mapping;
  int64_t lanes, vector;
  bool isCooperative;
  Attribute distributed;
};

} // namespace

std::unique_ptr<Pass> heddle::createAssignLayoutsPass(const TargetProfile &profile) {
  return std::make_unique<AssignLayoutsPass>(profile);
}
