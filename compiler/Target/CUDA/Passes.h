// The passes of phase `lower` for CUDA, described in Passes.td.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_PASSES_H
#define HEDDLE_COMPILER_TARGET_CUDA_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Target/CUDA/Passes.h.inc"

} // namespace mlir::heddle

#endif
