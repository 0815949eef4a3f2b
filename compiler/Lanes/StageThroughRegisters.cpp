// for (k) {                      store (load A[.., first]) to ring[0]
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait                       // tile k is in the ring, tile k - 1 is no longer read
// }                                next = load A[.., k + 1]   // its values come while the products are made
//                                  a = load ring[k mod 2]
//                                  ..dot a..
//                                  store next to ring[1 - k mod 2]
//                                }
//
// Replaces heddle-stage-operands on devices without asynchronous copies. Here parts of a tile may also be unreadable in
// device memory, for example past a matrix's end.
#include "compiler/Lanes/KernelLayouts.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Lanes/StageOperands.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_STAGETHROUGHREGISTERSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

constexpr int64_t kTiles = 2; // of a ring

/// Returns true if the loaded tile, widened or not, is used only by products and by additions, which sum up operands
/// beside the products.
bool isProductOperand(Operation *load) {
  return !load->use_empty() && llvm::all_of(load->getUsers(), [](Operation *user) {
    return isa<DotOp, arith::AddFOp>(user) || (isa<arith::ExtFOp>(user) && isProductOperand(user));
  });
}

/// A load of an operand, and the ring that it will read.
struct Stage {
  LoadOp load;
  RankedTensorType tile; // as it lies in the ring: as in memory, or, in blocks, as it is loaded
  bool turned;           // the load from the ring transposes the tile
  Value ring;
  Value next;    // the tile of the next iteration, in registers
  bool isSource; // false where another load's tiles fill the ring
};

/// Reads tiles from their rings. Operands of a product in blocks are read a part of the contracted dimension at a time,
/// so that a lane never holds more than that part of them. Other tiles are read whole.
class SliceReader {
public:
  /// `current`: the number of the tile in the ring.
  SliceReader(ImplicitLocOpBuilder &b, ArrayRef<Stage> staged, Value current)
      : b(b), staged(staged), current(current) {}

  const Stage *find(Value value) const {
    auto found =
        llvm::find_if(staged, [&](const Stage &stage) { return value && value == LoadOp(stage.load).getResult(); });
    return found == staged.end() ? nullptr : &*found;
  }

  Value read(const Stage &stage) { return read(stage, 0, LoadOp(stage.load).getType(), /*offset=*/0); }

  /// Returns true if lanes can read both operands of `dot` part by part: both come from rings, and their loads do not
  /// transpose.
  bool hasSlices(DotOp dot) const {
    auto isStaged = [&](Value operand) {
      const Stage *stage = find(source(operand));
      return stage && !stage->turned;
    };
    return isStaged(dot.getLhs()) && isStaged(dot.getRhs());
  }

  /// Emits the product part by part.
  void multiply(DotOp dot, IRMapping &mapping) {
    int lhsDim = dot.getTransposeLhs() ? 0 : 1, rhsDim = dot.getTransposeRhs() ? 1 : 0;
    int64_t depth = cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(lhsDim);
    Value product = mapping.lookupOrDefault(dot.getAccumulator());
    for (int64_t k = 0; k < depth; k += kPart) {
      int64_t count = std::min(kPart, depth - k);
      Value left = slice(dot.getLhs(), lhsDim, k, count), right = slice(dot.getRhs(), rhsDim, k, count);
      product = DotOp::create(b, product.getType(), left, right, product, dot.getTransposeLhs(), dot.getTransposeRhs());
    }
    mapping.map(dot.getResult(), product);
  }

private:
  static constexpr int64_t kPart = 4;

  /// Returns an operand's loaded value, before it was widened.
  static Value source(Value operand) {
    auto widened = operand.getDefiningOp<arith::ExtFOp>();
    return widened ? widened.getIn() : operand;
  }

  Value slice(Value operand, int dim, int64_t from, int64_t count) {
    const Stage &stage = *find(source(operand));
    SmallVector<int64_t> shape(stage.tile.getShape());
    shape[dim] = count;
    Value part = read(stage, dim, stage.tile.clone(shape), from);
    auto type = cast<RankedTensorType>(operand.getType());
    return type.getElementType() == stage.tile.getElementType()
               ? part
               : arith::ExtFOp::create(b, type.clone(shape), part).getResult();
  }

  Value read(const Stage &stage, int dim, RankedTensorType type, int64_t offset) {
    Value row = arith::MulIOp::create(b, current, constant(b, stage.tile.getDimSize(0)));
    if (dim == 0 && offset)
      row = arith::AddIOp::create(b, row, constant(b, offset));
    return LoadOp::create(b, type, stage.ring, row, constant(b, dim == 1 ? offset : 0), Value(), Value(),
                          /*any_padding=*/true, stage.turned);
  }

  ImplicitLocOpBuilder &b;
  ArrayRef<Stage> staged;
  Value current;
};

class StageThroughRegistersPass : public mlir::heddle::impl::StageThroughRegistersPassBase<StageThroughRegistersPass> {
public:
  using Base::Base;
  StageThroughRegistersPass() = default;
  explicit StageThroughRegistersPass(const TargetProfile &profile) : profile(&profile) {}

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    std::optional<KernelLayouts> layouts = KernelLayouts::of(getOperation(), *profile);
    if (!layouts || !layouts->throughMemory)
      return;
    hasMatrices = layouts->hasMatrices;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    rings.clear();
    getOperation().walk([&](SharedOp shared) {
      if (!hasMatrices) // can be a ring: its users after a loop wait for all lanes
        rings.push_back(shared);
    });
    loopsBefore = 0;
    for (scf::ForOp loop : loops)
      stage(loop);
  }

private:
  void stage(scf::ForOp loop) {
    SmallVector<Stage> staged = findStages(loop);
    if (staged.empty())
      return;
    bool follows = loopsBefore++ > 0;
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    if (loop->getParentOfType<scf::ForOp>() || follows)
      WaitOp::create(b, 0); // the last tiles of the loop's previous run, or of a previous loop, may still be read
    Value zero = constant(b, 0), one = constant(b, 1);
    loadAt(b, loop, staged, loop.getLowerBound());
    store(b, staged, zero);

    auto next = scf::ForOp::create(
        b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(),
        llvm::to_vector(llvm::concat<Value>(llvm::to_vector_of<Value>(loop.getInitArgs()), SmallVector<Value>{zero})));
    Block *body = next.getBody();
    if (body->mightHaveTerminator())
      body->getTerminator()->erase();
    unsigned count = loop.getNumRegionIterArgs();
    Value current = next.getRegionIterArg(count), k = next.getInductionVar();

    b.setInsertionPointToStart(body);
    WaitOp::create(b, 0);
    // The last iteration reads its own tile again, which nothing uses.
    Value following = arith::AddIOp::create(b, k, loop.getStep());
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, following, loop.getUpperBound());
    loadAt(b, loop, staged, arith::SelectOp::create(b, inside, following, k));

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), k);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), next.getRegionIterArgs()))
      mapping.map(from, to);
    SliceReader reader(b, staged, current);
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto dot = dyn_cast<DotOp>(op); dot && !hasMatrices && reader.hasSlices(dot))
        reader.multiply(dot, mapping);
      else if (const Stage *stage = reader.find(op.getNumResults() ? op.getResult(0) : Value()))
        mapping.map(op.getResult(0), reader.read(*stage));
      else
        b.clone(op, mapping);
    }
    Value other = arith::SubIOp::create(b, one, current);
    store(b, staged, other);
    SmallVector<Value> yielded;
    for (Value value : loop.getYieldedValues())
      yielded.push_back(mapping.lookupOrDefault(value));
    yielded.push_back(other);
    scf::YieldOp::create(b, yielded);
    loop.replaceAllUsesWith(next.getResults().take_front(count));
    loop.erase();
  }

  SmallVector<Stage> findStages(scf::ForOp loop) {
    ImplicitLocOpBuilder b(loop.getLoc(), OpBuilder::atBlockBegin(&getOperation().getBody().front()));
    SmallVector<Stage> staged;
    for (auto load : loop.getBody()->getOps<LoadOp>()) {
      if (!isProductOperand(load) || isShared(load.getMemory().getType()))
        continue;
      RankedTensorType type = load.getType();
      SmallVector<int64_t> shape(type.getShape());
      bool turned = load.getTransposed() && hasMatrices;
      if (turned)
        std::swap(shape[0], shape[1]);
      Stage stage{load, type.clone(shape), turned, {}, {}, /*isSource=*/true};
      for (const Stage &other : staged)
        if (readSame(other.load, load) && other.tile == stage.tile && other.turned == stage.turned)
          stage.ring = other.ring, stage.isSource = false;
      if (stage.isSource)
        stage.ring = ringFor(b, getSharedType(stage.tile, kTiles), staged);
      staged.push_back(stage);
    }
    return staged;
  }

  /// Consecutive loops share their rings. (Of nested loops only the innermost has products.)
  Value ringFor(ImplicitLocOpBuilder &b, MemRefType type, ArrayRef<Stage> taken) {
    for (Value ring : rings)
      if (ring.getType() == type && llvm::none_of(taken, [&](const Stage &stage) { return stage.ring == ring; }))
        return ring;
    rings.push_back(SharedOp::create(b, type));
    return rings.back();
  }

  /// Reads the tiles that the loop loads at `at` into registers.
  static void loadAt(ImplicitLocOpBuilder &b, scf::ForOp loop, MutableArrayRef<Stage> staged, Value at) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), at);
    auto place = [&](Value value) { return value ? cloneForCounter(b, loop, value, mapping) : Value(); };
    for (Stage &stage : staged) {
      if (!stage.isSource)
        continue;
      LoadOp load = stage.load;
      Value row = place(load.getRow()), column = place(load.getColumn());
      Value rowLimit = place(load.getRowLimit()), columnLimit = place(load.getColumnLimit());
      stage.next =
          LoadOp::create(b, stage.tile, load.getMemory(), row, column, rowLimit, columnLimit, load.getAnyPadding(),
                         load.getTransposed() && !stage.turned, /*packed=*/0, /*is_unsigned=*/false,
                         /*repeats=*/1, /*clamped=*/false, load.getMembers(), load.getApart());
    }
  }

  /// Writes these registers to tile `number` of the rings.
  static void store(ImplicitLocOpBuilder &b, ArrayRef<Stage> staged, Value number) {
    for (const Stage &stage : staged)
      if (stage.isSource)
        StoreOp::create(b, stage.next, stage.ring,
                        arith::MulIOp::create(b, number, constant(b, stage.tile.getDimSize(0))), constant(b, 0),
                        Value(), Value());
  }

  const TargetProfile *profile = nullptr;
  SmallVector<Value> rings;
  int64_t loopsBefore = 0;
  bool hasMatrices = false;
};

} // namespace

std::unique_ptr<Pass> heddle::createStageThroughRegistersPass(const TargetProfile &profile) {
  return std::make_unique<StageThroughRegistersPass>(profile);
}
