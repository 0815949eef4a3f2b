// The passes of phase `fuse` that count costs. Passes.td describes them. A pass whose options cannot be given as text
// has its own header.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Analysis/Cost/Passes.h.inc"

} // namespace mlir::heddle
