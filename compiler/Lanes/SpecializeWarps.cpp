// Splits the lanes of a persistent matmul. Producers, a few subgroups, do nothing but copy operands to a ring of tiles in
// shared memory. Consumers, two warpgroups, multiply these tiles, and compute the epilogue while the producers already
// copy operands of the next tile of the result.
//
// for (tile) {                     if (producer)                          else
//   for (k) {                        for (tile)                             for (tile) {
//     a = load A[.., k]                for (k, every m-th)                    for (k) {
//     b = load B[k, ..]       ->         wait until tile k - n is released      wait for tile k of the ring
//     dot a, b                           copy A[.., k] or B[k, ..]              dot ring[k mod n]
//   }                                    arrive                                 wait; release tile k - 1
//   epilogue                                                                  }
// }                                                                           epilogue
//                                                                           }
//
// Producers work in m pairs, one for the left operand and one for the right, and the ring has n = 2 m tiles. The second
// warpgroup begins a tile of the result some steps after the first. So one of them multiplies while the other computes
// its epilogue.
#include "compiler/Lanes/LowerToLanes.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Lanes/StageOperands.h"
#include "compiler/Lanes/Warpgroups.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <tuple>

namespace mlir::heddle {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;
using heddle::constant;

namespace {

/// How many tiles of the ring the first warpgroup releases before the second one begins. At most one less than the ring
/// has: the producers wait for both warpgroups. With more, the first warpgroup would wait for operands: a producer needs
/// about as long as one and a half steps.
constexpr int64_t kLag = 1;
constexpr int64_t kPair = 2; // producers that fill a tile of the ring together
/// Registers of a lane. They are multiples of 8, and all lanes together have no more than ptxas gives them when the
/// kernel begins: 168 for each of 384 lanes.
constexpr uint64_t kRegistersOfProducer = 48, kRegistersOfConsumer = 224;

/// A loop over the K dimension that loads two operands and multiplies them.
struct Contraction {
  scf::ForOp loop;
  LoadOp lhs, rhs;
  DotOp dot;
};

MemRefType tileInMemory(LoadOp load, Attribute space, int64_t tiles) {
  ArrayRef<int64_t> shape = load.getType().getShape();
  int64_t rows = shape[load.getTransposed() ? 1 : 0], columns = shape[load.getTransposed() ? 0 : 1];
  return MemRefType::get({tiles * rows, columns}, load.getType().getElementType(),
                         SwizzledAttr::get(load.getContext(), rows), space);
}

/// The number of matrices that an operand may be in. Matmuls that share a launch select one of several.
int64_t countMatrices(Value memory) {
  auto select = memory.getDefiningOp<arith::SelectOp>();
  return select ? countMatrices(select.getTrueValue()) + countMatrices(select.getFalseValue()) : 1;
}

std::optional<Contraction> findContraction(scf::ForOp loop) {
  auto dots = loop.getBody()->getOps<DotOp>();
  if (!llvm::hasSingleElement(dots) || !llvm::hasNItems(loop.getBody()->getOps<LoadOp>(), 2))
    return std::nullopt;
  DotOp dot = *dots.begin();
  Contraction found{loop, dot.getLhs().getDefiningOp<LoadOp>(), dot.getRhs().getDefiningOp<LoadOp>(), dot};
  bool computes = llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
    return &op == found.lhs || &op == found.rhs || isMemoryEffectFree(&op);
  });
  if (!computes || !heddle::isWarpgroupProduct(loop, dot))
    return std::nullopt;
  // A loop over a number of steps that only the kernel knows takes at least one step, whose operands are zeros.
  bool isCounted = getConstantIntValue(loop.getLowerBound()) && getConstantIntValue(loop.getUpperBound());
  return isCounted || (heddle::hasDepthLimit(found.lhs) && heddle::hasDepthLimit(found.rhs)) ? std::optional(found)
                                                                                             : std::nullopt;
}

class SpecializeWarpsPass : public mlir::heddle::impl::SpecializeWarpsPassBase<SpecializeWarpsPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    kernel = getOperation();
    if (producers <= kLag || producers % kPair != 0 || kernel.getMapping() != LaneMapping::Tensor ||
        static_cast<int64_t>(kernel.getWorkgroup()) != 2 * warpgroup * FragmentAttr::kLanes)
      return;
    if (scf::ForOp tiles = findTiles(); tiles && makeRings())
      specialize(tiles);
  }

private:
  /// Returns the loop over the workgroup's tiles of the result, and sets `contractions`, if nothing but this loop has
  /// effects, and all lanes wait for each other nowhere. Otherwise returns null.
  scf::ForOp findTiles() {
    contractions.clear();
    scf::ForOp tiles;
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      auto loop = dyn_cast<scf::ForOp>(op);
      bool isPersistent =
          loop && !tiles && loop.getLowerBound().getDefiningOp<gpu::BlockIdOp>() && loop.getNumRegionIterArgs() == 0;
      if (isPersistent)
        tiles = loop;
      else if (!isMemoryEffectFree(&op) && !isa<LoadOp>(op) && !onlyStores(op))
        return {};
    }
    if (!tiles)
      return {};
    for (Operation &op : tiles.getBody()->without_terminator())
      if (auto loop = dyn_cast<scf::ForOp>(op))
        if (std::optional<Contraction> found = findContraction(loop))
          contractions.push_back(*found);
    WalkResult others = tiles.walk([&](Operation *op) {
      bool isKnown = llvm::any_of(contractions, [&](const Contraction &each) { return each.dot == op; });
      return isa<WaitOp, SharedOp, gpu::BarrierOp>(op) || (isa<DotOp>(op) && !isKnown) ? WalkResult::interrupt()
                                                                                       : WalkResult::advance();
    });
    return contractions.empty() || others.wasInterrupted() ? scf::ForOp() : tiles;
  }

  /// Returns true if the op does nothing but write to device memory, which producers may do, too.
  static bool onlyStores(Operation &op) {
    return !op.walk([](Operation *inner) {
                auto store = dyn_cast<StoreOp>(inner);
                bool isKnown = store ? !isShared(store.getMemory().getType())
                                     : isa<scf::ForOp, scf::YieldOp>(inner) || isMemoryEffectFree(inner);
                return isKnown ? WalkResult::advance() : WalkResult::interrupt();
              }).wasInterrupted();
  }

  /// Makes the rings for the operands, if those of all loops have the same shapes and there is room.
  bool makeRings() {
    auto space = gpu::AddressSpaceAttr::get(&getContext(), gpu::AddressSpace::Workgroup);
    MemRefType types[] = {tileInMemory(contractions[0].lhs, space, producers),
                          tileInMemory(contractions[0].rhs, space, producers)};
    for (const Contraction &each : contractions)
      if (tileInMemory(each.lhs, space, producers) != types[0] || tileInMemory(each.rhs, space, producers) != types[1])
        return false;
    if (getSharedBytes(types[0]) + getSharedBytes(types[1]) > bytesOfLane * static_cast<int64_t>(kernel.getWorkgroup()))
      return false;
    auto b = ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(), &kernel.getBody().front());
    left = SharedOp::create(b, types[0]);
    right = SharedOp::create(b, types[1]);
    auto makeBarriers = [&](int64_t count) {
      return SharedOp::create(b, MemRefType::get({count, 2}, b.getI32Type(), AffineMap(), space)).getResult();
    };
    full = makeBarriers(producers);
    empty = makeBarriers(2 * producers); // those of the first warpgroup, then those of the second
    MbarrierInitOp::create(b, full, static_cast<uint64_t>(kPair));
    MbarrierInitOp::create(b, empty, static_cast<uint64_t>(warpgroup.getValue()));
    gpu::BarrierOp::create(b);
    return true;
  }

  void specialize(scf::ForOp tiles) {
    int64_t workgroup = kernel.getWorkgroup();
    kernel.setProducers(producers * FragmentAttr::kLanes);
    ImplicitLocOpBuilder b(tiles.getLoc(), tiles);
    Value lane = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
    own = heddle::findWarpgroup(b, lane, workgroup);
    Value isProducer = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, own, constant(b, 2));
    auto branch = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    RegistersOp::create(b, kRegistersOfProducer, /*more=*/false);
    produce(b, tiles, lane);
    b.setInsertionPointToStart(branch.elseBlock());
    RegistersOp::create(b, kRegistersOfConsumer, /*more=*/true);
    noteSteps();
    consume(b, tiles);
  }

  void noteSteps() {
    int64_t all = 0;
    for (const Contraction &each : contractions) {
      scf::ForOp loop = each.loop;
      std::optional<APInt> steps = loop.getStaticTripCount();
      if (!steps)
        return;
      all += steps->getSExtValue();
    }
    OpBuilder b(kernel);
    kernel->setAttr(heddle::kStepsName, b.getI64IntegerAttr(all));
    if (int64_t matmuls = countMatrices(LoadOp(contractions[0].rhs).getMemory()); matmuls > 1)
      kernel->setAttr(heddle::kMatmulsName, b.getI64IntegerAttr(matmuls));
  }

  //===-- Producers ---------------------------------------------------------------------------------------------===//

  void produce(ImplicitLocOpBuilder &b, scf::ForOp tiles, Value lane) const {
    Value consumers = constant(b, 2 * warpgroup), pair = constant(b, kPair);
    Value subgroup = arith::DivUIOp::create(b, lane, constant(b, FragmentAttr::kLanes));
    Value number = arith::SubIOp::create(b, subgroup, consumers);
    Value ownPair = arith::DivUIOp::create(b, number, pair);
    Value copiesLeft =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, arith::RemUIOp::create(b, number, pair), constant(b, 0));
    // The loop's value counts the steps of all tiles before.
    auto loop = scf::ForOp::create(b, tiles.getLowerBound(), tiles.getUpperBound(), tiles.getStep(), constant(b, 0));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    IRMapping mapping;
    mapping.map(tiles.getInductionVar(), loop.getInductionVar());
    Value done = loop.getRegionIterArg(0);
    for (const Contraction &each : contractions)
      done = fill(b, tiles, each, mapping, ownPair, copiesLeft, done);
    scf::YieldOp::create(b, done);
  }

  /// Emits the copies of every m-th step, by pair number `pair` of m. Returns `done` plus the number of the loop's steps.
  Value fill(ImplicitLocOpBuilder &b, scf::ForOp tiles, const Contraction &each, IRMapping &mapping, Value pair,
             Value copiesLeft, Value done) const {
    auto place = [&](Value value, IRMapping &mapping) {
      return value ? heddle::cloneForCounter(b, tiles, value, mapping) : Value();
    };
    Value lower = place(scf::ForOp(each.loop).getLowerBound(), mapping),
          upper = place(scf::ForOp(each.loop).getUpperBound(), mapping),
          step = place(scf::ForOp(each.loop).getStep(), mapping);
    Value steps = countSteps(b, lower, upper, step);
    Value ring = constant(b, producers), pairs = constant(b, producers / kPair);
    // The first of these steps: (pair - done) mod m.
    Value ahead =
        arith::SubIOp::create(b, arith::AddIOp::create(b, pair, pairs), arith::RemUIOp::create(b, done, pairs));
    auto loop = scf::ForOp::create(b, arith::RemUIOp::create(b, ahead, pairs), steps, pairs);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value number = arith::AddIOp::create(b, done, loop.getInductionVar());
      Value slot = arith::RemUIOp::create(b, number, ring);
      Value before = parityOf(b, arith::AddIOp::create(b, number, ring));
      MbarrierWaitOp::create(b, empty, slot, before);
      MbarrierWaitOp::create(b, empty, arith::AddIOp::create(b, slot, ring), before);
      Value k = arith::AddIOp::create(b, lower, arith::MulIOp::create(b, loop.getInductionVar(), step));
      auto branch = scf::IfOp::create(b, copiesLeft, /*withElseRegion=*/true);
      for (auto [load, memory, block] :
           {std::tuple(each.lhs, left, branch.thenBlock()), std::tuple(each.rhs, right, branch.elseBlock())}) {
        OpBuilder::InsertionGuard inBranch(b);
        b.setInsertionPointToStart(block);
        IRMapping inner = mapping;
        inner.map(scf::ForOp(each.loop).getInductionVar(), k);
        LoadOp from = load;
        int64_t rows = memory.getType().getDimSize(0) / producers;
        // Matmuls that share a launch choose the memory of their operands for each tile of the result.
        Value source = place(from.getMemory(), inner);
        CopyOp::create(b, memory, arith::MulIOp::create(b, slot, constant(b, rows)), rows, source,
                       place(from.getRow(), inner), place(from.getColumn(), inner), place(from.getRowLimit(), inner),
                       place(from.getColumnLimit(), inner), from.getMembers(), from.getApart(), /*of_subgroup=*/true);
      }
      CommitOp::create(b);
      MbarrierArriveOp::create(b, full, slot, Value(), /*copied=*/true);
    }
    return arith::AddIOp::create(b, done, steps);
  }

  //===-- Consumers ---------------------------------------------------------------------------------------------===//

  void consume(ImplicitLocOpBuilder &b, scf::ForOp tiles) const {
    auto loop = scf::ForOp::create(b, tiles.getLowerBound(), tiles.getUpperBound(), tiles.getStep(), constant(b, 0));
    Block *body = loop.getBody();
    body->getOperations().splice(body->begin(), tiles.getBody()->getOperations());
    tiles.getInductionVar().replaceAllUsesWith(loop.getInductionVar());
    tiles.erase();
    Value done = loop.getRegionIterArg(0);
    for (const Contraction &each : contractions)
      done = multiply(each, done, /*isFirst=*/done == loop.getRegionIterArg(0));
    body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    scf::YieldOp::create(b, done);
  }

  /// Replaces the loop by one that multiplies the ring's tiles. Returns `done` plus the number of steps.
  Value multiply(const Contraction &each, Value done, bool isFirst) const {
    scf::ForOp loop = each.loop;
    DotOp dot = each.dot;
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    Value steps = countSteps(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    Value zero = constant(b, 0), one = constant(b, 1), ring = constant(b, producers);
    if (isFirst)
      fallBehind(b, done, steps);
    Value firstOfOwn = arith::MulIOp::create(b, own, ring);
    auto release = [&](Value number, Value condition) {
      Value slot = arith::AddIOp::create(b, firstOfOwn, arith::RemUIOp::create(b, number, ring));
      MbarrierArriveOp::create(b, empty, slot, condition, /*copied=*/false);
    };
    Value end = arith::AddIOp::create(b, done, steps);
    auto next = scf::ForOp::create(b, zero, steps, one, loop.getInitArgs());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(next.getBody());
      Value i = next.getInductionVar(), number = arith::AddIOp::create(b, done, i);
      Value slot = arith::RemUIOp::create(b, number, ring);
      MbarrierWaitOp::create(b, full, slot, parityOf(b, number));
      auto rowOf = [&](TypedValue<MemRefType> memory) {
        return arith::MulIOp::create(b, slot, constant(b, memory.getType().getDimSize(0) / producers)).getResult();
      };
      auto depth = static_cast<uint64_t>(cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(1));
      Value sum =
          WarpgroupDotOp::create(b, dot.getType(), next.getRegionIterArg(0), left, rowOf(left), right, rowOf(right),
                                 depth, LoadOp(each.lhs).getTransposed(), !LoadOp(each.rhs).getTransposed());
      // The matmul of the step before is done once only this step's runs.
      WarpgroupWaitOp::create(b, Type(), 1, Value());
      release(arith::SubIOp::create(b, number, one), arith::CmpIOp::create(b, arith::CmpIPredicate::ne, i, zero));
      scf::YieldOp::create(b, sum);
    }
    b.setInsertionPointAfter(next);
    Value sum = WarpgroupWaitOp::create(b, dot.getType(), 0, next.getResult(0)).getResult();
    release(arith::SubIOp::create(b, end, one), Value());
    loop.getResult(0).replaceAllUsesWith(sum);
    loop.erase();
    return end;
  }

  /// Lets the second warpgroup wait until the first one has released some tiles of the ring. Nothing but speed depends
  /// on it. With fewer steps than that, neither waits.
  void fallBehind(ImplicitLocOpBuilder &b, Value done, Value steps) const {
    Value isSecond = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, own, constant(b, 0));
    Value isLong = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, steps, constant(b, kLag));
    auto branch =
        scf::IfOp::create(b, arith::AndIOp::create(b, isSecond, isLong).getResult(), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value number = arith::AddIOp::create(b, done, constant(b, kLag - 1));
    MbarrierWaitOp::create(b, empty, arith::RemUIOp::create(b, number, constant(b, producers)), parityOf(b, number));
  }

  //===-- Both --------------------------------------------------------------------------------------------------===//

  /// The number of steps of a loop, at least one.
  static Value countSteps(ImplicitLocOpBuilder &b, Value lower, Value upper, Value step) {
    std::optional<int64_t> from = getConstantIntValue(lower), to = getConstantIntValue(upper),
                           by = getConstantIntValue(step);
    if (from && to && by)
      return constant(b, std::max<int64_t>(1, llvm::divideCeil(*to - *from, *by)));
    Value one = constant(b, 1);
    Value length = arith::MaxSIOp::create(b, arith::SubIOp::create(b, upper, lower), one);
    return arith::DivUIOp::create(b, arith::AddIOp::create(b, length, arith::SubIOp::create(b, step, one)), step);
  }

  /// The parity of the phase in which step `number`, counted over all tiles, uses its tile of the ring.
  Value parityOf(ImplicitLocOpBuilder &b, Value number) const {
    Value round = arith::DivUIOp::create(b, number, constant(b, producers));
    return arith::RemUIOp::create(b, round, constant(b, 2));
  }

  tile::FuncOp kernel;
  SmallVector<Contraction> contractions;
  TypedValue<MemRefType> left, right; // rings of operands
  Value full, empty;                  // mbarriers: a tile has been filled, and each warpgroup has released it
  Value own;                          // the lane's warpgroup
};

} // namespace

std::unique_ptr<Pass> heddle::createSpecializeWarpsPass(const TargetProfile &profile) {
  return createSpecializeWarpsPass(
      {profile.tensor.producers, profile.tensor.sharedBytesOfLane, profile.tensor.warpgroup});
}
