// The passes of phase `fuse` that count costs. Passes.td describes them. A pass whose options cannot be given as text
// has its own header.
#ifndef HEDDLE_COMPILER_ANALYSIS_COST_PASSES_H
#define HEDDLE_COMPILER_ANALYSIS_COST_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Analysis/Cost/Passes.h.inc"

} // namespace mlir::heddle

#endif
