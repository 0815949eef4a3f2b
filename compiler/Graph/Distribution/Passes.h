// The pass of phase `prepare` that lets several ranks train together. Passes.td describes it.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Distribution/Passes.h.inc"

} // namespace mlir::heddle
