// Pipelines matmuls of f32 that warpgroups multiply as tf32. wgmma reads both operands along the K dimension, and ignores
// the low bits of their elements. So lanes load tiles into registers a step ahead, transpose them if necessary, round
// them, and store them to a ring of three tiles.
//
// for (k) {                      store (load A[.., 0]) to ring[0]; next = load A[.., 1]
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait                                 // tile k is in the ring
//                                  ..warpgroup_dot ring[k mod 3]..      // runs during the rest of the step
//                                  store next to ring[(k + 1) mod 3]
//                                  next = load A[.., k + 2]
//                                  warpgroup_wait 1                     // tile k - 1 is no longer read
//                                }
#include "compiler/Lanes/LoopPipeline.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

class RoundedPipeline final : public LoopPipeline {
public:
  RoundedPipeline(tile::FuncOp kernel, const TargetProfile &profile)
      : LoopPipeline(kernel), bytesOfLane(profile.tensor.sharedBytesOfLane), warpgroup(profile.tensor.warpgroup) {}

private:
  std::optional<Start> beginLoop() override {
    auto dots = loop.getBody()->getOps<DotOp>();
    if (!llvm::hasSingleElement(dots))
      return {};
    product = *dots.begin();
    choose([&](LoadOp load) { return canRound(load); }, /*asInMemory=*/false);
    bool runsOnce = !getConstantIntValue(loop.getUpperBound());
    if (!isOnlyProduct(loop, product) || !find(product.getLhs()) || !find(product.getRhs()) ||
        (runsOnce && !llvm::all_of(staged, [](const Stage &stage) { return hasDepthLimit(stage.load); })) ||
        !takeRings())
      return {};
    b.setInsertionPoint(loop);
    if (loop->getParentOfType<scf::ForOp>() || loopsBefore++ > 0)
      WaitOp::create(b, 0); // lanes may still read the last tiles of a loop before
    Start start = beginSteps(runsOnce);
    Value first = loop.getLowerBound();
    Value second = stepAt(arith::AddIOp::create(b, first, loop.getStep()), first);
    start.numbers = {constant(b, 0), constant(b, 1)};
    SmallVector<const Stage *> own;
    SmallVector<Value> tiles;
    for (const Stage &stage : staged)
      if (!stage.same) {
        own.push_back(&stage);
        tiles.push_back(load(stage, first));
      }
    for (auto [stage, tile] : llvm::zip_equal(own, tiles)) {
      store(*stage, tile, first, constant(b, 0));
      start.numbers.push_back(load(*stage, second));
    }
    return start;
  }

  Value beginStep(Value counter, ValueRange numbers) override {
    WaitOp::create(b, 0);
    current = numbers[0], ahead = numbers[1];
    next.assign(numbers.begin() + 2, numbers.end());
    return k = counterOf(counter);
  }

  bool replace(Operation &op, IRMapping &mapping) override {
    if (product != &op)
      return isa<LoadOp>(op) && find(op.getResult(0));
    const Stage &lhs = *find(product.getLhs()), &rhs = *find(product.getRhs());
    mapping.map(product.getResult(),
                WarpgroupDotOp::create(b, product.getType(), mapping.lookup(product.getAccumulator()), lhs.ring,
                                       lhs.rowOf(b, current), rhs.ring, rhs.rowOf(b, current),
                                       static_cast<uint64_t>(lhs.tile.getDimSize(1)), /*transpose_lhs=*/false,
                                       /*transpose_rhs=*/true)
                    .getResult());
    Value following = arith::AddIOp::create(b, k, loop.getStep());
    Value second = stepAt(arith::AddIOp::create(b, following, loop.getStep()), k);
    auto tile = next.begin();
    for (const Stage &stage : staged)
      if (!stage.same) {
        store(stage, *tile, following, ahead);
        *tile++ = load(stage, second);
      }
    WarpgroupWaitOp::create(b, Type(), 1, Value());
    return true;
  }

  SmallVector<Value> endStep() override {
    SmallVector<Value> numbers;
    for (Value number : {current, ahead}) {
      Value following = arith::AddIOp::create(b, number, constant(b, 1));
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, following, constant(b, kFewestWarpgroupStages));
      numbers.push_back(arith::SelectOp::create(b, isLast, constant(b, 0), following));
    }
    llvm::append_range(numbers, next);
    return numbers;
  }

  void endLoop(MutableArrayRef<Value> results) override {
    for (Value &result : results)
      result = WarpgroupWaitOp::create(b, result.getType(), 0, result).getResult();
  }

  /// Returns true if lanes can store the tile: each has a group of 16 bytes of each of its rows.
  bool canRound(LoadOp load) {
    RankedTensorType tile = load.getType();
    auto lanes = static_cast<int64_t>(kernel.getWorkgroup());
    return tile.getElementType().isF32() && !isShared(load.getMemory().getType()) &&
           llvm::all_of(load->getUsers(), [&](Operation *user) { return user == product; }) &&
           lanes % (warpgroup * FragmentAttr::kLanes) == 0 &&
           tile.getDimSize(1) % panelColumns(tile.getElementType()) == 0 &&
           tile.getDimSize(0) % (lanes / FragmentAttr::kPiece) == 0;
  }

  /// Sets the rings of the staged loads. Loops that follow each other share rings. Returns false if there is no room.
  bool takeRings() {
    SmallVector<Value> left = rings;
    int64_t bytes = 0;
    kernel.walk([&](SharedOp other) { bytes += getSharedBytes(other.getResult().getType()); });
    SmallVector<MemRefType> types;
    SmallVector<Value> taken;
    for (const Stage &stage : staged) {
      int64_t rows = stage.tile.getDimSize(0);
      auto type = MemRefType::get({kFewestWarpgroupStages * rows, stage.tile.getDimSize(1)},
                                  stage.tile.getElementType(), SwizzledAttr::get(b.getContext(), rows),
                                  gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
      auto ring = llvm::find_if(left, [&](Value ring) { return ring.getType() == type; });
      types.push_back(type);
      taken.push_back(ring == left.end() ? Value() : *ring);
      if (ring == left.end())
        bytes += stage.same ? 0 : getSharedBytes(type);
      else
        left.erase(ring);
    }
    if (bytes > bytesOfLane * static_cast<int64_t>(kernel.getWorkgroup()))
      return false;
    size_t number = 0;
    makeRings([&](const Stage &stage) {
      number = &stage - staged.begin();
      if (taken[number])
        return taken[number];
      rings.push_back(SharedOp::create(b, types[number]));
      return rings.back();
    });
    return true;
  }

  /// The step at `at`, or the step at `otherwise`, which is not read, if there is no such step.
  Value stepAt(Value at, Value otherwise) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, upper);
    return arith::SelectOp::create(b, inside, at, otherwise);
  }

  /// Loads a tile of the step at `at`. Lanes do not wait for the elements here, so nothing is computed from them.
  Value load(const Stage &stage, Value at) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), at);
    LoadOp load = stage.load;
    Source from = sourceOf(load, mapping);
    return LoadOp::create(b, stage.tile, load.getMemory(), from.row, from.column, from.rowLimit, from.columnLimit,
                          /*any_padding=*/true, load.getTransposed(), /*packed=*/0, /*is_unsigned=*/false,
                          /*repeats=*/1, /*clamped=*/false, load.getMembers(), load.getApart());
  }

  /// Stores a tile of the step at `at` to tile `number` of its ring. Elements past the end of the K dimension become
  /// zero.
  void store(const Stage &stage, Value tile, Value at, Value number) {
    if (LoadOp load = stage.load; hasDepthLimit(load) && !load.getAnyPadding())
      tile = withinDepth(load, tile, at);
    StoreOp::create(b, tile, stage.ring, stage.rowOf(b, number), constant(b, 0), Value(), Value());
  }

  Value withinDepth(LoadOp load, Value tile, Value at) {
    auto type = cast<RankedTensorType>(tile.getType());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), at);
    Source from = sourceOf(load, mapping);
    Value begin = load.getTransposed() ? from.row : from.column,
          limit = load.getTransposed() ? from.rowLimit : from.columnLimit;
    auto row = RankedTensorType::get({1, type.getDimSize(1)}, b.getI32Type());
    Value numbers = tile::IndexOp::create(b, row, begin, 1);
    Value last = SplatOp::create(b, row, arith::IndexCastOp::create(b, b.getI32Type(), limit));
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, numbers, last);
    Value all = tile::BroadcastOp::create(b, type.clone(b.getI1Type()), inside);
    Value zero = arith::ConstantOp::create(b, DenseElementsAttr::get(type, 0.0f));
    return arith::SelectOp::create(b, all, tile, zero);
  }

  const int64_t bytesOfLane, warpgroup;
  SmallVector<Value> rings;
  int64_t loopsBefore = 0;
  // For the loop that is being rebuilt:
  DotOp product;
  Value k, current, ahead;
  SmallVector<Value> next; // tiles of the next step, in registers
};

} // namespace

void heddle::stageRounded(tile::FuncOp kernel, const TargetProfile &profile) { RoundedPipeline(kernel, profile).run(); }
