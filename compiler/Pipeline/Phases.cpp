#include "compiler/Analysis/Cost/Passes.h"
#include "compiler/Graph/Autodiff/Passes.h"
#include "compiler/Graph/Derive/Passes.h"
#include "compiler/Graph/Distribution/Passes.h"
#include "compiler/Graph/Precision/Passes.h"
#include "compiler/Graph/Precision/SetPrecision.h"
#include "compiler/Graph/Recurrence/Passes.h"
#include "compiler/Kernel/Fusion/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"
#include "compiler/Lanes/AssignLayouts.h"
#include "compiler/Lanes/Passes.h"
#include "compiler/Lanes/StageOperands.h"
#include "compiler/Model/Language/Passes.h"
#include "compiler/Pipeline/DumpPhase.h"
#include "compiler/Pipeline/Passes.h"
#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Pipeline/WatchPhase.h"
#include "compiler/Program/Contract/Passes.h"
#include "compiler/Program/Planning/Passes.h"
#include "compiler/Target/Backend.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr FusionFlag kFuseAttention{"fuse-attention", "Recognise and fuse attention (default true)"},
    kFuseProjections{"fuse-projections", "One matmul for the projections of an attention's input (default true)"},
    kFuseCrossEntropy{"fuse-cross-entropy", "Compute logits and their loss a chunk of tokens at a time (default true)"},
    kFuseUpdates{"fuse-updates", "Update all biases and gains in one kernel (default true)"},
    kFuseKernels{"fuse-kernels", "Fuse ops into the kernels before, behind and beside them (default true)"};
static constexpr FusionFlag kFusionFlags[] = {kFuseAttention, kFuseProjections, kFuseCrossEntropy, kFuseUpdates,
                                              kFuseKernels};

static void buildNothing(OpPassManager &, const PipelineOptions &) {}

static void buildDerive(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createCompleteModulePass());
  passes.addPass(createVerifyModelPass());
  if (options.adapters)
    passes.addPass(createAddAdaptersPass(*options.adapters));
  passes.addPass(createQuantizeWeightsPass(options.weights, options.purpose != Purpose::Inference));
  passes.addPass(createElaborateUpdatesPass({.steps = options.purpose != Purpose::Inference})); // of trained weights
  passes.addNestedPass<func::FuncOp>(
      createHoistScansPass()); // before the entries, so that all of them get the hoisted scans
  passes.addPass(createDeriveTrainingPass(
      {.ranks = options.sharding.has_value(), .steps = options.purpose != Purpose::Inference}));
  passes.addPass(createDeriveEvaluationPass());
  if (options.purpose != Purpose::Training) {
    passes.addPass(createDeriveDecodingPass());
    passes.addPass(createDeriveExplanationPass());
  }
  passes.addPass(createDeriveInitPass()); // last, when all variables are declared
}

static void buildFuseAttention(OpPassManager &passes, const PipelineOptions &options) {
  if (options.fusion.has(kFuseAttention))
    passes.addPass(createFuseAttentionPass());
  if (options.fusion.has(kFuseProjections))
    passes.addPass(createFuseProjectionsPass());
}

static void buildDifferentiate(OpPassManager &passes, const PipelineOptions &) {
  passes.addPass(createDifferentiatePass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

/// `heddle-set-precision` rounds logits, too, which takes place after the head is cut into chunks.
static int64_t bytesOfLogits(Precision precision) {
  return precision == Precision::BF16 || precision == Precision::F16 ? 2 : 4;
}

static void buildPrepare(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createDeriveContractPass()); // before ops that index disappear into kernels
  passes.addPass(createLowerScansPass());
  if (options.fusion.has(kFuseCrossEntropy))
    passes.addPass(
        createFuseCrossEntropyPass({.logitBytes = bytesOfLogits(options.precision), .memory = options.memory}));
  if (options.fusion.has(kFuseUpdates))
    passes.addPass(createFuseUpdatesPass());
  passes.addPass(createDistributePass({.shards = options.sharding == Sharding::Optimizer}));
  passes.addNestedPass<func::FuncOp>(createInlineUpdatesPass());
  if (options.precision != Precision::F32) {
    passes.addNestedPass<func::FuncOp>(createSetPrecisionPass(options.precision, options.heads));
    if (options.precision != Precision::BF16X3) // whose high parts are not precise enough for other ops
      passes.addPass(createShareRoundedPass());
  }
  passes.addPass(
      createRoundVariablesPass({.caches = toString(options.caches).str(), .moments = toString(options.moments).str()}));
  passes.addNestedPass<func::FuncOp>(
      createLowerWindowsPass({.products = options.fusion.has(kFuseKernels)})); // after precisions are set
  passes.addPass(createSplitKeysPass());                                       // of caches, whose type is known now
}

static void buildFuse(OpPassManager &passes, const PipelineOptions &options) {
  if (options.recompute != Recomputation::None)
    passes.addPass(createRecomputePass({.name = toString(options.recompute).str(), .memory = options.memory}));
  passes.addNestedPass<func::FuncOp>(createFuseKernelsPass({.fuse = options.fusion.has(kFuseKernels)}));
  passes.addNestedPass<func::FuncOp>(createSeparateStatesPass());
  passes.addPass(createCountCostsPass());
}

static void buildTile(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createJoinSumsPass(*options.profile));
  passes.addPass(createJoinDeltasPass(*options.profile));
  passes.addPass(createJoinProductsPass(*options.profile));
  passes.addPass(createSplitKernelsPass(*options.profile));
  passes.addPass(createTilePass(*options.profile, options.choices));
}

static void buildLayout(OpPassManager &passes, const PipelineOptions &options) {
  if (options.profile->tensor.stages > 1 || options.profile->blocks.lanes) {
    passes.addNestedPass<tile::FuncOp>(createCSEPass()); // equal indices become one value
    if (options.profile->tensor.producers > 0)
      passes.addNestedPass<tile::FuncOp>(createSpecializeWarpsPass(*options.profile));
    passes.addNestedPass<tile::FuncOp>(createStageOperandsPass(*options.profile));
    if (options.profile->tensor.warpgroup > 0) {
      passes.addNestedPass<tile::FuncOp>(createUseWarpgroupsPass(*options.profile));
      passes.addNestedPass<tile::FuncOp>(createAlternateWarpgroupsPass({options.profile->tensor.warpgroup}));
    }
  }
  passes.addNestedPass<tile::FuncOp>(createAssignLayoutsPass(*options.profile));
}

static void buildLower(OpPassManager &passes, const PipelineOptions &options) {
  getBackend(*options.profile).buildLowering(passes, *options.profile);
}

static void buildPlan(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createPlanPass({.maxAllocation = options.profile->limits.allocation}));
}

static constexpr PhaseInfo kPhases[] = {
    {Phase::Import, "import", "the model as written, in heddle on tensors", buildNothing},
    {Phase::Derive, "derive", "the entries that train, evaluate and decode the model", buildDerive},
    {Phase::FuseAttention, "fuse-attention", "attention recognised and fused", buildFuseAttention},
    {Phase::Differentiate, "differentiate", "backward pass and optimizer as ordinary ops", buildDifferentiate},
    {Phase::Prepare, "prepare", "scans lowered, updates and losses fused, ranks and precisions set", buildPrepare},
    {Phase::Fuse, "fuse", "the graph cut into kernels", buildFuse},
    {Phase::Tile, "tile", "each kernel as one workgroup's program on tiles", buildTile},
    {Phase::Layout, "layout", "each tile's elements distributed over the target's lanes", buildLayout},
    {Phase::Lower, "lower", "kernels in the target's own instructions", buildLower},
    {Phase::Plan, "plan", "entry points as launches over a static arena", buildPlan},
    {Phase::Emit, "emit", "the artifact", buildNothing},
};

ArrayRef<FusionFlag> mlir::heddle::getFusionFlags() { return kFusionFlags; }

ArrayRef<PhaseInfo> mlir::heddle::getPhases() { return kPhases; }

const PhaseInfo &mlir::heddle::getPhase(Phase phase) { return kPhases[static_cast<size_t>(phase)]; }

std::optional<Phase> mlir::heddle::parsePhase(StringRef name) {
  for (const PhaseInfo &info : kPhases)
    if (info.name == name)
      return info.phase;
  return std::nullopt;
}

LogicalResult mlir::heddle::checkAddedPasses(const AddedPasses &added, std::string &problem) {
  llvm::raw_string_ostream stream(problem);
  if (added.phase == Phase::Emit) {
    stream << "no module is left after phase 'emit'";
    return failure();
  }
  OpPassManager passes(ModuleOp::getOperationName());
  return parsePassPipeline(added.pipeline, passes, stream);
}

void mlir::heddle::buildPhasePipeline(OpPassManager &passes, Phase first, Phase last, const PipelineOptions &options) {
  for (const PhaseInfo &info : kPhases) {
    if (info.phase < first || info.phase > last || info.phase == Phase::Emit)
      continue;
    info.build(passes, options);
    for (const AddedPasses &added : options.added)
      if (added.phase == info.phase && failed(parsePassPipeline(added.pipeline, passes)))
        llvm_unreachable("passes that were not checked");
    if (!options.dumpDirectory.empty())
      passes.addPass(createDumpPhasePass(info, options));
    if (options.watch)
      passes.addPass(createWatchPhasePass(info.phase, options.watch));
    passes.addPass(createVerifyPhasePass(info.phase));
    if (info.phase == Phase::Derive)
      passes.addPass(createVerifyEntriesPass());
  }
}
