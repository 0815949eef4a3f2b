// The pass of this room, which evaluates an optimizer's text; Passes.td describes it.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Model/Language/Passes.h.inc"

} // namespace mlir::heddle
