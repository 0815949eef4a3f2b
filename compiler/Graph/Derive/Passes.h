// The passes of phase `derive`; Passes.td says what each does. A pass whose options cannot be given as text has a
// header of its own.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Derive/Passes.h.inc"

} // namespace mlir::heddle
