// Assigns layouts by connecting tiles that must be dealt to lanes alike: an elementwise op's operands and results, a
// loop's state, a branch's results, a reduction and its result. A product connects nothing but its accumulator and
// result; its operands hold the contracted dimension whole in each lane, which is either the kernel's own layout or a
// tile that every lane has. Tensor cores want fragments or cooperative matrices instead (dialects/Tile/README.md).
#include "compiler/Layout/AssignLayouts.h"

#include "compiler/Tiling/Tiling.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <array>
#include <numeric>

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Of a product's result, left and right side.
constexpr StringLiteral kUses[] = {CooperativeAttr::kSum, CooperativeAttr::kLeft, CooperativeAttr::kRight};

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

class AssignLayoutsPass : public PassWrapper<AssignLayoutsPass, OperationPass<tile::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayoutsPass)
  AssignLayoutsPass() = default;
  explicit AssignLayoutsPass(const heddle::TargetProfile &profile) : profile(&profile) {}
  AssignLayoutsPass(const AssignLayoutsPass &other) : PassWrapper(other), profile(other.profile) {}
  StringRef getArgument() const override { return "heddle-assign-layouts"; }
  StringRef getDescription() const override { return "Give every tile a layout: which lane holds which element"; }

  LogicalResult initialize(MLIRContext *) override { return heddle::resolveTarget(profile, target); }

  void runOnOperation() override {
    tile::FuncOp func = getOperation();
    if (func.getSpread() == "cooperative" && !profile->cooperative) {
      func.emitError() << "target " << profile->name << " has no cooperative matrices";
      return signalPassFailure();
    }
    separateSources(func);
    classes = {};
    isBlocks = func.getSpread() == "blocks";
    func.walk([&](Operation *op) { connect(op); });

    bool rows = func.getSpread() == "rows", blocks = func.getSpread() == "blocks", fragments = func.getSpread() == "fragments",
         cooperative = func.getSpread() == "cooperative";
    int64_t lanes = func.getWorkgroup(), vector = func.getVector();
    int64_t alongRow = rows                                    ? 1
                       : blocks || func.getSpread() == "quads" ? static_cast<int64_t>(*func.getRowLanes())
                       : hasRows(func)                         ? std::min(lanes, profile->lanes)
                                                               : lanes;
    auto dealt = fragments ? SimtAttr::getFragment(&getContext(), lanes)
                           : SimtAttr::get(&getContext(), lanes / alongRow, alongRow, alongRow == lanes ? 1 : alongRow,
                                           1, vector);
    auto whole = fragments ? SimtAttr::getFragment(&getContext(), SimtAttr::kFragmentLanes)
                           : SimtAttr::get(&getContext(), 1, 1, 1, 1, vector);

    // The operand of a product that does not share the dimension along which the lanes stand is whole in every lane.
    DenseMap<const void *, Attribute> layouts;
    WalkResult walked = func.walk([&](DotOp dot) {
      bool onTensorCores = fragments || cooperative;
      if (onTensorCores && (dot.getTransposeLhs() || !dot.getTransposeRhs())) {
        dot.emitError("on tensor cores the right side is transposed, and the left side is not");
        return WalkResult::interrupt();
      }
      if (!onTensorCores && !blocks && (rows ? dot.getTransposeLhs() : dot.getTransposeRhs())) {
        dot.emitError() << "the side that the lanes share out cannot be transposed: with lanes along "
                        << func.getSpread() << " the lanes share out the " << (rows ? "left" : "right") << " side";
        return WalkResult::interrupt();
      }
      auto pieces = [&](StringRef use) -> Attribute {
        return CooperativeAttr::get(&getContext(), use, profile->matrix.rows, lanes / profile->lanes);
      };
      std::pair<Value, Attribute> needed[] = {{dot.getResult(), dealt},
                                              {dot.getLhs(), rows || fragments ? dealt : whole},
                                              {dot.getRhs(), rows || fragments ? whole : dealt}};
      if (cooperative)
        for (auto [place, use] : llvm::zip(needed, kUses))
          place.second = pieces(use);
      if (blocks)
        for (auto [place, layout] : llvm::zip(needed, blocksOf(dot, lanes, vector)))
          place.second = layout;
      for (auto [value, layout] : needed) {
        Attribute &known = layouts[classOf(value)];
        if (known && known != layout) {
          dot.emitError() << "a tile is needed in two layouts, " << known << " and " << layout;
          return WalkResult::interrupt();
        }
        known = layout;
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();

    // Beside products in blocks and of cooperative matrices, tiles come from memory and go there: neighbouring lanes have
    // neighbouring columns.
    DenseMap<const void *, Shape> shapes;
    auto note = [&](Value value) {
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        shapes[classOf(value)].add(type);
    };
    if (cooperative || blocks)
      func.walk([&](Operation *op) { llvm::for_each(op->getResults(), note); });

    auto assign = [&](Value value) -> LogicalResult {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        return success();
      Attribute layout = layouts.lookup(classOf(value));
      if (!layout)
        layout = cooperative || blocks ? dealRows(lanes, vector, shapes.lookup(classOf(value)), dealt) : dealt;
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
  /// Of a product in blocks: the layouts of its result, left and right side. A lane has of the result's rows those of
  /// the left side, and of its columns those of the right side, whose rows are dealt one by one where it is transposed.
  std::array<SimtAttr, 3> blocksOf(DotOp dot, int64_t lanes, int64_t vector) {
    int64_t along = *getOperation().getRowLanes(), down = lanes / along;
    auto layout = [&](int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, int64_t run) {
      return SimtAttr::get(&getContext(), rows, columns, rowStride, columnStride, run);
    };
    // Along the contracted dimension registers are as wide as can be, whatever they are in the result.
    auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
    int64_t run = std::gcd(profile->vector, lhs.getDimSize(dot.getTransposeLhs() ? 0 : 1));
    return {layout(down, along, along, 1, dot.getTransposeRhs() ? 1 : vector),
            dot.getTransposeLhs() ? layout(1, down, 1, along, 1) : layout(down, 1, along, 1, run),
            dot.getTransposeRhs() ? layout(along, 1, 1, 1, run) : layout(1, along, 1, 1, vector)};
  }

  /// What divides the rows and the columns of the tiles of a class, but for those that are one.
  struct Shape {
    int64_t rows = 0, columns = 0;
    void add(RankedTensorType type) {
      if (type.getDimSize(0) != 1)
        rows = std::gcd(rows, type.getDimSize(0));
      if (type.getDimSize(1) != 1)
        columns = std::gcd(columns, type.getDimSize(1));
    }
  };

  /// As many lanes along a row as there are registers of neighbours for, and the others along further rows. Of one number a
  /// row, as `dealt` has them.
  SimtAttr dealRows(int64_t lanes, int64_t vector, Shape shape, SimtAttr dealt) {
    if (shape.columns == 0)
      return dealt;
    for (int64_t run = vector; run >= 1; run /= 2)
      for (int64_t along = lanes; along >= 1; along /= 2)
        if (shape.columns % (run * along) == 0 && (shape.rows == 0 || shape.rows % (lanes / along) == 0))
          return SimtAttr::get(&getContext(), lanes / along, along, along, 1, run);
    return dealt; // which does not fit either, as is told
  }

  /// Subgroups have rows of their own where there are rows.
  static bool hasRows(tile::FuncOp func) {
    auto isTall = [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.getDimSize(0) > 1;
    };
    return func.walk([&](Operation *op) {
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
    // Lanes along a row of a block have its one number alike, however they have the rest of the row.
    if (isBlocks)
      if (isa<ReduceOp, BroadcastOp>(op) &&
          llvm::any_of(ValueRange{op->getOperand(0), op->getResult(0)}, isColumn))
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

  Option<std::string> target{*this, "target", llvm::cl::init(heddle::kDefaultTarget.str()),
                             llvm::cl::desc("The target whose lanes hold the tiles")};
  const heddle::TargetProfile *profile = nullptr;
  llvm::EquivalenceClasses<const void *> classes;
  bool isBlocks = false;
};

} // namespace

std::unique_ptr<Pass> heddle::createAssignLayoutsPass(const TargetProfile &profile) {
  return std::make_unique<AssignLayoutsPass>(profile);
}

void heddle::registerAssignLayoutsPass() { PassRegistration<AssignLayoutsPass>(); }
