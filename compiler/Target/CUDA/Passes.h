// The passes of phase `lower` for CUDA, described in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Target/CUDA/Passes.h.inc"

} // namespace mlir::heddle
