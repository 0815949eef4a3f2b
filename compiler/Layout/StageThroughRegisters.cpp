// for (k) {                      store (load A[.., first]) to ring[0]
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait                       // tile k is in the ring, tile k - 1 is no longer read
// }                                next = load A[.., k + 1]   // its values come while the products are made
//                                  a = load ring[k mod 2]
//                                  ..dot a..
//                                  store next to ring[1 - k mod 2]
//                                }
//
// What heddle-stage-factors does where a device has no copies that run by themselves, and no promise that the pieces of
// a tile could be read from device memory: past a matrix's end, say.
#include "compiler/Layout/StageThroughRegisters.h"

#include "compiler/Layout/StageFactors.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

constexpr int64_t kPadding = 8; // elements of 16 bits between rows, so that neighbours begin in different banks
constexpr int64_t kTiles = 2;   // of a ring

/// A load of factors, and the ring that it is to come from.
struct Stage {
  LoadOp load;
  RankedTensorType tile; // as it lies in memory
  Value ring;
  Value next;    // the tile of the next iteration, in registers
  bool isSource; // false where another load's tiles fill the ring
};

struct StageThroughRegistersPass : PassWrapper<StageThroughRegistersPass, OperationPass<tile::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageThroughRegistersPass)
  StringRef getArgument() const override { return "heddle-stage-through-registers"; }
  StringRef getDescription() const override {
    return "Read the factors of products an iteration ahead and write them to shared memory (software pipelining)";
  }

  void runOnOperation() override {
    if (getOperation().getSpread() != "cooperative")
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      stage(loop);
  }

private:
  void stage(scf::ForOp loop) {
    SmallVector<Stage> staged = findStages(loop);
    if (staged.empty())
      return;
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    if (loop->getParentOfType<scf::ForOp>())
      WaitOp::create(b, 0); // the last tiles of the loop's last run may still be read
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
    // The last iteration reads its own tile again, for nobody.
    Value following = arith::AddIOp::create(b, k, loop.getStep());
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, following, loop.getUpperBound());
    loadAt(b, loop, staged, arith::SelectOp::create(b, inside, following, k));

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), k);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), next.getRegionIterArgs()))
      mapping.map(from, to);
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto found = llvm::find_if(staged, [&](const Stage &stage) { return stage.load == &op; });
      if (found == staged.end()) {
        b.clone(op, mapping);
        continue;
      }
      Value row = arith::MulIOp::create(b, current, constant(b, found->tile.getDimSize(0)));
      Value tile = LoadOp::create(b, found->load.getType(), found->ring, row, constant(b, 0), Value(), Value(),
                                  /*any_padding=*/true, found->load.getTransposed());
      mapping.map(found->load.getResult(), tile);
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
      if (load->use_empty() || !llvm::all_of(load->getUsers(), llvm::IsaPred<DotOp>))
        continue;
      RankedTensorType type = load.getType();
      SmallVector<int64_t> shape(type.getShape());
      if (load.getTransposed())
        std::swap(shape[0], shape[1]);
      Stage stage{load, type.clone(shape), {}, {}, /*isSource=*/true};
      for (const Stage &other : staged)
        if (readSame(other.load, load) && other.tile == stage.tile)
          stage.ring = other.ring, stage.isSource = false;
      if (stage.isSource)
        stage.ring = SharedOp::create(b, getSharedType(stage.tile, kPadding, kTiles));
      staged.push_back(stage);
    }
    return staged;
  }

  /// Reads the tiles that the loop loads at `at` to registers.
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
      stage.next = LoadOp::create(b, stage.tile, load.getMemory(), row, column, rowLimit, columnLimit,
                                  load.getAnyPadding(), /*transposed=*/false);
    }
  }

  /// Writes them to tile `number` of their rings.
  static void store(ImplicitLocOpBuilder &b, ArrayRef<Stage> staged, Value number) {
    for (const Stage &stage : staged)
      if (stage.isSource)
        StoreOp::create(b, stage.next, stage.ring,
                        arith::MulIOp::create(b, number, constant(b, stage.tile.getDimSize(0))), constant(b, 0),
                        Value(), Value());
  }

  static Value constant(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }
};

} // namespace

std::unique_ptr<Pass> heddle::createStageThroughRegistersPass() {
  return std::make_unique<StageThroughRegistersPass>();
}
void heddle::registerStageThroughRegistersPass() { PassRegistration<StageThroughRegistersPass>(); }
