// The passes of phase `tile`. Passes.td describes them. A pass whose options cannot be given as text has its own
// header.
#ifndef HEDDLE_COMPILER_KERNEL_TILING_PASSES_H
#define HEDDLE_COMPILER_KERNEL_TILING_PASSES_H

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Kernel/Tiling/Passes.h.inc"

} // namespace mlir::heddle

#endif
