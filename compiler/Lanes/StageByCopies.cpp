// Pipelines loops with asynchronous copies: `lead` tiles are on their way at any time.
//
// for (k) {                      for (s < lead) { copy tile s; commit }
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait lead - 1              // tile k is there, tile k - 1 is no longer read
// }                                a = load ring[k mod stages]
//                                  ..dot a..
//                                  copy tile k + lead over tile k - 1; commit
//                                }
#include "compiler/Lanes/LoopPipeline.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

constexpr int64_t kSwizzledRows = 8; // the ring's swizzle repeats after this many rows
constexpr int64_t kFewestStages = 2; // one is read while the other is filled

int64_t rowsOf(LoadOp load) { return load.getType().getDimSize(load.getTransposed() ? 1 : 0); }
int64_t columnsOf(LoadOp load) { return load.getType().getDimSize(load.getTransposed() ? 0 : 1); }

bool isProductOperand(LoadOp load) {
  MemRefType memory = load.getMemory().getType();
  return load.getType().getElementTypeBitWidth() == 16 && !isShared(memory) &&
         canCopyOperands(memory.getDimSize(1), columnsOf(load)) && rowsOf(load) % kSwizzledRows == 0 &&
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

class CopyPipeline final : public LoopPipeline {
public:
  CopyPipeline(tile::FuncOp kernel, const TargetProfile &profile)
      : LoopPipeline(kernel), mostStages(profile.tensor.stages), bytesOfLane(profile.tensor.sharedBytesOfLane),
        warpgroup(profile.tensor.warpgroup) {}

private:
  std::optional<Start> beginLoop() override {
    choose([](LoadOp load) { return isProductOperand(load) || isColumn(load); }, /*asInMemory=*/true);
    if (llvm::none_of(staged, [](const Stage &stage) { return isProductOperand(stage.load); }))
      return {};
    ofWarpgroups = findWarpgroupProduct();
    bool isAfter = takeRings();
    if (ofWarpgroups && !isAfter && countStages() < kFewestWarpgroupStages) {
      ofWarpgroups = {};
      isAfter = takeRings();
    }
    stages = isAfter ? last.stages : countStages();
    if (!isAfter)
      makeRings([&](const Stage &stage) { return SharedOp::create(b, ringType(stage, isFixed(stage) ? 1 : stages)); });
    // A tile's copy starts `lead` tiles before its use. If a warpgroup may be behind, it still reads the tile before,
    // so the copy starts one tile later.
    bool isSpare = ofWarpgroups || (stages > kFewestStages && canAlternate());
    lead = isSpare ? stages - 2 : stages - 1;
    last.block = loop->getBlock(), last.stages = stages;
    if (!isAfter)
      last.rings.clear();
    for (const Stage &stage : staged)
      if (isCopied(stage) && !isAfter)
        last.rings.push_back(stage.ring);

    // Copy the first tiles. If the loop is inside of another loop or follows one, lanes may still read that loop's last
    // tiles, so wait before.
    b.setInsertionPoint(loop);
    if (isAfter || loop->getParentOfType<scf::ForOp>())
      WaitOp::create(b, 0);
    for (const Stage &stage : staged)
      if (IRMapping none; isFixed(stage) && !stage.same)
        copy(stage, {}, none);
    bool runsOnce = ofWarpgroups && !getConstantIntValue(loop.getUpperBound()) &&
                    llvm::all_of(staged, [](const Stage &stage) { return hasDepthLimit(stage.load); });
    Start start = beginSteps(runsOnce);
    Value at = loop.getLowerBound();
    for (int64_t s = 0; s < lead; ++s) {
      copyAt(at, constant(b, s));
      at = arith::AddIOp::create(b, at, loop.getStep());
    }
    // The loop carries the number of the tile that it reads and the number of the tile that it copies.
    start.numbers = {constant(b, 0), constant(b, lead)};
    return start;
  }

  Value beginStep(Value counter, ValueRange numbers) override {
    current = numbers[0], ahead = numbers[1];
    WaitOp::create(b, lead - 1);
    k = counterOf(counter);
    // Right after the barrier all lanes are at the same place, and no multiplication hides what they do before they
    // multiply. In a step of several products that is a small part, and registers are scarce at the step's end, so such
    // a loop copies early.
    isEarly = !ofWarpgroups && (stages == kFewestStages || isLong());
    if (isEarly)
      copyNext();
    return k;
  }

  bool replace(Operation &op, IRMapping &mapping) override {
    if (ofWarpgroups == &op) {
      const Stage &lhs = *find(ofWarpgroups.getLhs()), &rhs = *find(ofWarpgroups.getRhs());
      Value accumulator = mapping.lookup(ofWarpgroups.getAccumulator());
      auto depth = static_cast<uint64_t>(LoadOp(lhs.load).getType().getDimSize(1));
      mapping.map(ofWarpgroups.getResult(),
                  WarpgroupDotOp::create(b, ofWarpgroups.getType(), accumulator, lhs.ring, rowOf(lhs), rhs.ring,
                                         rowOf(rhs), depth, lhs.isTurned, !rhs.isTurned)
                      .getResult());
      copyNext();
      WarpgroupWaitOp::create(b, Type(), 1, Value());
      return true;
    }
    const Stage *stage = isa<LoadOp>(op) ? find(op.getResult(0)) : nullptr;
    if (stage && !ofWarpgroups)
      mapping.map(op.getResult(0), read(*stage, LoadOp(stage->load).getType(), rowOf(*stage)));
    return stage;
  }

  SmallVector<Value> endStep() override {
    if (!isEarly && !ofWarpgroups)
      copyNext();
    return llvm::map_to_vector(ArrayRef<Value>{current, ahead}, [&](Value number) -> Value {
      Value following = arith::AddIOp::create(b, number, constant(b, 1));
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, following, constant(b, stages));
      return arith::SelectOp::create(b, isLast, constant(b, 0), following);
    });
  }

  void endLoop(MutableArrayRef<Value> results) override {
    for (Value &result : results)
      if (ofWarpgroups && isa<RankedTensorType>(result.getType()))
        result = WarpgroupWaitOp::create(b, result.getType(), 0, result).getResult();
  }

  /// Returns true if heddle-alternate-warpgroups may let two warpgroups take turns in the loop. The loop must have two
  /// matmuls, and a processor must lack room for a second workgroup, which would take turns with the first by itself.
  bool canAlternate() {
    auto lanes = static_cast<int64_t>(kernel.getWorkgroup());
    int64_t taken = 0;
    kernel.walk([&](SharedOp shared) { taken += getSharedBytes(shared.getResult().getType()); });
    return warpgroup > 0 && lanes == 2 * warpgroup * FragmentAttr::kLanes && 2 * taken > bytesOfLane * lanes &&
           llvm::hasNItems(loop.getBody()->getOps<DotOp>(), 2) && llvm::all_of(staged, [](const Stage &stage) {
             return isProductOperand(stage.load) && stage.tile.getDimSize(1) % SwizzledAttr::kPanelColumns == 0;
           });
  }

  /// Returns the product of a loop that only loads operands and multiplies, if warpgroups can compute it: no other
  /// instruction touches its accumulators. Otherwise returns null.
  DotOp findWarpgroupProduct() {
    auto dots = loop.getBody()->getOps<DotOp>();
    int64_t subgroups = static_cast<int64_t>(kernel.getWorkgroup()) / FragmentAttr::kLanes;
    if (warpgroup == 0 || subgroups % warpgroup != 0 || !llvm::hasSingleElement(dots) || staged.size() != 2)
      return {};
    DotOp dot = *dots.begin();
    bool canRead =
        isWarpgroupProduct(loop, dot) && llvm::all_of(staged, [&](const Stage &each) { return isCopied(each); });
    return canRead ? dot : DotOp();
  }

  /// Returns true if a step has several products, and so takes longer than a copy.
  bool isLong() { return llvm::hasNItemsOrMore(loop.getBody()->getOps<DotOp>(), 2); }

  /// Consecutive loops, whose products are added up, share their rings: there is no room for twice as many. Returns
  /// true if the previous loop's rings fit all loads of this one.
  bool takeRings() {
    if (last.block != loop->getBlock())
      return false;
    SmallVector<Value> left = last.rings;
    SmallVector<Value> taken;
    for (const Stage &stage : staged) {
      auto ring = llvm::find_if(left, [&](Value ring) { return ring.getType() == ringType(stage, last.stages); });
      if (!isCopied(stage) || ring == left.end())
        return false;
      taken.push_back(*ring);
      left.erase(ring);
    }
    for (auto [stage, ring] : llvm::zip_equal(staged, taken))
      stage.ring = ring;
    return true;
  }

  /// The number of tiles per ring that there is room for.
  int64_t countStages() {
    int64_t fixed = 0, moving = 0;
    kernel.walk([&](SharedOp other) { fixed += getSharedBytes(other.getResult().getType()); });
    for (const Stage &stage : staged)
      if (!stage.same)
        (isFixed(stage) ? fixed : moving) += stage.tile.getNumElements() * stage.tile.getElementTypeBitWidth() / 8;
    // Room for more workgroups is worth more than tiles that are copied long before their use.
    int64_t room = bytesOfLane * static_cast<int64_t>(kernel.getWorkgroup()),
            count = isLong() ? std::min<int64_t>(mostStages, kFewestStages + 1) : mostStages;
    while (count > kFewestStages && fixed + count * moving > room)
      --count;
    return count;
  }

  /// The type of a ring of `tiles` tiles. A column needs no swizzle.
  MemRefType ringType(const Stage &stage, int64_t tiles) {
    MLIRContext *context = b.getContext();
    int64_t rows = stage.tile.getDimSize(0), columns = stage.tile.getDimSize(1);
    auto layout = columns == 1 ? SwizzledAttr() : SwizzledAttr::get(context, ofWarpgroups ? rows : 0);
    return MemRefType::get({tiles * rows, columns}, stage.tile.getElementType(), layout,
                           gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup));
  }

  /// If `at` is below `upper`, starts the copies of the tiles that the loop loads at `at` to tile `number` of their
  /// rings. Commits the group in any case, because waits count groups.
  void copyAt(Value at, Value number) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, upper);
    auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), at);
      for (const Stage &stage : staged)
        if (isCopied(stage))
          copy(stage, number, mapping);
    }
    CommitOp::create(b);
  }

  /// Starts the copy of a tile to a place of its ring. Without a number, the place is the ring's only one.
  void copy(const Stage &stage, Value number, IRMapping &mapping) {
    LoadOp load = stage.load;
    Source from = sourceOf(load, mapping);
    Value to = number ? stage.rowOf(b, number) : constant(b, 0);
    CopyOp::create(b, stage.ring, to, stage.tile.getDimSize(0), load.getMemory(), from.row, from.column, from.rowLimit,
                   from.columnLimit, load.getMembers(), load.getApart());
  }

  Value rowOf(const Stage &stage) { return isFixed(stage) ? constant(b, 0) : stage.rowOf(b, current); }
  /// Returns true if the tile is the same in all iterations. Its ring has one tile.
  bool isFixed(const Stage &stage) {
    return llvm::all_of(LoadOp(stage.load)->getOperands(),
                        [&](Value value) { return loop.isDefinedOutsideOfLoop(value); });
  }
  /// Returns true if each iteration copies a tile for the stage.
  bool isCopied(const Stage &stage) { return !stage.same && !isFixed(stage); }

  /// Copies the tile of a later step.
  void copyNext() {
    Value last = k;
    for (int64_t s = 0; s < lead; ++s)
      last = arith::AddIOp::create(b, last, loop.getStep());
    copyAt(last, ahead);
  }

  const int64_t mostStages, bytesOfLane, warpgroup;
  // For the loop that is being rebuilt:
  DotOp ofWarpgroups; // the product that warpgroups compute, or null
  int64_t stages = 0, lead = 0;
  bool isEarly = false;
  Value k, current, ahead;
  /// The rings of the previous loop.
  struct {
    Block *block = nullptr;
    SmallVector<Value> rings;
    int64_t stages = 0;
  } last;
};

} // namespace

void heddle::stageByCopies(tile::FuncOp kernel, const TargetProfile &profile) { CopyPipeline(kernel, profile).run(); }

bool heddle::isOnlyProduct(scf::ForOp loop, DotOp product) {
  return loop.getNumRegionIterArgs() == 1 && product.getAccumulator() == loop.getRegionIterArg(0) &&
         loop.getYieldedValues()[0] == product.getResult() && product->hasOneUse() && !product.getTransposeLhs() &&
         product.getTransposeRhs();
}

bool heddle::isWarpgroupProduct(scf::ForOp loop, DotOp product) {
  auto lhs = product.getLhs().getDefiningOp<LoadOp>(), rhs = product.getRhs().getDefiningOp<LoadOp>();
  int64_t depth = cast<RankedTensorType>(product.getLhs().getType()).getDimSize(1);
  return isOnlyProduct(loop, product) && canReadShared(lhs, depth) && canReadShared(rhs, depth);
}

bool heddle::hasDepthLimit(LoadOp operand) {
  return static_cast<bool>(operand.getTransposed() ? operand.getRowLimit() : operand.getColumnLimit());
}
