// All that happens to a kernel between its layouts and its LLVM function.
#ifndef HEDDLE_COMPILER_TARGET_CPU_CPULOWERING_H
#define HEDDLE_COMPILER_TARGET_CPU_CPULOWERING_H

#include "mlir/Pass/PassManager.h"

namespace mlir::heddle {

/// Adds the passes that turn each tile.func of a module into an llvm.func, one kernel beside the other. In heddle-opt
/// this is `--heddle-cpu-lowering`.
void buildCpuLowering(OpPassManager &passes);
void registerCpuLowering();

} // namespace mlir::heddle

#endif
