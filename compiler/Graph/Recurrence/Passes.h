// The passes on recurrences, in phases `derive`, `prepare` and `fuse`, described in Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Graph/Recurrence/Passes.h.inc"

} // namespace mlir::heddle
