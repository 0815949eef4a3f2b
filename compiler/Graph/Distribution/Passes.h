// The pass of phase `prepare` that lets several ranks train together. Passes.td describes it.
#ifndef HEDDLE_COMPILER_GRAPH_DISTRIBUTION_PASSES_H
#define HEDDLE_COMPILER_GRAPH_DISTRIBUTION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Distribution/Passes.h.inc"

} // namespace mlir::heddle

#endif
