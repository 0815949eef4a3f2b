#include "compiler/Lanes/KernelLayouts.h"
#include "compiler/Lanes/LoopPipeline.h"
#include "compiler/Lanes/Passes.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_STAGEOPERANDSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::heddle;

namespace {

class StageOperandsPass : public mlir::heddle::impl::StageOperandsPassBase<StageOperandsPass> {
public:
  using Base::Base;
  StageOperandsPass() = default;
  explicit StageOperandsPass(const TargetProfile &profile) : profile(&profile) {}

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    tile::FuncOp kernel = getOperation();
    if (kernel.getMapping() == LaneMapping::Tensor && profile->tensor.copiesAhead && profile->tensor.stages > 1)
      return stageForTensorCores(kernel);
    std::optional<KernelLayouts> layouts = KernelLayouts::of(kernel, *profile);
    if (layouts && layouts->throughMemory)
      stageThroughRegisters(kernel, layouts->hasMatrices);
  }

private:
  void stageForTensorCores(tile::FuncOp kernel) {
    stageByCopies(kernel, *profile);
    if (profile->tensor.warpgroup > 0)
      stageRounded(kernel, *profile);
  }

  const TargetProfile *profile = nullptr;
};

} // namespace

void LoopPipeline::run() {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp each) { loops.push_back(each); });
  for (scf::ForOp each : loops) {
    loop = each;
    b.setLoc(loop.getLoc());
    b.setInsertionPointToStart(&kernel.getBody().front());
    rebuild();
  }
}

void LoopPipeline::rebuild() {
  std::optional<Start> start = beginLoop();
  if (!start)
    return;
  SmallVector<Value> begin(loop.getInitArgs());
  llvm::append_range(begin, start->numbers);
  auto next = scf::ForOp::create(b, start->from, start->to, start->by, begin);
  Block *body = next.getBody();
  if (body->mightHaveTerminator())
    body->getTerminator()->erase();
  unsigned count = loop.getNumRegionIterArgs();
  b.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), beginStep(next.getInductionVar(), next.getRegionIterArgs().drop_front(count)));
  for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), next.getRegionIterArgs()))
    mapping.map(from, to);
  for (Operation &op : loop.getBody()->without_terminator())
    if (!replace(op, mapping))
      b.clone(op, mapping);
  SmallVector<Value> numbers = endStep(), yielded;
  for (Value value : loop.getYieldedValues())
    yielded.push_back(mapping.lookupOrDefault(value));
  llvm::append_range(yielded, numbers);
  scf::YieldOp::create(b, yielded);
  SmallVector<Value> results(next.getResults().take_front(count));
  b.setInsertionPointAfter(next);
  endLoop(results);
  loop.replaceAllUsesWith(results);
  loop.erase();
}

LoopPipeline::Start LoopPipeline::beginSteps(bool runsOnce) {
  Value lower = loop.getLowerBound(), step = loop.getStep();
  upper = loop.getUpperBound();
  isCounted = runsOnce;
  if (!runsOnce)
    return {lower, upper, step, {}};
  Value one = constant(b, 1);
  upper = arith::MaxSIOp::create(b, upper, arith::AddIOp::create(b, lower, one));
  Value length = arith::AddIOp::create(b, arith::SubIOp::create(b, upper, lower), arith::SubIOp::create(b, step, one));
  Value count = arith::MaxSIOp::create(b, arith::DivUIOp::create(b, length, step), one);
  return {constant(b, 0), count, one, {}};
}

Value LoopPipeline::counterOf(Value counter) {
  if (!isCounted)
    return counter;
  return arith::AddIOp::create(b, loop.getLowerBound(), arith::MulIOp::create(b, counter, loop.getStep()));
}

void LoopPipeline::choose(function_ref<bool(LoadOp)> isChosen, bool asInMemory) {
  staged.clear();
  for (auto load : loop.getBody()->getOps<LoadOp>()) {
    if (!isChosen(load))
      continue;
    SmallVector<int64_t> shape(load.getType().getShape());
    bool isTurned = asInMemory && load.getTransposed();
    if (isTurned)
      std::swap(shape[0], shape[1]);
    Stage stage{load, load.getType().clone(shape), isTurned, {}};
    for (auto [number, other] : llvm::enumerate(staged))
      if (!other.same && readSame(other.load, load) && other.tile == stage.tile &&
          (asInMemory || other.load.getTransposed() == load.getTransposed()))
        stage.same = number;
    staged.push_back(stage);
  }
}

void LoopPipeline::makeRings(function_ref<Value(const Stage &)> make) {
  for (Stage &stage : staged)
    stage.ring = stage.same ? staged[*stage.same].ring : make(stage);
}

const LoopPipeline::Stage *LoopPipeline::find(Value loaded) const {
  auto found =
      llvm::find_if(staged, [&](const Stage &stage) { return loaded && LoadOp(stage.load) == loaded.getDefiningOp(); });
  return found == staged.end() ? nullptr : &*found;
}

Value LoopPipeline::read(const Stage &stage, RankedTensorType type, Value row, int64_t column) {
  return LoadOp::create(b, type, stage.ring, row, constant(b, column), Value(), Value(), /*any_padding=*/true,
                        stage.isTurned);
}

LoopPipeline::Source LoopPipeline::sourceOf(LoadOp load, IRMapping &mapping) {
  auto at = [&](Value value) { return value ? cloneForCounter(b, loop, value, mapping) : Value(); };
  return {at(load.getRow()), at(load.getColumn()), at(load.getRowLimit()), at(load.getColumnLimit())};
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
  return std::make_unique<StageOperandsPass>(profile);
}
