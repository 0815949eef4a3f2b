// The passes of phase `derive`; Passes.td says what each does. Passes with options that are no text have a
// header of their own.
#ifndef HEDDLE_COMPILER_DERIVE_PASSES_H
#define HEDDLE_COMPILER_DERIVE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Derive/Passes.h.inc"

} // namespace mlir::heddle

#endif
