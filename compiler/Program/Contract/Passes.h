// The pass that derives contracts, in phase `prepare`, described in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Program/Contract/Passes.h.inc"

} // namespace mlir::heddle
