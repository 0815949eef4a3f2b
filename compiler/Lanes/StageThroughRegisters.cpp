// Pipelines loops on devices without asynchronous copies: lanes load a tile into registers one step ahead.
//
// for (k) {                      store (load A[.., first]) to ring[0]
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait                       // tile k is in the ring, tile k - 1 is no longer read
// }                                next = load A[.., k + 1]   // its values come while the products are made
//                                  a = load ring[k mod 2]
//                                  ..dot a..
//                                  store next to ring[1 - k mod 2]
//                                }
//
// Here parts of a tile may also be unreadable in device memory, for example past a matrix's end.
#include "compiler/Lanes/LoopPipeline.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

constexpr int64_t kTiles = 2; // of a ring
constexpr int64_t kPart = 4;  // of the contracted dimension

/// Returns true if the loaded tile, widened or not, is used only by products and by additions, which sum up operands
/// beside the products.
bool isProductOperand(Operation *load) {
  return !load->use_empty() && llvm::all_of(load->getUsers(), [](Operation *user) {
    return isa<DotOp, arith::AddFOp>(user) || (isa<arith::ExtFOp>(user) && isProductOperand(user));
  });
}

class RegisterPipeline final : public LoopPipeline {
public:
  RegisterPipeline(tile::FuncOp kernel, bool hasMatrices) : LoopPipeline(kernel), hasMatrices(hasMatrices) {
    kernel.walk([&](SharedOp shared) {
      if (!hasMatrices) // can be a ring: its users after a loop wait for all lanes
        rings.push_back(shared);
    });
  }

private:
  std::optional<Start> beginLoop() override {
    choose([](LoadOp load) { return isProductOperand(load) && !isShared(load.getMemory().getType()); },
           /*asInMemory=*/hasMatrices);
    if (staged.empty())
      return {};
    makeRings([&](const Stage &stage) { return ringFor(getSharedType(stage.tile, kTiles)); });
    b.setInsertionPoint(loop);
    bool follows = loopsBefore++ > 0;
    if (loop->getParentOfType<scf::ForOp>() || follows)
      WaitOp::create(b, 0); // the last tiles of the loop's previous run, or of a previous loop, may still be read
    Value zero = constant(b, 0);
    one = constant(b, 1);
    loadAt(loop.getLowerBound());
    store(zero);
    return Start{loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), {zero}};
  }

  Value beginStep(Value counter, ValueRange numbers) override {
    WaitOp::create(b, 0);
    // The last iteration reads its own tile again, which nothing uses.
    Value following = arith::AddIOp::create(b, counter, loop.getStep());
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, following, loop.getUpperBound());
    loadAt(arith::SelectOp::create(b, inside, following, counter));
    current = numbers[0];
    return counter;
  }

  bool replace(Operation &op, IRMapping &mapping) override {
    if (auto dot = dyn_cast<DotOp>(op); dot && !hasMatrices && hasSlices(dot)) {
      multiply(dot, mapping);
      return true;
    }
    const Stage *stage = isa<LoadOp>(op) ? find(op.getResult(0)) : nullptr;
    if (stage)
      mapping.map(op.getResult(0), read(*stage, LoadOp(stage->load).getType(), stage->rowOf(b, current)));
    return stage;
  }

  SmallVector<Value> endStep() override {
    Value other = arith::SubIOp::create(b, one, current);
    store(other);
    return {other};
  }

  /// Operands of a product in blocks are read a part of the contracted dimension at a time, so that a lane never holds
  /// more than that part of them. Returns true if lanes can do so: both come from rings, and their loads do not transpose.
  bool hasSlices(DotOp dot) const {
    auto isStaged = [&](Value operand) {
      const Stage *stage = find(source(operand));
      return stage && !stage->isTurned;
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

  /// Returns an operand's loaded value, before it was widened.
  static Value source(Value operand) {
    auto widened = operand.getDefiningOp<arith::ExtFOp>();
    return widened ? widened.getIn() : operand;
  }

  Value slice(Value operand, int dim, int64_t from, int64_t count) {
    const Stage &stage = *find(source(operand));
    SmallVector<int64_t> shape(stage.tile.getShape());
    shape[dim] = count;
    Value row = stage.rowOf(b, current);
    if (dim == 0 && from)
      row = arith::AddIOp::create(b, row, constant(b, from));
    Value part = read(stage, stage.tile.clone(shape), row, dim == 1 ? from : 0);
    auto type = cast<RankedTensorType>(operand.getType());
    return type.getElementType() == stage.tile.getElementType()
               ? part
               : arith::ExtFOp::create(b, type.clone(shape), part).getResult();
  }

  /// Consecutive loops share their rings. (Of nested loops only the innermost has products.)
  Value ringFor(MemRefType type) {
    for (Value ring : rings)
      if (ring.getType() == type && llvm::none_of(staged, [&](const Stage &stage) { return stage.ring == ring; }))
        return ring;
    rings.push_back(SharedOp::create(b, type));
    return rings.back();
  }

  /// Reads the tiles that the loop loads at `at` into registers.
  void loadAt(Value at) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), at);
    for (const Stage &stage : staged) {
      if (stage.same)
        continue;
      LoadOp load = stage.load;
      Source from = sourceOf(load, mapping);
      next[stage.ring] = LoadOp::create(b, stage.tile, load.getMemory(), from.row, from.column, from.rowLimit,
                                        from.columnLimit, load.getAnyPadding(), load.getTransposed() && !stage.isTurned,
                                        /*packed=*/0, /*is_unsigned=*/false,
                                        /*repeats=*/1, /*clamped=*/false, load.getMembers(), load.getApart());
    }
  }

  /// Writes these registers to tile `number` of the rings.
  void store(Value number) {
    for (const Stage &stage : staged)
      if (!stage.same)
        StoreOp::create(b, next.at(stage.ring), stage.ring, stage.rowOf(b, number), constant(b, 0), Value(), Value());
  }

  const bool hasMatrices;
  SmallVector<Value> rings;
  int64_t loopsBefore = 0;
  DenseMap<Value, Value> next; // tiles of the next iteration, in registers, by their rings
  Value one, current;
};

} // namespace

void heddle::stageThroughRegisters(tile::FuncOp kernel, bool hasMatrices) {
  RegisterPipeline(kernel, hasMatrices).run();
}
