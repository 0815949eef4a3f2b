// The passes of phase `tile`. Passes.td describes them. A pass whose options cannot be given as text has its own
// header.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Kernel/Tiling/Passes.h.inc"

} // namespace mlir::heddle
