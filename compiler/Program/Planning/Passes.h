// The passes of phase `plan`, described in Passes.td.
#ifndef HEDDLE_COMPILER_PROGRAM_PLANNING_PASSES_H
#define HEDDLE_COMPILER_PROGRAM_PLANNING_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Program/Planning/Passes.h.inc"

} // namespace mlir::heddle

#endif
