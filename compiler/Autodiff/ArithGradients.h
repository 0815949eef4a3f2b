// The gradient rules of arith and math, as external models of DifferentiableOpInterface.
#ifndef HEDDLE_COMPILER_AUTODIFF_ARITHGRADIENTS_H
#define HEDDLE_COMPILER_AUTODIFF_ARITHGRADIENTS_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// The models are attached when the dialects are loaded. `differentiate` depends on this; nothing else need call it.
void registerArithGradients(DialectRegistry &registry);

} // namespace mlir::heddle

#endif
