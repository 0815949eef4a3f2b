// The passes of phase `tile`. Passes.td describes them. A pass whose options cannot be given as text has its own
// header.
#ifndef HEDDLE_COMPILER_TILING_PASSES_H
#define HEDDLE_COMPILER_TILING_PASSES_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Tiling/Passes.h.inc"

} // namespace mlir::heddle

#endif
