// The passes of phase `plan`, described in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Program/Planning/Passes.h.inc"

} // namespace mlir::heddle
