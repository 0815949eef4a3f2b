// The passes of phase `prepare` that round values to fewer bits. Passes.td describes them. A pass whose options cannot be
// given as text has its own header.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Precision/Passes.h.inc"

} // namespace mlir::heddle
