// The passes of phases `fuse-attention` and `fuse`; Passes.td says what each does. A pass whose options cannot be given
// as text has a header of its own.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Kernel/Fusion/Passes.h.inc"

} // namespace mlir::heddle
