// The passes of phase `differentiate`; Passes.td says what each does. A pass whose options cannot be given as text has
// a header of its own.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Autodiff/Passes.h.inc"

} // namespace mlir::heddle
