// The passes that verify modules, described in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Pipeline/Passes.h.inc"

} // namespace mlir::heddle
