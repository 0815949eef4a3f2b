// for (k) {                      for (s < stages - 1) { copy tile s; commit }
//   a = load A[.., k]            for (k) {
//   ..dot a..            ->        wait stages - 2            // tile k is there, tile k - 1 is no longer read
// }                                a = load ring[k mod stages]
//                                  ..dot a..
//                                  copy tile k + stages - 1 over tile k - 1; commit
//                                }
#include "compiler/Layout/StageOperands.h"
#include "compiler/Layout/Passes.h"

#include "compiler/Kernels/Fragments.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_STAGEOPERANDSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;
using heddle::cloneForCounter;
using heddle::readSame;

namespace {

constexpr int64_t kSwizzledRows = 8; // rows over which the ring's elements are out of order
constexpr int64_t kFewestStages = 2; // one is read while the other is filled

/// A load of operands, or of a number for each row of some, and the ring that it is to come from.
struct Stage {
  LoadOp load;
  Value ring;
  int64_t rows, columns; // of the tile as it lies in memory
  bool copies;           // false where another load's copies fill the ring
  bool isFixed;          // the same tile in all iterations: a ring of one
};

int64_t rowsOf(LoadOp load) { return load.getType().getDimSize(load.getTransposed() ? 1 : 0); }
int64_t columnsOf(LoadOp load) { return load.getType().getDimSize(load.getTransposed() ? 0 : 1); }

bool isProductOperand(LoadOp load) {
  MemRefType memory = load.getMemory().getType();
  return load.getType().getElementTypeBitWidth() == 16 && !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(memory) &&
         heddle::canCopyOperands(memory.getDimSize(1), columnsOf(load)) && rowsOf(load) % kSwizzledRows == 0 &&
         llvm::all_of(load->getUsers(), llvm::IsaPred<DotOp>);
}

/// A column of a matrix as a row: each lane would load what belongs to its columns one by one.
bool isColumn(LoadOp load) {
  return load.getType().getElementTypeBitWidth() == 32 && load.getTransposed() && columnsOf(load) == 1 &&
         load.getAnyPadding() && !load.getColumnLimit();
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
    bool isAfter = takeRings(staged, loop);
    int64_t stages = isAfter ? last.stages : makeRings(b, staged, loop);
    last.block = loop->getBlock(), last.stages = stages;
    if (!isAfter)
      last.rings.clear();
    for (const Stage &stage : staged)
      if (stage.copies && !stage.isFixed && !isAfter)
        last.rings.push_back(stage.ring);

    // Copies of the first tiles. Where the loop is one of another's iterations, or follows one, last tiles may still be
    // read.
    b.setInsertionPoint(loop);
    if (isAfter || loop->getParentOfType<scf::ForOp>())
      WaitOp::create(b, 0);
    for (const Stage &stage : staged)
      if (stage.isFixed && stage.copies) {
        LoadOp load = stage.load;
        CopyOp::create(b, stage.ring, constant(b, 0), stage.rows, load.getMemory(), load.getRow(), load.getColumn(),
                       load.getRowLimit(), load.getColumnLimit(), load.getMembers(), load.getApart());
      }
    Value step = loop.getStep(), at = loop.getLowerBound();
    for (int64_t s = 0; s + 1 < stages; ++s) {
      copyAt(b, loop, staged, at, constant(b, s));
      at = arith::AddIOp::create(b, at, step);
    }

    // The same loop with the number of the tile that it is at, and that of the one that it copies.
    auto next = scf::ForOp::create(
        b, loop.getLowerBound(), loop.getUpperBound(), step,
        llvm::to_vector(llvm::concat<Value>(llvm::to_vector_of<Value>(loop.getInitArgs()),
                                            SmallVector<Value>{constant(b, 0), constant(b, stages - 1)})));
    Block *body = next.getBody();
    if (body->mightHaveTerminator())
      body->getTerminator()->erase();
    unsigned count = loop.getNumRegionIterArgs();
    Value current = next.getRegionIterArg(count), ahead = next.getRegionIterArg(count + 1);

    b.setInsertionPointToStart(body);
    WaitOp::create(b, stages - 2);
    auto copyNext = [&] {
      Value last = next.getInductionVar();
      for (int64_t s = 0; s + 1 < stages; ++s)
        last = arith::AddIOp::create(b, last, step);
      copyAt(b, loop, staged, last, ahead);
    };
    // After the barrier all lanes are at the same place: what they do there before they multiply, no multiplication
    // hides. Where there is more than a product between barriers, that is little, and registers are scarce at the end.
    bool isEarly = stages == kFewestStages || isLong(loop);
    if (isEarly)
      copyNext();

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), next.getInductionVar());
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), next.getRegionIterArgs()))
      mapping.map(from, to);
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto found = llvm::find_if(staged, [&](const Stage &stage) { return stage.load == &op; });
      if (found == staged.end()) {
        b.clone(op, mapping);
        continue;
      }
      Value row = found->isFixed ? constant(b, 0) : arith::MulIOp::create(b, current, constant(b, found->rows));
      mapping.map(found->load.getResult(),
                  LoadOp::create(b, found->load.getType(), found->ring, row, constant(b, 0), Value(), Value(),
                                 /*any_padding=*/true, found->load.getTransposed())
                      .getResult());
    }
    if (!isEarly)
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
    loop.replaceAllUsesWith(next.getResults().take_front(count));
    loop.erase();
  }

  /// Several products make a step that takes longer than a copy does.
  static bool isLong(scf::ForOp loop) { return llvm::hasNItemsOrMore(loop.getBody()->getOps<DotOp>(), 2); }

  /// Loops that follow each other, of products that are added up, share their rings: there is no room for twice as
  /// many. Returns whether the loop before this one has left all that it needs.
  bool takeRings(MutableArrayRef<Stage> staged, scf::ForOp loop) const {
    if (last.block != loop->getBlock())
      return false;
    SmallVector<Value> left = last.rings;
    SmallVector<Value> taken;
    for (const Stage &stage : staged) {
      auto fits = [&](Value ring) {
        auto type = cast<MemRefType>(ring.getType());
        return type.getShape() == ArrayRef{last.stages * stage.rows, stage.columns} &&
               type.getElementType() == LoadOp(stage.load).getType().getElementType();
      };
      auto ring = llvm::find_if(left, fits);
      if (!stage.copies || stage.isFixed || ring == left.end())
        return false;
      taken.push_back(*ring);
      left.erase(ring);
    }
    for (auto [stage, ring] : llvm::zip_equal(staged, taken))
      stage.ring = ring;
    return true;
  }

  /// As many tiles a ring as there is room for. Returns their number.
  int64_t makeRings(ImplicitLocOpBuilder &b, MutableArrayRef<Stage> staged, scf::ForOp loop) {
    auto kernel = loop->getParentOfType<tile::FuncOp>();
    auto bytesOf = [](const Stage &stage) {
      return stage.rows * stage.columns * LoadOp(stage.load).getType().getElementTypeBitWidth() / 8;
    };
    int64_t fixed = 0, moving = 0;
    kernel.walk([&](SharedOp other) { fixed += getSharedBytes(other.getResult().getType()); });
    for (const Stage &stage : staged)
      if (stage.copies)
        (stage.isFixed ? fixed : moving) += bytesOf(stage);
    // More workgroups are worth more than tiles that are there long before their use.
    int64_t room = bytesOfLane * static_cast<int64_t>(kernel.getWorkgroup()),
            count = isLong(loop) ? std::min<int64_t>(stages, kFewestStages + 1) : stages;
    while (count > kFewestStages && fixed + count * moving > room)
      --count;
    auto space = gpu::AddressSpaceAttr::get(&getContext(), gpu::AddressSpace::Workgroup);
    for (Stage &stage : staged) {
      if (stage.copies) {
        auto type = MemRefType::get({(stage.isFixed ? 1 : count) * stage.rows, stage.columns},
                                    LoadOp(stage.load).getType().getElementType(), AffineMap(), space);
        stage.ring = SharedOp::create(b, type);
        continue;
      }
      stage.ring = llvm::find_if(staged, [&](const Stage &other) {
                     return other.copies && readSame(other.load, stage.load) && other.rows == stage.rows &&
                            other.columns == stage.columns;
                   })->ring;
    }
    return count;
  }

  static Value constant(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }

  /// What the last loop's copies went to.
  struct {
    Block *block = nullptr;
    SmallVector<Value> rings;
    int64_t stages = 0;
  } last;

  /// Starts the copies of the tiles that the loop loads at `at` to tile `number` of their rings, if it comes to there.
  /// The group is closed in any case: waiting counts groups.
  static void copyAt(ImplicitLocOpBuilder &b, scf::ForOp loop, ArrayRef<Stage> staged, Value at, Value number) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, loop.getUpperBound());
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
  return createStageOperandsPass({profile.tensorStages, profile.sharedBytesOfLane});
}
