// heddle-compile with a target of the tests' own, unknown to compiler/ and runtime/.
#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Target/Backend.h"
#include "tools/heddle-compile/RunCompiler.h"

using namespace mlir::heddle;

// Numbers unlike any shipped target's: narrow subgroups, small blocks, rows shared by lanes.
static constexpr Precision kPrecisions[] = {Precision::F32};
static constexpr TargetProfile kAdded = {
    .name = "vulkan:added",
    .summary = "a target of the tests: a subgroup of 4 lanes",
    .precisions = kPrecisions,
    .lanes = 4,
    .vector = 4,
    .texelLoads = false,
    .accumulators = 48,
    .loadCost = 12,
    .shareCost = 6,
    .parallelGroups = 16,
    .blockLanes = 32,
    .blockRowLanes = 4,
    .blockRows = 4,
    .blockColumns = 4,
    .blockDepth = 8,
    .attentionRows = 2,
    .attentionKeys = 4,
    .attentionWork = 1024,
    .sharesRows = true,
    .elementwiseRows = 3,
    .elementwiseRuns = 2,
    .maxBindings = 16,
    .maxWorkgroups = 65535,
    .maxLoopTrips = 65535,
};

int main(int argc, char **argv) {
  registerAllTargets();
  registerTarget(kAdded);
  return runCompiler(argc, argv);
}
