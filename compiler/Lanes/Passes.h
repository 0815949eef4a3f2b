// The passes of phases `layout` and `lower`; Passes.td says what each does. A pass whose options cannot be given as
// text has a header of its own.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Lanes/Passes.h.inc"

} // namespace mlir::heddle
