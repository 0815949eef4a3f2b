// The passes that verify modules, described in Passes.td.
#ifndef HEDDLE_COMPILER_PIPELINE_PASSES_H
#define HEDDLE_COMPILER_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Pipeline/Passes.h.inc"

} // namespace mlir::heddle

#endif
