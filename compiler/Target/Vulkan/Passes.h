// The passes of phase `lower` for Vulkan, described in Passes.td.
#ifndef HEDDLE_COMPILER_TARGET_VULKAN_PASSES_H
#define HEDDLE_COMPILER_TARGET_VULKAN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Target/Vulkan/Passes.h.inc"

} // namespace mlir::heddle

#endif
