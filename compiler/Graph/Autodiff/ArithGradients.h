// The gradient rules of arith and math, as external models of DifferentiableOpInterface.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Attaches the models when the dialects are loaded. `heddle-differentiate` calls this; nothing else needs to.
void registerArithGradients(DialectRegistry &registry);

} // namespace mlir::heddle
