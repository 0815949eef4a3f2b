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
    .simt = {.accumulators = 48, .loadCost = 12, .shareCost = 6, .parallelGroups = 16},
    .blocks = {.lanes = 32, .rowLanes = 4, .rows = 4, .columns = 4, .depth = 8},
    .attention = {.rows = 2, .keys = 4, .work = 1024},
    .rows = {.shared = true},
    .elementwise = {.rows = 3, .runs = 2},
    .limits = {.bindings = 16, .workgroups = 65535, .loopTrips = 65535},
};

int main(int argc, char **argv) {
  registerAllTargets();
  registerTarget(kAdded);
  return runCompiler(argc, argv);
}
