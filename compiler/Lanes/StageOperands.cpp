// for (k) {                      for (s < stages - 1) { copy tile s; commit }
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait stages - 2            // tile k is there, tile k - 1 is no longer read
// }                                a = load ring[k mod stages]
//                                  ..dot a..
//                                  copy tile k + stages - 1 over tile k - 1; commit
//                                }
#include "compiler/Lanes/StageOperands.h"
#include "compiler/Lanes/Passes.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_STAGEOPERANDSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;
using heddle::cloneForCounter;
using heddle::constant;
using heddle::readSame;

namespace {

constexpr int64_t kSwizzledRows = 8; // the ring's swizzle repeats after this many rows
constexpr int64_t kFewestStages = 2; // one is read while the other is filled

/// A load of an operand, or of one number per row of an operand, and the ring that it will read.
struct Stage {
  LoadOp load;
  Value ring;
  int64_t rows, columns; // of the tile as it lies in memory
  bool copies;           // false where another load's copies fill the ring
  bool isFixed;          // the same tile in all iterations: a ring of one
  bool panels = false;   // warpgroups read the ring

  /// The type of a ring of `tiles` tiles. A column needs no swizzle.
  MemRefType ringType(int64_t tiles) const {
    Type element = LoadOp(load).getType().getElementType();
    MLIRContext *context = element.getContext();
    auto layout = columns == 1 ? SwizzledAttr() : SwizzledAttr::get(context, panels ? rows : 0);
    return MemRefType::get({tiles * rows, columns}, element, layout,
                           gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup));
  }
};

int64_t rowsOf(LoadOp load) { return load.getType().getDimSize(load.getTransposed() ? 1 : 0); }
int64_t columnsOf(LoadOp load) { return load.getType().getDimSize(load.getTransposed() ? 0 : 1); }

bool isProductOperand(LoadOp load) {
  MemRefType memory = load.getMemory().getType();
  return load.getType().getElementTypeBitWidth() == 16 && !isShared(memory) &&
         heddle::canCopyOperands(memory.getDimSize(1), columnsOf(load)) && rowsOf(load) % kSwizzledRows == 0 &&
         llvm::all_of(load->getUsers(), llvm::IsaPred<DotOp>);
}

/// Returns true if the load reads a column of a matrix as a row. Without a ring each lane would load its elements one
/// by one.
bool isColumn(LoadOp load) {
  return load.getType().getElementTypeBitWidth() == 32 && load.getTransposed() && columnsOf(load) == 1 &&
         load.getAnyPadding() && !load.getColumnLimit();
}

/// Returns true if tensor cores can read the operand of a loop's only product directly from shared memory.
bool canReadShared(LoadOp load, int64_t depth) {
  return load && isProductOperand(load) && load->hasOneUse() && columnsOf(load) % SwizzledAttr::kPanelColumns == 0 &&
         load.getType().getDimSize(1) == depth;
}

class StageOperandsPass : public mlir::heddle::impl::StageOperandsPassBase<StageOperandsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    tile::FuncOp kernel = getOperation();
    if (kernel.getMapping() != LaneMapping::Tensor || stages < 2)
      return;
    last = {};
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      stage(loop);
  }

private:
  void stage(scf::ForOp loop) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    b.setInsertionPointToStart(&loop->getParentOfType<tile::FuncOp>().getBody().front());
    SmallVector<LoadOp> loads(loop.getBody()->getOps<LoadOp>());
    if (llvm::none_of(loads, isProductOperand))
      return;
    SmallVector<Stage> staged;
    for (LoadOp load : loads) {
      if (!isProductOperand(load) && !isColumn(load))
        continue;
      int64_t rows = rowsOf(load), columns = columnsOf(load);
      auto same = llvm::find_if(staged, [&](const Stage &other) {
        return readSame(other.load, load) && other.rows == rows && other.columns == columns;
      });
      bool isFixed = llvm::all_of(load->getOperands(), [&](Value value) { return loop.isDefinedOutsideOfLoop(value); });
      staged.push_back({load, {}, rows, columns, same == staged.end(), isFixed});
    }
    DotOp ofWarpgroups = findWarpgroupProduct(loop, staged);
    auto order = [&](bool panels) { llvm::for_each(staged, [&](Stage &stage) { stage.panels = panels; }); };
    order(static_cast<bool>(ofWarpgroups));
    bool isAfter = takeRings(staged, loop);
    if (ofWarpgroups && !isAfter && countStages(staged, loop) < heddle::kFewestWarpgroupStages) {
      ofWarpgroups = {};
      order(false);
      isAfter = takeRings(staged, loop);
    }
    int64_t stages = isAfter ? last.stages : makeRings(b, staged, loop);
    // A tile's copy starts `lead` tiles before its use. If a warpgroup may be behind, it still reads the tile before,
    // so the copy starts one tile later.
    bool isSpare = ofWarpgroups || (stages > kFewestStages && canAlternate(loop, staged));
    int64_t lead = isSpare ? stages - 2 : stages - 1;
    last.block = loop->getBlock(), last.stages = stages;
    if (!isAfter)
      last.rings.clear();
    for (const Stage &stage : staged)
      if (stage.copies && !stage.isFixed && !isAfter)
        last.rings.push_back(stage.ring);

    // Copy the first tiles. If the loop is inside of another loop or follows one, lanes may still read that loop's last
    // tiles, so wait before.
    b.setInsertionPoint(loop);
    if (isAfter || loop->getParentOfType<scf::ForOp>())
      WaitOp::create(b, 0);
    for (const Stage &stage : staged)
      if (stage.isFixed && stage.copies) {
        LoadOp load = stage.load;
        CopyOp::create(b, stage.ring, constant(b, 0), stage.rows, load.getMemory(), load.getRow(), load.getColumn(),
                       load.getRowLimit(), load.getColumnLimit(), load.getMembers(), load.getApart());
      }
    // If the loop might not run, a warpgroup's accumulators would leave it through moves, and ptxas would wait for each
    // product. So the loop runs at least once, and counts its iterations to show that to LLVM.
    Value step = loop.getStep(), lower = loop.getLowerBound(), upper = loop.getUpperBound();
    bool isCounted = ofWarpgroups && !getConstantIntValue(upper) &&
                     llvm::all_of(staged, [](const Stage &stage) { return heddle::hasDepthLimit(stage.load); });
    Value from = lower, to = upper, by = step;
    if (isCounted) {
      Value one = constant(b, 1);
      upper = arith::MaxSIOp::create(b, upper, arith::AddIOp::create(b, lower, one));
      Value length =
          arith::AddIOp::create(b, arith::SubIOp::create(b, upper, lower), arith::SubIOp::create(b, step, one));
      from = constant(b, 0), by = one;
      to = arith::MaxSIOp::create(b, arith::DivUIOp::create(b, length, step), one);
    }
    Value at = lower;
    for (int64_t s = 0; s < lead; ++s) {
      copyAt(b, loop, staged, at, upper, constant(b, s));
      at = arith::AddIOp::create(b, at, step);
    }

    // The same loop, which also carries the number of the tile that it reads and the number of the tile that it copies.
    auto next =
        scf::ForOp::create(b, from, to, by,
                           llvm::to_vector(llvm::concat<Value>(llvm::to_vector_of<Value>(loop.getInitArgs()),
                                                               SmallVector<Value>{constant(b, 0), constant(b, lead)})));
    Block *body = next.getBody();
    if (body->mightHaveTerminator())
      body->getTerminator()->erase();
    unsigned count = loop.getNumRegionIterArgs();
    Value current = next.getRegionIterArg(count), ahead = next.getRegionIterArg(count + 1);

    b.setInsertionPointToStart(body);
    WaitOp::create(b, lead - 1);
    Value k = next.getInductionVar();
    if (isCounted)
      k = arith::AddIOp::create(b, lower, arith::MulIOp::create(b, k, step));
    auto copyNext = [&] {
      Value last = k;
      for (int64_t s = 0; s < lead; ++s)
        last = arith::AddIOp::create(b, last, step);
      copyAt(b, loop, staged, last, upper, ahead);
    };
    // Right after the barrier all lanes are at the same place, and no multiplication hides what they do before they
    // multiply. In a step of several products that is a small part, and registers are scarce at the step's end, so such
    // a loop copies early.
    bool isEarly = !ofWarpgroups && (stages == kFewestStages || isLong(loop));
    if (isEarly)
      copyNext();

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), k);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), next.getRegionIterArgs()))
      mapping.map(from, to);
    auto rowOf = [&](const Stage &stage) -> Value {
      return stage.isFixed ? constant(b, 0) : arith::MulIOp::create(b, current, constant(b, stage.rows)).getResult();
    };
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto found = llvm::find_if(staged, [&](const Stage &stage) { return stage.load == &op; });
      if (ofWarpgroups && found != staged.end())
        continue;
      if (ofWarpgroups == &op) {
        const Stage &lhs = stageOf(staged, ofWarpgroups.getLhs()), &rhs = stageOf(staged, ofWarpgroups.getRhs());
        mapping.map(ofWarpgroups.getResult(),
                    WarpgroupDotOp::create(b, ofWarpgroups.getType(), mapping.lookup(ofWarpgroups.getAccumulator()),
                                           lhs.ring, rowOf(lhs), rhs.ring, rowOf(rhs), depthOf(ofWarpgroups),
                                           LoadOp(lhs.load).getTransposed(), !LoadOp(rhs.load).getTransposed())
                        .getResult());
        copyNext();
        WarpgroupWaitOp::create(b, Type(), 1, Value());
        continue;
      }
      if (found == staged.end()) {
        b.clone(op, mapping);
        continue;
      }
      mapping.map(found->load.getResult(),
                  LoadOp::create(b, found->load.getType(), found->ring, rowOf(*found), constant(b, 0), Value(), Value(),
                                 /*any_padding=*/true, found->load.getTransposed())
                      .getResult());
    }
    if (!isEarly && !ofWarpgroups)
      copyNext();
    SmallVector<Value> yielded;
    for (Value value : loop.getYieldedValues())
      yielded.push_back(mapping.lookupOrDefault(value));
    for (Value number : {current, ahead}) {
      Value following = arith::AddIOp::create(b, number, constant(b, 1));
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, following, constant(b, stages));
      yielded.push_back(arith::SelectOp::create(b, isLast, constant(b, 0), following));
    }
    scf::YieldOp::create(b, yielded);
    SmallVector<Value> results(next.getResults().take_front(count));
    if (ofWarpgroups) {
      b.setInsertionPointAfter(next);
      for (Value &result : results)
        if (isa<RankedTensorType>(result.getType()))
          result = WarpgroupWaitOp::create(b, result.getType(), 0, result).getResult();
    }
    loop.replaceAllUsesWith(results);
    loop.erase();
  }

  /// Returns true if heddle-alternate-warpgroups may let two warpgroups take turns in the loop. The loop must have two
  /// matmuls, and a processor must lack room for a second workgroup, which would take turns with the first by itself.
  bool canAlternate(scf::ForOp loop, ArrayRef<Stage> staged) const {
    auto kernel = loop->getParentOfType<tile::FuncOp>();
    auto lanes = static_cast<int64_t>(kernel.getWorkgroup());
    int64_t taken = 0;
    kernel.walk([&](SharedOp shared) { taken += getSharedBytes(shared.getResult().getType()); });
    return warpgroup > 0 && lanes == 2 * warpgroup * FragmentAttr::kLanes && 2 * taken > bytesOfLane * lanes &&
           llvm::hasNItems(loop.getBody()->getOps<DotOp>(), 2) && llvm::all_of(staged, [](const Stage &stage) {
             return isProductOperand(stage.load) && stage.columns % SwizzledAttr::kPanelColumns == 0;
           });
  }

  static int64_t depthOf(DotOp dot) { return cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(1); }
  static const Stage &stageOf(ArrayRef<Stage> staged, Value operand) {
    return *llvm::find_if(staged, [&](const Stage &stage) { return LoadOp(stage.load).getResult() == operand; });
  }

  /// Returns the product of a loop that only loads operands and multiplies, if warpgroups can compute it: no other
  /// instruction touches its accumulators. Otherwise returns null.
  DotOp findWarpgroupProduct(scf::ForOp loop, ArrayRef<Stage> staged) const {
    auto dots = loop.getBody()->getOps<DotOp>();
    auto kernel = loop->getParentOfType<tile::FuncOp>();
    int64_t subgroups = static_cast<int64_t>(kernel.getWorkgroup()) / FragmentAttr::kLanes;
    if (warpgroup == 0 || subgroups % warpgroup != 0 || !llvm::hasSingleElement(dots) || staged.size() != 2)
      return {};
    DotOp dot = *dots.begin();
    bool canRead = heddle::isWarpgroupProduct(loop, dot) &&
                   llvm::all_of(staged, [](const Stage &stage) { return stage.copies && !stage.isFixed; });
    return canRead ? dot : DotOp();
  }

  /// Returns true if a step has several products, and so takes longer than a copy.
  static bool isLong(scf::ForOp loop) { return llvm::hasNItemsOrMore(loop.getBody()->getOps<DotOp>(), 2); }

  /// Consecutive loops, whose products are added up, share their rings: there is no room for twice as many. Returns
  /// true if the previous loop's rings fit all loads of this one.
  bool takeRings(MutableArrayRef<Stage> staged, scf::ForOp loop) const {
    if (last.block != loop->getBlock())
      return false;
    SmallVector<Value> left = last.rings;
    SmallVector<Value> taken;
    for (const Stage &stage : staged) {
      auto ring = llvm::find_if(left, [&](Value ring) { return ring.getType() == stage.ringType(last.stages); });
      if (!stage.copies || stage.isFixed || ring == left.end())
        return false;
      taken.push_back(*ring);
      left.erase(ring);
    }
    for (auto [stage, ring] : llvm::zip_equal(staged, taken))
      stage.ring = ring;
    return true;
  }

  /// The number of tiles per ring that there is room for.
  int64_t countStages(ArrayRef<Stage> staged, scf::ForOp loop) const {
    auto kernel = loop->getParentOfType<tile::FuncOp>();
    auto bytesOf = [](const Stage &stage) {
      return stage.rows * stage.columns * LoadOp(stage.load).getType().getElementTypeBitWidth() / 8;
    };
    int64_t fixed = 0, moving = 0;
    kernel.walk([&](SharedOp other) { fixed += getSharedBytes(other.getResult().getType()); });
    for (const Stage &stage : staged)
      if (stage.copies)
        (stage.isFixed ? fixed : moving) += bytesOf(stage);
    // Room for more workgroups is worth more than tiles that are copied long before their use.
    int64_t room = bytesOfLane * static_cast<int64_t>(kernel.getWorkgroup()),
            count = isLong(loop) ? std::min<int64_t>(stages, kFewestStages + 1) : stages;
    while (count > kFewestStages && fixed + count * moving > room)
      --count;
    return count;
  }

  /// Makes the rings. Returns how many tiles each has.
  int64_t makeRings(ImplicitLocOpBuilder &b, MutableArrayRef<Stage> staged, scf::ForOp loop) {
    int64_t count = countStages(staged, loop);
    for (Stage &stage : staged) {
      if (stage.copies) {
        stage.ring = SharedOp::create(b, stage.ringType(stage.isFixed ? 1 : count));
        continue;
      }
      stage.ring = llvm::find_if(staged, [&](const Stage &other) {
                     return other.copies && readSame(other.load, stage.load) && other.rows == stage.rows &&
                            other.columns == stage.columns;
                   })->ring;
    }
    return count;
  }

  /// The rings of the previous loop.
  struct {
    Block *block = nullptr;
    SmallVector<Value> rings;
    int64_t stages = 0;
  } last;

  /// If `at` is below `upper`, starts the copies of the tiles that the loop loads at `at` to tile `number` of their
  /// rings. Commits the group in any case, because waits count groups.
  static void copyAt(ImplicitLocOpBuilder &b, scf::ForOp loop, ArrayRef<Stage> staged, Value at, Value upper,
                     Value number) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, upper);
    auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), at);
      for (const Stage &stage : staged) {
        if (!stage.copies || stage.isFixed)
          continue;
        auto place = [&](Value value) { return value ? cloneForCounter(b, loop, value, mapping) : Value(); };
        LoadOp load = stage.load;
        Value row = place(load.getRow()), column = place(load.getColumn());
        Value rowLimit = place(load.getRowLimit()), columnLimit = place(load.getColumnLimit());
        Value to = arith::MulIOp::create(b, number, constant(b, stage.rows));
        CopyOp::create(b, stage.ring, to, stage.rows, load.getMemory(), row, column, rowLimit, columnLimit,
                       load.getMembers(), load.getApart());
      }
    }
    CommitOp::create(b);
  }
};

} // namespace

bool heddle::isWarpgroupProduct(scf::ForOp loop, DotOp product) {
  if (loop.getNumRegionIterArgs() != 1)
    return false;
  auto lhs = product.getLhs().getDefiningOp<LoadOp>(), rhs = product.getRhs().getDefiningOp<LoadOp>();
  int64_t depth = cast<RankedTensorType>(product.getLhs().getType()).getDimSize(1);
  return product.getAccumulator() == loop.getRegionIterArg(0) && loop.getYieldedValues()[0] == product.getResult() &&
         product->hasOneUse() && !product.getTransposeLhs() && product.getTransposeRhs() && canReadShared(lhs, depth) &&
         canReadShared(rhs, depth);
}

bool heddle::hasDepthLimit(LoadOp operand) {
  return static_cast<bool>(operand.getTransposed() ? operand.getRowLimit() : operand.getColumnLimit());
}

bool heddle::readSame(LoadOp a, LoadOp b) {
  return a.getMemory() == b.getMemory() && a.getRow() == b.getRow() && a.getColumn() == b.getColumn() &&
         a.getRowLimit() == b.getRowLimit() && a.getColumnLimit() == b.getColumnLimit() &&
         a.getMembers() == b.getMembers() && a.getApart() == b.getApart();
}

Value heddle::cloneForCounter(OpBuilder &b, scf::ForOp loop, Value value, IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value) || !op || !loop->isProperAncestor(op))
    return mapping.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    cloneForCounter(b, loop, operand, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

std::unique_ptr<Pass> heddle::createStageOperandsPass(const TargetProfile &profile) {
  return createStageOperandsPass({profile.tensor.stages, profile.tensor.sharedBytesOfLane, profile.tensor.warpgroup});
}
